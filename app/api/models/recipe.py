"""A recipe as it is sent: what is left out is as in the recipe of its name, or in `recommended`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from app.domain.keys import KEY_PATTERN
from app.domain.recipe import (
    Adjust,
    Aggregate,
    Alternative,
    ClusterRule,
    ConstantRaters,
    Moments,
    Normalize,
    Repeats,
    Source,
    Test,
    Unit,
)
from app.domain.recipe_choices import (
    FILTERS,
    LARGEST_SEED,
    MOST_EXCLUSIONS,
    MOST_PERMUTATIONS,
    Calibration,
    IntervalKind,
    Method,
    ZeroMethod,
)
from app.web.bodies import BodyModel

Role = Literal["rating", "repeat", "reference", "degraded", "calibration"]
Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
Excluded = Annotated[str, StringConstraints(pattern=r"^(system|rater|document|task):[A-Za-z0-9._~:@+\-]{1,128}$")]


def _left_out(description: str | None = None) -> Any:
    """A field that may be missing but not null."""
    return Field(default=None, description=description, json_schema_extra=lambda schema: schema.pop("default", None))


class ScoringIn(BodyModel):
    """Which number of a judgment is analysed."""

    source: Source = Field(
        alias="from", description="The score as given, what the marked errors come to, or one criterion."
    )
    profile: Key | None = Field(None, description="Weights; null for the campaign's own.")
    cap: Annotated[float, Field(gt=0, le=1e6)] | None = Field(None, description="Largest penalty of a segment.")
    criterion: Key | None = Field(None, description="Which of the criteria of a campaign, with `from` criterion.")


class RecipeIn(BodyModel):
    """A recipe: every choice of an analysis."""

    @model_validator(mode="before")
    @classmethod
    def _no_filters(cls, sent: Any) -> Any:
        if isinstance(sent, dict) and "filters" in sent:
            raise PydanticCustomError("no_filters", "`filters`: {why}", {"why": FILTERS})
        return sent

    name: Key = _left_out("A named recipe to start from, or a name of your own.")
    hash: str = _left_out("Where given, it must be the hash of these choices.")
    scoring: ScoringIn = _left_out()
    roles: Annotated[list[Role], Field(fail_fast=True)] = _left_out("Which ratings are ranked.")
    accepted_only: bool = _left_out("Leave out what quality control rejected.")
    exclude: Annotated[list[Excluded], Field(max_length=MOST_EXCLUSIONS)] = _left_out("What to leave out altogether.")
    normalize: Normalize = _left_out()
    moments: Moments = _left_out("Which rows are behind a rater's mean and deviation.")
    sd0: ConstantRaters = _left_out("What becomes of raters who gave one score throughout.")
    repeats: Repeats = _left_out()
    unit: Unit = _left_out("What the test resamples or ranks.")
    aggregate: Aggregate = _left_out()
    test: Test = _left_out()
    alternative: Alternative = _left_out()
    zero_method: ZeroMethod = _left_out("Zero differences in the signed-rank test.")
    method: Method = _left_out("Distribution of the signed-rank test.")
    permutations: Annotated[int, Field(ge=100, le=MOST_PERMUTATIONS)] | None = _left_out("Null chooses by the data.")
    plus_one: bool = _left_out("Count the observed arrangement among the draws.")
    correction: bool = _left_out("Continuity correction of the rank-sum test.")
    matched_only: bool = _left_out("Test only segments that both systems have.")
    require_mean: bool = _left_out("A win also needs the better mean.")
    adjust: Adjust = _left_out()
    alpha: Annotated[float, Field(ge=1e-6, le=0.5)] = _left_out()
    inclusive: bool = _left_out("Significant at p ≤ alpha, else at p < alpha.")
    clusters: ClusterRule = _left_out()
    interval: IntervalKind = _left_out("How intervals are made; bca needs 20 documents.")
    calibration: Calibration = _left_out("Shift between language pairs.")
    rank_sets: bool = _left_out("Simultaneous rank sets of all systems.")
    influence: bool = _left_out("What pairs would be without one rater, document or domain.")
    standing: bool = _left_out("Apply the exclusions that stand in the campaign.")
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = _left_out()
    fallback: bool = _left_out("Use the test that the data support instead of refusing.")

    def given(self) -> dict[str, object]:
        """What was sent, as plain JSON values."""
        return self.model_dump(exclude_unset=True, by_alias=True)
