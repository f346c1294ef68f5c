"""Recipes by name: those of published practice, and a campaign's own, of which every revision is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.domain.errors import Conflict, Invalid, NotFound, Place
from app.domain.recipe import NAMED, Recipe, parse_recipe_json
from app.reports.inputs.named_recipes import LOCKED, NamedRecipe, parse_recipe_record
from app.services.campaigns import audit
from app.storage import campaigns, recipes
from app.storage.db import Session

RESERVED = frozenset({*NAMED, LOCKED, "custom"})


class RecipeNotFound(NotFound):
    """There is no such recipe in this campaign."""


class RecipeNameReserved(Conflict):
    """This name is taken by a recipe that every campaign has."""

    published = "NameReserved"


def put_named_recipe(
    session: Session, campaign: str, name: str, given: Mapping[str, object], *, actor: str
) -> NamedRecipe:
    """Store a recipe under a name. Choices that differ from the latest revision become a new revision.

    given: plain JSON values; missing ones are taken from the recipe that its `name` names, or else from `recommended`.
    Raises RecipeNameReserved, NotFound for an unknown campaign, Invalid with places in the body.
    """
    if name in RESERVED or name.partition("+")[0] in NAMED:
        raise RecipeNameReserved(name)
    row = campaigns.load_campaign(session, campaign, lock=True)
    base = given.get("name", name)
    if base not in {name, *NAMED}:
        message = f"must be {name}, or the recipe to start from: {', '.join(NAMED)}"
        raise Invalid("the recipe is not valid", places=(Place(("body", "name"), message),))
    recipe = replace(parse_recipe_json({"name": name, **given}), name=name)
    latest = recipes.find_recipe(session, row.id, name)
    if latest is None or parse_recipe_record(latest).recipe != recipe:
        revision = 1 if latest is None else latest.revision + 1
        recipes.insert_recipe_revision(
            session, row.id, name=name, revision=revision, choices=recipe.as_json(), actor=actor
        )
        done = {"recipe": name, "revision": revision, "hash": recipe.hash}
        audit.record_action(session, row.id, actor=actor, action="recipe stored", what=done)
    return get_named_recipe(session, campaign, name)


def get_named_recipe(session: Session, campaign: str, name: str, *, revision: int | None = None) -> NamedRecipe:
    """Return a campaign's own recipe, in the latest or a given revision. Raises NotFound."""
    row = recipes.find_recipe(session, campaigns.load_campaign(session, campaign).id, name, revision=revision)
    if row is None:
        raise RecipeNotFound
    return parse_recipe_record(row)


def list_named_recipes(session: Session, campaign: str, *, after: str | None, limit: int) -> list[NamedRecipe]:
    """List the latest revisions of a campaign's own recipes by name, starting after `after`."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    return [
        parse_recipe_record(row) for row in recipes.load_recipes_page(session, campaign_id, after=after, limit=limit)
    ]


def parse_recipe_from_request(session: Session, campaign: str, given: Mapping[str, object]) -> Recipe:
    """Parse a recipe sent as plain JSON values; it may start from one of the campaign's own recipes.

    Raises NotFound for an unknown campaign, Invalid with places in the body.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    name = given.get("name")
    row = recipes.find_recipe(session, campaign_id, name) if isinstance(name, str) else None
    own = {} if row is None else {row.name: parse_recipe_record(row).recipe}
    return parse_recipe_json(given, {**NAMED, **own})
