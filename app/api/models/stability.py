"""A stability request as it is sent; the command line reads its files by it, too."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from app.domain.keys import KEY_PATTERN
from app.domain.recipe_choices import LARGEST_SEED
from app.services.stability import Asked
from app.services.stability_view import StabilityView
from app.stats.stability import request as limits
from app.stats.stability.request import Assignment, Request, StudyDesign, paper_designs
from app.web.bodies import Input

Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class EntropyIn(Input):
    """Uneven work: normalized entropy over all raters of the data, met within .03."""

    entropy: Annotated[float, Field(ge=0, le=1)]


class StudyDesignIn(Input):
    """A way to run a study."""

    grouping: Literal["psxs", "system_balanced", "none"] = "psxs"
    balance: Literal["full"] | EntropyIn = "full"
    ratings_per_item: Annotated[int, Field(ge=1, le=20)] = 1
    normalize: Literal["none", "mean", "center", "error", "error_rate", "z"] = "none"

    def design(self) -> StudyDesign:
        """The value behind it."""
        entropy = self.balance.entropy if isinstance(self.balance, EntropyIn) else None
        return StudyDesign(Assignment(self.grouping, entropy, self.ratings_per_item), self.normalize)


class StabilityIn(Input):
    """Curves of Stable Ranking Probability by number of documents; the defaults are those of Riley et al. 2024."""

    designs: Annotated[list[StudyDesignIn], Field(min_length=1, max_length=limits.MOST_DESIGNS)] | Literal["paper"] = (
        Field(
            default=[StudyDesignIn(grouping=grouping) for grouping in limits.GROUPINGS],
            description="One curve each; `paper` for all of Figures 3–8, those that do not fit left out with a reason.",
        )
    )
    recipe: Key = Field("srp-paper", description="Which ratings and scores are read; its normalization is not used.")
    documents: Annotated[list[Count], Field(min_length=1, max_length=limits.MOST_COUNTS)] | None = Field(
        None, description="Documents of a study, over all buckets; null for steps of 20, of 5 below 60 documents."
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
        "study", description="Whether each study draws its own signs, or those of a document set share them."
    )
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0

    def asked(self) -> Asked:
        """The value behind it."""
        paper = self.designs == "paper"
        designs = paper_designs() if self.designs == "paper" else tuple(one.design() for one in self.designs)
        request = Request(
            designs=designs,
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
        return Asked(request, self.recipe)


ASKED: dict[str, Any] = {
    "designs": [{"grouping": "psxs", "normalize": "z"}, {"grouping": "none", "balance": {"entropy": 0.7}}],
    "documents": [10, 20],
    "studies": 100,
    "seed": 1,
}
_DESIGN = {"grouping": "psxs", "balance": "full", "ratings_per_item": 1, "normalize": "z"}
_POINT: dict[str, Any] = {
    "documents": 20,
    "studies": 100,
    "document_sets": 2,
    "srp": 0.9418,
    "mc_error": 0.0102,
    "n_pairs": 4900,
    "mean_significant_pairs": 29.9,
    "share_without_significance": 0.0,
    "kendall_tau": 0.82,
    "pearson": 0.97,
    "sign_error_rate": 0.0007,
    "retained_claims": 29.8,
    "both_significant_srp": 0.04,
    "full_data_tau": 0.86,
    "same_claims_as_full_data": 0.0,
    "claimed": [0.97],
    "contradicted": [0.0],
    "warnings": [],
}
EXAMPLE = StabilityView.model_validate(
    {
        "campaign": "sxs-ende",
        "data_version": 2,
        "data_hash": "sha256:" + "5e" * 32,
        "method_version": "stability-2",
        "request": {
            "designs": [_DESIGN],
            "documents": [20],
            "studies": 100,
            "studies_per_document_set": 50,
            "pairs": "same_documents",
            "permutations": 500,
            "alpha": 0.05,
            "two_sided": True,
            "plus_one": True,
            "signs": "study",
            "recipe": "srp-paper",
            "recipe_hash": "sha256:" + "5e" * 32,
        },
        "seed": 1,
        "higher_is_better": False,
        "systems": ["GPT4-5shot", "ONLINE-W"],
        "documents_available": 30,
        "buckets": [3] * 10,
        "raters": 10,
        "left_out": [],
        "curves": [
            {
                "design": _DESIGN,
                "points": [_POINT],
                "pairs": [[0, 1]],
            }
        ],
        "warnings": ["a fixed rater pool cannot show rater × system variance"],
    }
)
