"""The options of the planner."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.domain.recipe import ClusterRule
from app.reports.inputs.recipe_input import RecipeAndSeedOptions
from app.reports.inputs.variance_model_input import MOST_DRAWS
from app.stats.components.generalizability import make_planning_components
from app.stats.components.terms import RESIDUAL, TERMS
from app.stats.planning.power_and_cost import GROUPINGS, Grouping, VarianceComponents
from app.stats.planning.score_sampling import Scores

MOST_DOCUMENTS, MOST_COUNTS = 5_000, 20
_PLANNED = tuple(term for term in (*TERMS, RESIDUAL) if term not in {"doc", "segment"})
Numbers = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,5}(,[0-9]{1,5}){0,19}$")]
Groupings = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,20}(,[a-z_]{1,20}){0,2}$")]
Values = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,20}=[0-9.]{1,20}(,[a-z_]{1,20}=[0-9.]{1,20}){0,9}$")]
Adjusted = Literal["holm", "none"]


class PowerOptions(RecipeAndSeedOptions):
    """A difference, the designs to compare, and the cost of an hour. Missing options are taken from the campaign."""

    difference: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        None, description="Difference to detect, in the unit of the scores; default: what a study of this size detects."
    )
    power: Annotated[float, Field(gt=0.05, le=0.9999)] = 0.8
    alpha: Annotated[float, Field(ge=1e-6, lt=0.5)] = 0.05
    adjust: Adjusted = Field("holm", description="holm: alpha split over all pairs, a safe bound for Holm.")
    systems: Annotated[int, Field(ge=2, le=200)] | None = None
    groupings: Groupings = Field("psxs,system_balanced,none", description="Separated by commas.")
    ratings: Numbers = Field("1,2", description="Ratings per item, separated by commas.")
    raters: Annotated[int, Field(ge=1, le=2000)] | None = None
    documents: Numbers | None = Field(None, description="Numbers of documents, separated by commas; at most 20.")
    segments: Annotated[float, Field(gt=0, le=1000)] | None = Field(None, description="Segments per document.")
    fixed_panel: bool = Field(default=False, description="Claims are about these raters only.")
    components: Values | None = Field(
        None, description="Your own variance components as name=value, separated by commas.", examples=["residual=8"]
    )
    pilot: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(
        None,
        description="Key of a campaign whose judgments serve as the pilot; you need access to both.",
        examples=["pilot"],
    )
    words: Annotated[float, Field(gt=0, le=10_000)] | None = Field(
        None, description="Words per segment, source and output together."
    )
    seconds_per_word: Annotated[float, Field(gt=0, le=60)] = 0.8
    overhead: Annotated[float, Field(ge=0, le=5)] = Field(0.1, description="Share added for controls and repeats.")
    onboarding_hours: Annotated[float, Field(ge=0, le=1000)] = Field(1.0, description="Onboarding hours per rater.")
    hourly: Annotated[float, Field(ge=0, le=1e6)] | None = Field(None, description="Pay per hour.")
    scores: Scores = Field(
        "normal",
        description="The scale of simulated studies; all except the first are fitted to the single ratings of the "
        "campaign or its pilot.",
    )
    clusters: ClusterRule = Field("none", description="Cluster rule for the simulated expected number of clusters.")
    studies: Annotated[int, Field(ge=20, le=2000)] = Field(
        200, description="Number of studies simulated for each point."
    )
    draws: Annotated[int, Field(ge=0, le=MOST_DRAWS)] | None = Field(
        None, description="Bootstrap draws of the components, for intervals; 0 for none."
    )

    def list_designs(self) -> tuple[tuple[Grouping, int], ...]:
        """Return grouping and ratings per item of every design. Raises Invalid for an unknown grouping."""
        groupings = self.groupings.split(",")
        if set(groupings) - set(GROUPINGS):
            raise _invalid_option("groupings", f"there are: {', '.join(GROUPINGS)}")
        each = _numbers(self.ratings, "ratings", 20)
        return tuple((grouping, k) for grouping in GROUPINGS if grouping in groupings for k in each)

    def list_document_counts(self, campaign_documents: int) -> tuple[int, ...]:
        """Return numbers of documents, by default from a quarter to four times the campaign's own. Raises Invalid."""
        if self.documents is not None:
            return _numbers(self.documents, "documents", MOST_DOCUMENTS)
        base = campaign_documents if campaign_documents >= 4 else 20
        sizes = {max(2, round(base * part)) for part in (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4)}
        return tuple(sorted({min(size, MOST_DOCUMENTS) for size in sizes}))

    def parse_given_components(self) -> VarianceComponents | None:
        """Parse the given components. Raises Invalid for an unknown name, or a value that is not a number."""
        if self.components is None:
            return None
        if self.pilot is not None:
            raise _invalid_option("components", "are a pilot's, or given: not both")
        components: dict[str, float] = {}
        for pair in self.components.split(","):
            name, _, value = pair.partition("=")
            if name not in _PLANNED or value.count(".") > 1 or value == ".":
                raise _invalid_option("components", f"must be name=value; names are {', '.join(_PLANNED)}")
            components[name] = float(value)
        if not any(components.values()):
            raise _invalid_option("components", "at least one must be above 0")
        return make_planning_components(components, source="given")

    def list_pilot_campaigns(self) -> tuple[str, ...]:
        """Return the pilot, if one is named."""
        return () if self.pilot is None else (self.pilot,)


def _numbers(text: str, name: str, most: int) -> tuple[int, ...]:
    numbers = tuple(sorted({int(number) for number in text.split(",")}))
    if numbers[0] < 1 or numbers[-1] > most:
        raise _invalid_option(name, f"must be from 1 to {most:,}")
    return numbers


def _invalid_option(name: str, why: str) -> Invalid:
    return Invalid("the query is not valid", places=(Place(("query", name), why),))
