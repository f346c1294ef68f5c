"""The values that the choices of a recipe can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["rating", "repeat", "reference", "degraded", "calibration"]
Normalize = Literal["auto", "none", "mean", "center", "error", "error_rate", "z"]
Moments = Literal["ratings", "all", "calibration"]
ConstantRaters = Literal["drop", "zero", "drop_z"]
ImplausibleRaters = Literal["keep", "drop"]
Repeats = Literal["average", "pool", "latest", "first", "separate"]
Unit = Literal["document", "segment"]
Aggregate = Literal["mean", "median", "macro_domain"]
Test = Literal[
    "permutation",
    "signed_rank",
    "paired_t",
    "rank_sum",
    "rank_sum_legacy",
    "welch",
    "marot",
    "stouffer",
    "stouffer_signed",
    "wmt26_or",
    "wmt26_bootstrap",
    "bootstrap",
    "none",
]
ZeroMethod = Literal["wilcox", "pratt", "zsplit"]
Method = Literal["auto", "asymptotic", "exact"]
IntervalKind = Literal["t", "percentile", "bca"]
Calibration = Literal["raw"]
Alternative = Literal["two-sided", "greater"]
Adjust = Literal["none", "holm", "bh", "maxT"]
ClusterRule = Literal["wmt21", "wmt22", "wmt24", "wmt25", "wmt26", "paper", "strict", "none"]
Subject = Literal["system", "rater", "document", "task"]
Source = Literal["score", "spans", "criterion"]


@dataclass(frozen=True, slots=True, order=True)
class ExclusionTarget:
    """A system, rater, document or task that an analysis leaves out."""

    what: Subject
    key: str


@dataclass(frozen=True, slots=True)
class ScoringChoice:
    """Which number of a judgment is analyzed.

    source: `score` as given or derived when it was recorded, `spans` from the marked errors, `criterion` by name.
    profile: weight profile for errors; None is the campaign's own. cap: largest penalty of one segment, None for no
    cap.
    """

    source: Source = "score"
    profile: str | None = None
    cap: float | None = None
    criterion: str | None = None


LARGEST_SEED = 2**63 - 1
FEWEST_PERMUTATIONS, MOST_PERMUTATIONS = 100, 1_000_000
MOST_EXCLUSIONS = 1_000
