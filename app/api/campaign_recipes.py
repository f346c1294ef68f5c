"""Recipes with names in one campaign; the named ones of published practice are at `/v1/recipes`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import AfterValidator, BaseModel, Field, JsonValue

from app.api.models.recipe import RecipeIn
from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.domain.recipe import NAMED
from app.reports.inputs.named_recipes import NamedRecipe
from app.reports.kit.redact import hide_rater_and_task_keys
from app.services.access.tokens import Caller
from app.services.campaigns import recipes
from app.web.access import Manager, Viewer
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Cursor, Limit, Page, make_page
from app.web.request_bodies import read_json_body_as

router = APIRouter(prefix="/v1/campaigns/{campaign}/recipes", tags=["reports"])

RecipeName = Annotated[
    str,
    Path(alias="recipe", pattern=KEY_PATTERN, description="Name of the recipe.", examples=["by-segment"]),
    AfterValidator(reject_dot_segment),
]
Revision = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The latest by default.", examples=[1])]


class CampaignRecipeOut(BaseModel):
    """A recipe that a campaign named for itself."""

    name: str
    revision: int = Field(description="Number of the revision, from 1; every revision is kept.")
    recipe: dict[str, JsonValue] = Field(description="Every choice, with their hash.")
    actor: str
    at: Time


def _make_recipe_out(named: NamedRecipe, caller: Caller) -> CampaignRecipeOut:
    """Return a recipe as the caller may see it; nothing about raters unless the caller is a manager."""
    recipe = named.recipe
    plain = {"name": named.name, "revision": named.revision, "actor": named.actor, "at": named.at}
    choices = {**recipe.as_json(), "hash": recipe.hash}
    return CampaignRecipeOut.model_validate(
        {**plain, "recipe": choices if caller.has_rights_of("manager") else hide_rater_and_task_keys(choices)}
    )


GOOGLE = NAMED["google-mqm"]
EXAMPLE = CampaignRecipeOut.model_validate(
    {
        "name": "by-segment",
        "revision": 1,
        "recipe": {**GOOGLE.as_json(), "name": "by-segment", "hash": GOOGLE.hash},
        "actor": "token:0f3a9c51d27e",
        "at": "2026-11-20T12:00:00Z",
    }
)


RESERVED: dict[int | str, dict[str, Any]] = {409: {"description": "The name is built in or reserved."}}


@router.put(
    "/{recipe}",
    summary="Store a recipe by name",
    responses={**example_response(200, EXAMPLE, "The current state."), **RESERVED},
)
def put_campaign_recipe(
    caller: Manager,
    campaign: CampaignKey,
    name: RecipeName,
    body: Annotated[RecipeIn, read_json_body_as(RecipeIn, from_a_named_one={"name": "google-mqm", "alpha": 0.01})],
    session: SessionDep,
) -> CampaignRecipeOut:
    """Take choices that are left out from the recipe that `name` names, or else from `recommended`.

    Different choices become a new revision; the same choices again change nothing.
    """
    return _make_recipe_out(
        recipes.put_named_recipe(session, campaign, name, body.get_given_choices(), actor=caller.actor), caller
    )


@router.get(
    "/{recipe}",
    summary="Get a recipe of the campaign",
    responses=example_response(200, EXAMPLE, "The current state."),
)
def get_campaign_recipe(
    caller: Viewer,
    campaign: CampaignKey,
    name: RecipeName,
    session: SessionDep,
    revision: Revision = None,
) -> CampaignRecipeOut:
    """Return the latest revision, or an earlier one."""
    return _make_recipe_out(recipes.get_named_recipe(session, campaign, name, revision=revision), caller)


@router.get(
    "",
    summary="List the campaign's recipes",
    responses=example_response(200, Page[CampaignRecipeOut](items=[EXAMPLE], next=None)),
)
def list_campaign_recipes(
    caller: Viewer,
    campaign: CampaignKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[CampaignRecipeOut]:
    """List the recipes that the campaign named, by name, each in its latest revision."""
    named = recipes.list_named_recipes(session, campaign, after=cursor, limit=limit + 1)
    return make_page([_make_recipe_out(one, caller) for one in named], limit, lambda recipe: recipe.name)
