"""The fields of a design and of the report on its plan, for authors of clients; `app.design` reads and checks them.

Values that are the same in the interface as in the program are described by `app.design` itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from app.design.design_choices import (
    Arm,
    CalibrationRules,
    Degradation,
    ExplicitBucket,
    Grouping,
    OverlapRules,
    Structure,
    TaskRules,
)
from app.design.design_inputs import Unit
from app.design.load_rebalancing import LoadRebalancingResult
from app.design.plan import Bucket, UnmetRequest
from app.design.plan_properties import LoadSpread, UnmetRecommendation


@dataclass(frozen=True, slots=True)
class JsonSchemaAnnotation:
    """Annotates JSON whose fields a model describes, and which something else reads and checks."""

    model: type[BaseModel]

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema of the model."""
        return handler(self.model.__pydantic_core_schema__)


def _without_nulls(schema: dict[str, Any]) -> None:
    """Remove defaults of null, because a missing field differs from a null, which asks, for example, for no overlap."""
    for field in schema.get("properties", {}).values():
        if field.get("default", 0) is None:
            del field["default"]


class _OpenModel(BaseModel):
    model_config = ConfigDict(extra="allow", json_schema_extra=_without_nulls)


class BalanceByEntropy(_OpenModel):
    """Work spread unevenly over the raters."""

    entropy: float = Field(ge=0, le=1, description="Normalized entropy of the work over the raters.")


class BalanceByCapacity(_OpenModel):
    """Work in proportion to what each rater will do."""

    capacity: Literal[True]


class DesignBuckets(_OpenModel):
    """Which raters share documents: one of `auto`, `raters_per_bucket` and `explicit`."""

    auto: bool = True
    raters_per_bucket: int | None = Field(None, ge=1)
    count: int | None = Field(None, ge=1, description="Number of buckets, with `raters_per_bucket` raters each.")
    explicit: list[ExplicitBucket] | None = None


class DocumentSample(_OpenModel):
    """Documents drawn at random."""

    sample: int = Field(ge=1)
    by: Literal["domain"] | None = Field(None, description="In proportion to the documents of each domain.")


class ControlItemShare(_OpenModel):
    """A share of the items of every task."""

    rate: float = Field(0.1, ge=0, le=0.5)


class DegradedControlShare(ControlItemShare):
    """Outputs that are degraded."""

    method: Degradation = "span_replacement"


class RepeatedItemShare(ControlItemShare):
    """Outputs that come a second time."""

    min_distance: int = Field(
        20, ge=0, description="Least number of segments judged between an original and its repeat."
    )


class DesignControlItems(_OpenModel):
    """Items with a known answer: rates, or one of the mixes of WMT."""

    mix: Literal["70:10:10:10", "80:5:5:10"] | None = Field(
        None, description="Translations : repeats : references : degraded."
    )
    bad_reference: DegradedControlShare | None = None
    repeat: RepeatedItemShare | None = None
    reference: ControlItemShare | None = None


class DesignSchema(_OpenModel):
    """A design: who judges what. Every field may be left out; a structure fixes some of them."""

    structure: Structure = "free"
    grouping: Grouping | None = None
    balance: Literal["full"] | BalanceByEntropy | BalanceByCapacity = "full"
    unit: Unit = "items"
    even_out: bool = False
    ratings_per_item: int = Field(1, ge=1, le=1000)
    overlap: OverlapRules | None = Field(None, description="Documents that several people judge; null for none.")
    buckets: DesignBuckets | None = None
    systems: list[str] | None = Field(None, description="Keys of systems; null for all.")
    documents: int | list[str] | DocumentSample | None = Field(
        None, description="Number, keys or sample; null for all."
    )
    task: TaskRules | None = None
    arms: list[Arm] = Field([], description="Conditions to compare: at least two, or none.")
    cross: Literal["groups", "raters"] = "groups"
    controls: DesignControlItems | None = None
    calibration: CalibrationRules | None = None
    share_duplicates: bool | None = None
    seed: int | None = Field(None, ge=0)


class PlannedWork(_OpenModel):
    """What is to be judged."""

    items: int | None = None
    segments: int | None = None
    words: int | None = None
    tasks: int | None = None
    hours: float | None = Field(None, description="Hours of reading and judging.")


