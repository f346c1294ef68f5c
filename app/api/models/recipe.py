"""A recipe in a request: missing choices come from the recipe of its name, or from `recommended`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, Field, StringConstraints, create_model, model_validator
from pydantic_core import PydanticCustomError

from app.domain.keys import KEY_PATTERN
from app.domain.recipe import CHOICES, Source
from app.domain.recipe_choices import MOST_EXCLUSIONS, Role
from app.domain.recipe_definition import RecipeChoice
from app.domain.recipe_field_parsing import FILTERS
from app.web.request_bodies import BodyModel

M = TypeVar("M", bound=BaseModel)
Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
Excluded = Annotated[str, StringConstraints(pattern=r"^(system|rater|document|task):[A-Za-z0-9._~:@+\-]{1,128}$")]


def _left_out(description: str | None = None) -> Any:
    """Return a field that may be missing, but not null."""
    return Field(default=None, description=description, json_schema_extra=lambda schema: schema.pop("default", None))


class ScoringIn(BodyModel):
    """Which number of a judgment is analyzed."""

    source: Source = Field(
        alias="from", description="The score as given, the score from marked errors, or one criterion."
    )
    profile: Key | None = Field(None, description="Weight profile; null for the campaign's own.")
    cap: Annotated[float, Field(gt=0, le=1e6)] | None = Field(None, description="Largest penalty of a segment.")
    criterion: Key | None = Field(None, description="Criterion of the campaign, if `from` is criterion.")


# Choices whose form in a body differs from their type.
BODY_TYPES: Mapping[str, Any] = {
    "scoring": ScoringIn,
    "roles": Annotated[list[Role], Field(fail_fast=True)],
    "exclude": Annotated[list[Excluded], Field(max_length=MOST_EXCLUSIONS)],
}


def make_recipe_choice_type(choice: RecipeChoice) -> Any:
    """Return the type of a choice, with its limits if it is a number."""
    limits = choice.limits
    return choice.type if limits is None else Annotated[choice.type, Field(ge=limits.least, le=limits.most)]


def add_recipe_choice_fields(make_field: Callable[[RecipeChoice], tuple[Any, Any]]) -> Callable[[type[M]], type[M]]:
    """Give a model a field for every choice of a recipe, after its own. make_field: returns its type and field."""

    def extend(model: type[M]) -> type[M]:
        choices: dict[str, Any] = {choice.name: make_field(choice) for choice in CHOICES.values()}
        name, module, text = model.__name__, model.__module__, model.__doc__
        return create_model(name, __base__=model, __module__=module, __doc__=text, **choices)

    return extend


def _in_body(choice: RecipeChoice) -> tuple[Any, Any]:
    value = BODY_TYPES.get(choice.name, make_recipe_choice_type(choice))
    return value | None if choice.nullable else value, _left_out(choice.wording.sentence)


@add_recipe_choice_fields(_in_body)
class RecipeIn(BodyModel):
    """A recipe: every choice of an analysis."""

    @model_validator(mode="before")
    @classmethod
    def _no_filters(cls, sent: Any) -> Any:
        if isinstance(sent, dict) and "filters" in sent:
            raise PydanticCustomError("no_filters", "`filters`: {why}", {"why": FILTERS})
        return sent

    if TYPE_CHECKING:
        exclude: list[str] | None = None

    name: Key = _left_out("A named recipe to start from, or a name of your own.")
    hash: str = _left_out("If given, it must be the hash of these choices.")

    def get_given_choices(self) -> dict[str, object]:
        """Return the choices in the body, as plain JSON values."""
        return self.model_dump(exclude_unset=True, by_alias=True)
