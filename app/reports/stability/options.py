"""The options of a stability report: the body of its route, and the file of its command."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.domain.keys import KEY_PATTERN
from app.reports.inputs.raw_ratings import Seed
from app.stats.stability import request as limits
from app.stats.stability.request import RaterAssignmentScheme, StabilityRequest, StudyDesign, make_riley_2024_designs

Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class _StrictModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class WorkEntropyIn(_StrictModel):
    """Uneven work: normalized entropy over all raters of the data, met within .03."""

    entropy: Annotated[float, Field(ge=0, le=1)]


class StudyDesignIn(_StrictModel):
    """A way to run a study."""

    grouping: Literal["psxs", "system_balanced", "none"] = "psxs"
    balance: Literal["full"] | WorkEntropyIn = "full"
    ratings_per_item: Annotated[int, Field(ge=1, le=20)] = 1
    normalize: Literal["none", "mean", "center", "error", "error_rate", "z"] = "none"

    def to_design(self) -> StudyDesign:
        """Convert to the design of the statistics."""
        entropy = self.balance.entropy if isinstance(self.balance, WorkEntropyIn) else None
        return StudyDesign(RaterAssignmentScheme(self.grouping, entropy, self.ratings_per_item), self.normalize)


class StabilityIn(_StrictModel):
    """Curves of Stable Ranking Probability by number of documents; the defaults are those of Riley et al. 2024."""

    designs: Annotated[list[StudyDesignIn], Field(min_length=1, max_length=limits.MOST_DESIGNS)] | Literal["paper"] = (
        Field(
            default=[StudyDesignIn(grouping=grouping) for grouping in limits.GROUPINGS],
            description="One curve each; `paper` for all of Figures 3–8, leaving out those that do not fit, with "
            "a reason.",
        )
    )
    recipe: Key = Field(
        "srp-paper", description="Determines which ratings and scores are read; its normalization is not used."
    )
    documents: Annotated[list[Count], Field(min_length=1, max_length=limits.MOST_COUNTS)] | None = Field(
        None, description="Documents of a study, over all buckets; null for steps of 20, or of 5 below 60 documents."
    )
    studies: Annotated[int, Field(ge=2, le=limits.MOST_STUDIES)] = limits.STUDIES
    studies_per_document_set: Annotated[int, Field(ge=1, le=limits.MOST_STUDIES)] = Field(
        limits.STUDIES_PER_SET, description="1 draws documents anew for every study, with `pairs` all."
    )
    pairs: Literal["same_documents", "all"] = "same_documents"
    permutations: Annotated[int, Field(ge=1, le=limits.MOST_PERMUTATIONS)] = limits.PERMUTATIONS
    alpha: Annotated[float, Field(gt=0, lt=1)] = limits.ALPHA
    two_sided: bool = True
    plus_one: bool = Field(default=True, description="Count the observed arrangement among the draws.")
    signs: Literal["study", "document_set"] = Field(
        "study", description="Whether each study draws its own signs, or studies of a document set share them."
    )
    seed: Seed = 0

    def to_request(self) -> StabilityRequest:
        """Convert to the request of the statistics, without the recipe; options that depend on the data stay open."""
        paper = self.designs == "paper"
        return StabilityRequest(
            designs=make_riley_2024_designs()
            if self.designs == "paper"
            else tuple(each.to_design() for each in self.designs),
            documents=None if self.documents is None else tuple(self.documents),
            studies=self.studies,
            per_set=self.studies_per_document_set,
            pairs=self.pairs,
            permutations=self.permutations,
            alpha=self.alpha,
            two_sided=self.two_sided,
            plus_one=self.plus_one,
            signs=self.signs,
            seed=self.seed,
            lenient=paper,
        )
