"""Raters whose differences between outputs are far from those of all raters, as WMT26 excludes them.

Source: humeval/02a-filter_data.py of wmt-conference/wmt26-general-mt.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from app.stats.ratings import Floats, Ratings

LEAST_PLAUSIBLE: Final = 0.75
FEWEST_DOCUMENTS: Final = 3
"""Raters of fewer documents are not excluded."""
FEWEST_SCORES: Final = 11
"""Fewest scores of a system; pairs with a system that has fewer are ignored."""


def compute_rater_plausibility(ratings: Ratings) -> Floats:
    """Return how well each rater's scores agree with those of all, by rater code, shape (R,), from 0 to 1.

    The mean of 2^(−(d − μ)²/2σ²) over pairs of outputs of one segment that the rater judged: d is their difference, μ
    that of the two systems' means over all ratings, σ² the sum of the systems' variances. NaN for raters of fewer than
    three documents, and for raters without a usable pair.
    """
    n_raters = len(ratings.labels.raters)
    if not len(ratings):
        return np.full(n_raters, np.nan)
    order = np.lexsort((ratings.system, ratings.nth, ratings.segment, ratings.rater))
    rows = ratings.take(order)
    counts = np.bincount(rows.system, minlength=rows.n_systems)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(rows.system, rows.score, minlength=rows.n_systems) / counts
        squares = np.bincount(rows.system, (rows.score - mean[rows.system]) ** 2, minlength=rows.n_systems)
        variance = np.where(counts >= FEWEST_SCORES, squares / (counts - 1), np.nan)
    total, pairs = np.zeros(n_raters), np.zeros(n_raters)
    for step in range(1, rows.n_systems):
        beside = np.all([column[step:] == column[:-step] for column in (rows.rater, rows.segment, rows.nth)], axis=0)
        if not beside.any():
            break
        first, second = np.flatnonzero(beside), np.flatnonzero(beside) + step
        a, b = rows.system[first], rows.system[second]
        off = rows.score[first] - rows.score[second] - (mean[a] - mean[b])
        plausible = 2.0 ** -(off**2 / (2 * (variance[a] + variance[b]) + 1e-6))
        known = np.isfinite(plausible) & (a != b)
        total += np.bincount(rows.rater[first[known]], plausible[known], minlength=n_raters)
        pairs += np.bincount(rows.rater[first[known]], minlength=n_raters)
    seen = np.unique(np.stack((rows.rater, rows.document)), axis=1)
    documents = np.bincount(seen[0], minlength=n_raters)
    with np.errstate(invalid="ignore"):
        return np.where(documents >= FEWEST_DOCUMENTS, total / pairs, np.nan)