class RaterWork(PlannedWork):
    """What one rater, or one seat, is to judge."""

    rater: str | None = None
    seat: bool | None = Field(None, description="Whether the rater will come by an invitation.")
    groups: int | None = None


class WorkEvenness(_OpenModel):
    """How even the work of the raters is."""

    normalized_entropy: float | None = None
    spread: list[LoadSpread] | None = None
    evened: LoadRebalancingResult | None = None


class TaskControlShares(_OpenModel):
    """Shares of control items in the tasks, those of a chain taken as one, and where in their tasks they stand."""

    least_share: float | None = None
    mean_share: float | None = None
    overall_share: float | None = Field(None, description="Share of all items except calibration items.")
    asked_share: float | None = Field(None, description="Share that the rates of the design request together.")
    places: dict[str, list[int]] | None = Field(
        None, description="By kind: number in each tenth of the tasks, from the first on."
    )
    places_by_chance: dict[str, list[float]] | None = Field(
        None, description="By kind: expected number if every place in a task were equally likely."
    )


class WithinRaterComparisons(_OpenModel):
    """What can be compared within one rater's work."""

    system_pairs: int | None = None
    judgments_of_the_least_compared: int | None = None
    stretches_rated_by_several: int | None = None
    rater_pairs_with_common_items: int | None = None
    rater_pairs: int | None = None


class MostCommonSystemSuccession(_OpenModel):
    """The system that most often directly follows another."""

    most_common: str | None = None
    times: int | None = None
    pairs: int | None = None


class PlanPowerForecast(_OpenModel):
    """What the campaign can show, given the known components; all null, with a reason, if there are none."""

    detectable: float | None = Field(None, description="Smallest difference that is found with power .8.")
    reason: str | None = None
    standard_error: float | None = Field(None, description="Standard error of the difference of two systems.")
    power: float | None = None
    floor: float | None = Field(None, description="Standard error that remains however many documents are judged.")
    pairs: int | None = None
    alpha_each: float | None = None
    source: str | None = None
    smallest_p_adjusted: float | None = None
    documents_for_a_claim: int | None = None
    layout: dict[str, JsonValue] | None = None
    components: dict[str, JsonValue] | None = None


class SrpForecast(_OpenModel):
    """Whether the ranking would be found again; null, with a reason, if that is unknown."""

    value: float | None = None
    reason: str | None = None
    mc_error: float | None = None
    mean_significant_pairs: float | None = Field(None, description="Mean number of significant pairs in a study.")
    share_without_significance: float | None = None
    kendall_tau: float | None = None
    retained_claims: float | None = None
    sign_error_rate: float | None = None
    pool: dict[str, JsonValue] | None = None
    worlds: int | None = None
    studies: int | None = None
    pairs: int | None = None
    method: str | None = None
    source: str | None = None
    between_systems: float | None = None
    notes: list[str] | None = None


class PlanReport(_OpenModel):
    """What a plan asks of each rater, how balanced it is, and what it can show."""

    raters: list[RaterWork] | None = None
    total: PlannedWork | None = None
    balance: WorkEvenness | None = None
    rater_system: dict[str, dict[str, int]] | None = Field(
        None, description="Number of regular items of each system, by rater."
    )
    system_system: dict[str, dict[str, int]] | None = Field(
        None, description="Number of tasks with regular items of both systems."
    )
    least_together: float | None = None
    position_spread: int | None = None
    buckets: list[Bucket] | None = None
    connected: list[list[str]] | None = Field(None, description="Groups of raters who share systems or documents.")
    controls: TaskControlShares | None = None
    pairs: WithinRaterComparisons | None = None
    forecast: PlanPowerForecast | None = None
    srp: SrpForecast | None = None
    pilot: dict[str, JsonValue] | None = None
    sequence: MostCommonSystemSuccession | None = None
    recommendations: list[UnmetRecommendation] | None = None
    estimable: list[str] | None = None
    unmet: list[UnmetRequest] | None = Field(None, description="Requests of the design that could not be met, and why.")
    notes: list[str] | None = None


DesignJson = Annotated[dict[str, JsonValue], JsonSchemaAnnotation(DesignSchema)]
ReportJson = Annotated[dict[str, JsonValue], JsonSchemaAnnotation(PlanReport)]
