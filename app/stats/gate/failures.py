"""How often a system fails: shares of documents and segments with a critical error, with exact bounds.

A mean over few documents says nothing of failures that are rare: of documents of which 5 % fail, twelve show none with
a chance of .54. So their share stands beside the mean, with the largest share that the documents leave possible.

Source: Clopper & Pearson 1934 (Biometrika 26).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np
import scipy

from app.stats.ratings import Bools, Ratings

RARE = 0.05
"""Failures on this share of the documents are those that a gate should not miss."""


@dataclass(frozen=True, slots=True)
class FailureShare:
    """Of `n` documents or segments `found` fail; high: the largest share that leaves so few a chance of alpha."""

    found: int
    n: int
    high: float


@dataclass(frozen=True, slots=True)
class SystemFailures:
    """Failures of a system. The bound of segments takes them as independent, which those of one document are not."""

    documents: FailureShare
    segments: FailureShare


def estimate_failure_share(failures: int, n: int, alpha: float) -> FailureShare:
    """With its exact one-sided upper bound at 1 − alpha; the bound of nothing is 1.

    >>> round(estimate_failure_share(0, 12, 0.05).high, 4), estimate_failure_share(3, 3, 0.05).high
    (0.2209, 1.0)
    """
    high = 1.0 if failures >= n else float(scipy.special.betaincinv(failures + 1, n - failures, 1 - alpha))
    return FailureShare(failures, n, high)


def count_system_failures(ratings: Ratings, failed: Bools, system: int, alpha: float) -> SystemFailures:
    """Failures of a system code. failed: of each row; a segment fails where any rater says so, a document with it."""
    own = ratings.system == system
    segments, documents = (np.unique(column[own]) for column in (ratings.segment, ratings.document))
    bad = own & failed
    fallen = [np.unique(column[bad]).size for column in (ratings.segment, ratings.document)]
    return SystemFailures(
        estimate_failure_share(fallen[1], documents.size, alpha),
        estimate_failure_share(fallen[0], segments.size, alpha),
    )


def documents_needed_to_see_failure(rate: float = RARE, alpha: float = 0.05) -> int:
    """Documents of which at least one fails with the chance 1 − alpha, where this share of all fails.

    ⌈ln α/ln(1 − rate)⌉.

    >>> documents_needed_to_see_failure()
    59
    """
    return ceil(log(alpha) / log(1 - rate))


def chance_of_no_failure(documents: int, rate: float = RARE) -> float:
    """Chance that none of so many documents fails, where this share of all does.

    >>> round(chance_of_no_failure(12), 2)
    0.54
    """
    return float((1 - rate) ** documents)
