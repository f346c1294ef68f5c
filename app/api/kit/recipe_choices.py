"""The options of a ranking as query parameters, each of which replaces one choice of the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.api.models.recipe import Excluded, add_recipe_choice_fields, make_recipe_choice_type
from app.domain.keys import KEY_PATTERN
from app.domain.recipe import Recipe, apply_query_options_to_recipe
from app.domain.recipe_choices import Role
from app.domain.recipe_definition import RecipeChoice
from app.services.access.tokens import Caller
from app.web.access import RoleLacksRights

SCORING = (
    r"^(score|spans(:([A-Za-z0-9._~@+\-]{1,128})?(:[0-9]{1,6}(\.[0-9]{1,6})?)?)?|criterion:[A-Za-z0-9._~:@+\-]{1,128})$"
)
AS_OF = Field(
    None, max_length=40, description="A data version, or a time (the last version at that time).", examples=["7"]
)


class AsOfQuery(BaseModel):
    """Which data are spoken about."""

    model_config = ConfigDict(extra="forbid")

    as_of: str | None = AS_OF


# Choices whose form in a query differs from their type.
QUERY_TYPES: Mapping[str, Any] = {
    "scoring": Annotated[str, StringConstraints(pattern=SCORING)],
    "roles": list[Role],
    "exclude": list[Excluded],
    "permutations": Annotated[str, StringConstraints(pattern=r"^([1-9][0-9]{2,5}|1000000|auto)$")],
}
EXAMPLES: Mapping[str, list[Any]] = {
    "roles": [["rating", "repeat"]],
    "exclude": [["system:ref"]],
    "permutations": ["10000"],
}


def _in_query(choice: RecipeChoice) -> tuple[Any, Any]:
    value = QUERY_TYPES.get(choice.name, make_recipe_choice_type(choice))
    return value | None, Field(None, description=choice.description, examples=EXAMPLES.get(choice.name))


@add_recipe_choice_fields(_in_query)
class RecipeAndChoicesQuery(AsOfQuery):
    """A named recipe, and choices that replace its own."""

    if TYPE_CHECKING:
        exclude: list[str] | None = None

    recipe: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] = Field(
        "recommended",
        description="A recipe from `GET /v1/recipes`, or one of the campaign's own.",
        examples=["google-mqm"],
    )


def override_recipe_choices(request: Request, base: Recipe) -> Recipe:
    """Return a recipe with the choices that a query replaces. Raises Invalid, naming the option."""
    query = request.query_params
    ours = {"recipe", "as_of", "table", "picture"}
    return apply_query_options_to_recipe(base, {name: query.getlist(name) for name in query if name not in ours})


def check_may_exclude(caller: Caller, exclude: list[str] | None) -> None:
    """Forbid viewers to exclude raters or tasks: the answer would reveal which exist. Raises RoleLacksRights."""
    if not caller.has_rights_of("manager") and any(text.startswith(("rater:", "task:")) for text in exclude or ()):
        raise RoleLacksRights(f"to leave out raters or tasks needs the rights of a manager; yours is {caller.role}")
