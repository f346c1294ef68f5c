"""The options of a ranking in the query: each replaces one choice of the recipe."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from app.api.models.recipe import Excluded, Role
from app.api.models.times import TimeIn
from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.domain.recipe import (
    Adjust,
    Aggregate,
    Alternative,
    ClusterRule,
    ConstantRaters,
    Moments,
    Normalize,
    Recipe,
    Repeats,
    Test,
    Unit,
    from_options,
)
from app.domain.recipe_choices import LARGEST_SEED, MOST_PERMUTATIONS, Calibration, IntervalKind, Method, ZeroMethod
from app.services.access.tokens import Caller
from app.web.access import RoleLacksIt

SCORING = (
    r"^(score|spans(:([A-Za-z0-9._~@+\-]{1,128})?(:[0-9]{1,6}(\.[0-9]{1,6})?)?)?|criterion:[A-Za-z0-9._~:@+\-]{1,128})$"
)
AS_OF = Field(None, max_length=40, description="A data version, or a time (its last version).", examples=["7"])
_TIME: TypeAdapter[datetime] = TypeAdapter(TimeIn)


class AsOf(BaseModel):
    """Which data are spoken about."""

    model_config = ConfigDict(extra="forbid")

    as_of: str | None = AS_OF


class RecipeQuery(AsOf):
    """A named recipe, and choices that replace its own."""

    recipe: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] = Field(
        "recommended",
        description="One of `GET /v1/recipes`, or of the campaign's own.",
        examples=["google-mqm"],
    )
    scoring: Annotated[str, StringConstraints(pattern=SCORING)] | None = Field(
        None, description="`score`, `spans`, `spans:PROFILE`, `spans:PROFILE:CAP` or `criterion:NAME`."
    )
    roles: list[Role] | None = Field(None, description="Which ratings are ranked.", examples=[["rating", "repeat"]])
    accepted_only: bool | None = Field(None, description="Leave out what quality control rejected.")
    exclude: list[Excluded] | None = Field(None, description="`system:KEY`, `rater:KEY` …", examples=[["system:ref"]])
    normalize: Normalize | None = None
    moments: Moments | None = None
    sd0: ConstantRaters | None = None
    repeats: Repeats | None = None
    unit: Unit | None = None
    aggregate: Aggregate | None = None
    test: Test | None = None
    alternative: Alternative | None = None
    zero_method: ZeroMethod | None = Field(None, description="Zero differences in the signed-rank test.")
    method: Method | None = Field(None, description="Distribution of the signed-rank test.")
    permutations: Annotated[str, StringConstraints(pattern=r"^([1-9][0-9]{2,5}|1000000|auto)$")] | None = Field(
        None, description=f"100 to {MOST_PERMUTATIONS}, or auto.", examples=["10000"]
    )
    plus_one: bool | None = Field(None, description="Count the observed arrangement among the draws.")
    correction: bool | None = Field(None, description="Continuity correction of the rank-sum test.")
    matched_only: bool | None = None
    require_mean: bool | None = None
    adjust: Adjust | None = None
    alpha: Annotated[float, Field(ge=1e-6, le=0.5)] | None = None
    inclusive: bool | None = Field(None, description="Significant at p ≤ alpha, else at p < alpha.")
    clusters: ClusterRule | None = None
    interval: IntervalKind | None = Field(None, description="How intervals are made; bca needs 20 documents.")
    calibration: Calibration | None = Field(None, description="Shift between language pairs.")
    rank_sets: bool | None = Field(None, description="Simultaneous rank sets of all systems.")
    influence: bool | None = Field(None, description="What pairs would be without one rater, document or domain.")
    standing: bool | None = Field(None, description="Apply the exclusions that stand in the campaign.")
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] | None = None
    fallback: bool | None = Field(None, description="Use the test that the data support instead of refusing.")


def recipe_of(request: Request, base: Recipe) -> Recipe:
    """A recipe with the choices that a query puts in the place of its own. Raises Invalid, naming the option."""
    query = request.query_params
    ours = {"recipe", "as_of", "table", "picture"}
    return from_options(base, {name: query.getlist(name) for name in query if name not in ours})


def check_exclusions(caller: Caller, exclude: list[str] | None) -> None:
    """Who only views may not name raters or tasks: the answer would tell which there are. Raises RoleLacksIt."""
    if not caller.may("manager") and any(text.startswith(("rater:", "task:")) for text in exclude or ()):
        raise RoleLacksIt(f"to leave out raters or tasks needs the rights of a manager; yours is {caller.role}")


def moment(as_of: str | None) -> int | datetime | None:
    """A data version or a time. Raises Invalid."""
    if as_of is None:
        return None
    if as_of.isascii() and as_of.isdigit() and len(as_of) <= 18:
        return int(as_of)
    try:
        return _TIME.validate_python(as_of).astimezone(UTC)
    except ValidationError:
        message = "must be a data version, or a time such as 2026-11-20T12:00:00Z"
        raise Invalid("the query is not valid", places=(Place(("query", "as_of"), message),)) from None
