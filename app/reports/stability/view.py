"""The stability report, as it is stored and sent."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class WorkEntropyView(BaseModel):
    """Normalized entropy of the work over raters."""

    model_config = ConfigDict(frozen=True)

    entropy: float


class StudyDesignView(BaseModel):
    """A way to run a study, as it is asked for."""

    model_config = ConfigDict(frozen=True)

    grouping: Literal["psxs", "system_balanced", "none"]
    balance: Literal["full"] | WorkEntropyView = Field(description="As even as possible, or a normalized entropy.")
    ratings_per_item: int
    normalize: str

    @property
    def work_entropy(self) -> float | None:
        """The normalized entropy of the work over raters; None if it is as even as possible."""
        return None if self.balance == "full" else self.balance.entropy


class StabilityPointView(BaseModel):
    """What studies of one design on one number of documents would find. SRP is never shown alone."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    documents: int
    studies: int
    document_sets: int
    srp: float = Field(description="Stable Ranking Probability.")
    mc_error: float | None = Field(description="Standard error of srp from simulating finitely many studies.")
    n_pairs: int = Field(description="Ordered pairs of studies that were compared.")
    mean_significant_pairs: float = Field(description="Pairs of systems with a significant difference in a study.")
    share_without_significance: float = Field(description="Share of studies without any; these count as stable.")
    kendall_tau: float | None = Field(description="Mean Kendall's tau between two studies.")
    pearson: float | None = Field(description="Mean Pearson correlation between the system means of two studies.")
    sign_error_rate: float | None = Field(description="Share of claims that the full data order the other way.")
    retained_claims: float = Field(
        description="Share of a study's claims that another study orders the same way; our own proposal."
    )
    both_significant_srp: float = Field(description="As srp, but a claim must be significant in both studies.")
    full_data_tau: float | None = Field(description="Mean Kendall's tau with the ranking by all ratings.")
    same_claims_as_full_data: float = Field(description="Share of studies that claim exactly what all ratings claim.")
    claimed: list[float] = Field(
        [], description="For each of the curve's `pairs`: share of studies that claim it in the order of all ratings."
    )
    contradicted: list[float] = Field(
        [], description="For each of the curve's `pairs`: share of studies that claim it in the reverse order."
    )
    warnings: list[str]


class StabilityCurveView(BaseModel):
    """One design by number of documents. why: the reason where there are no points, or not all."""

    model_config = ConfigDict(frozen=True)

    design: StudyDesignView
    points: list[StabilityPointView]
    why: str | None = None
    pairs: list[tuple[int, int]] = Field(
        [],
        description="Pairs whose claims the points report: the better and the worse by all ratings, as "
        "positions in `systems` from 0. If the report would be too long, only neighbors in that "
        "ranking, with a warning.",
    )


class OmittedDocuments(BaseModel):
    """Documents that could not be used."""

    reason: str
    n: int


class StabilityRequestView(BaseModel):
    """The request with every choice filled in."""

    designs: list[StudyDesignView]
    documents: list[int]
    studies: int
    studies_per_document_set: int
    pairs: Literal["same_documents", "all"]
    permutations: int
    alpha: float
    two_sided: bool
    plus_one: bool
    signs: Literal["study", "document_set"]
    recipe: str
    recipe_hash: str


class StabilityView(BaseModel):
    """A stability report."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    campaign: str
    data_version: int
    data_hash: str
    method_version: str
    request: StabilityRequestView
    seed: int
    higher_is_better: bool
    systems: list[str]
    documents_available: int = Field(description="Documents for which the same two or more raters rated every output.")
    buckets: list[int] = Field(description="Number of documents in each bucket.")
    raters: int
    left_out: list[OmittedDocuments]
    curves: list[StabilityCurveView]
    warnings: list[str]
