"""How often a system fails: shares of documents and segments with a critical error, with exact bounds.

A mean over few documents tells nothing about rare failures: if 5 % of documents fail, a sample of twelve shows no
failure with probability .54. So the gate reports the share of failures and its upper bound next to the mean.

Source: Clopper & Pearson 1934 (Biometrika 26).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np
import scipy

from app.stats.ratings import Bools, Ratings

RARE = 0.05
"""A gate should not miss failures that affect this share of the documents."""


@dataclass(frozen=True, slots=True)
class FailureShare:
    """`found` of `n` documents or segments fail. high: upper bound, where at most `found` have probability alpha."""

    found: int
    n: int
    high: float


@dataclass(frozen=True, slots=True)
class SystemFailures:
    """Failures of a system. The segments' bound assumes independence, which does not hold within a document."""

    documents: FailureShare
    segments: FailureShare


def estimate_failure_share(failures: int, n: int, alpha: float) -> FailureShare:
    """Share of failures with its exact one-sided upper bound at 1 − alpha; the bound is 1 if n is 0.

    >>> round(estimate_failure_share(0, 12, 0.05).high, 4), estimate_failure_share(3, 3, 0.05).high
    (0.2209, 1.0)
    """
    high = 1.0 if failures >= n else float(scipy.special.betaincinv(failures + 1, n - failures, 1 - alpha))
    return FailureShare(failures, n, high)


def count_system_failures(ratings: Ratings, failed: Bools, system: int, alpha: float) -> SystemFailures:
    """Count the failures of a system code. failed: by row; one failed row fails its segment and its document."""
    own = ratings.system == system
    segments, documents = (np.unique(column[own]) for column in (ratings.segment, ratings.document))
    bad = own & failed
    fallen = [np.unique(column[bad]).size for column in (ratings.segment, ratings.document)]
    return SystemFailures(
        estimate_failure_share(fallen[1], documents.size, alpha),
        estimate_failure_share(fallen[0], segments.size, alpha),
    )


def compute_documents_to_see_failure(rate: float = RARE, alpha: float = 0.05) -> int:
    """Number of documents that contain a failure with probability 1 − alpha if a share `rate` of all documents fails.

    It is ⌈ln α/ln(1 − rate)⌉.

    >>> compute_documents_to_see_failure()
    59
    """
    return ceil(log(alpha) / log(1 - rate))


def compute_chance_of_no_failure(documents: int, rate: float = RARE) -> float:
    """Probability that none of these documents fails if a share `rate` of all documents fails.

    >>> round(compute_chance_of_no_failure(12), 2)
    0.54
    """
    return float((1 - rate) ** documents)
