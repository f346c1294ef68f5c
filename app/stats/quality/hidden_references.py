"""Hidden references: how far above an output does a rater score the human translation shown in its place?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.quality.pairing import find_original_rows, pair_with_originals
from app.stats.ratings import RatingRole, Ratings


@dataclass(frozen=True, slots=True)
class HiddenReferenceComparison:
    """References that one rater scored. n: pairs of a reference and the output in whose place it was shown, both by
    this rater. mean_difference: reference − output in the protocol's unit."""

    n: int
    mean_difference: float


def compare_hidden_references_by_rater(ratings: Ratings) -> dict[int, HiddenReferenceComparison]:
    """Compare, for each rater (by code), references with the outputs in whose place they were shown.

    Evidence only: a good output may well score above its reference. Source: Graham et al. 2017 (REF items).
    """
    pairs = pair_with_originals(ratings, find_original_rows(ratings, (RatingRole.REFERENCE,)), RatingRole.REFERENCE)
    by_rater = {}
    for rater in np.unique(pairs.rater).tolist():
        shown, output = pairs.paired_scores_of_rater(rater)
        by_rater[rater] = HiddenReferenceComparison(shown.size, float((shown - output).mean()))
    return by_rater
