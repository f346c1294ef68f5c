"""How unevenly raters are spread over systems: a severe rater counts against the systems they judged more often."""

from __future__ import annotations

import numpy as np

from app.stats.ratings import Codes, Floats, Ratings

MOST_UNEVEN = 0.05
"""Unevenness of a pair above which a ranking has a warning; single ratings of 300 outputs by 6 random raters: .006."""


def measure_rater_share_unevenness(ratings: Ratings, systems: Codes, ratings_per_row: Codes | None = None) -> Floats:
    """Return Σ over raters of (share of A's ratings − share of B's)² for each pair, shape (S, S).

    Multiplied by the variance of raters' severity, it is the variance that raters add to the difference of A and B. It
    is 0 if every rater has the same share of both, and 2 if one rater has all of A and another all of B.

    ratings_per_row: how many ratings each row stands for; None for one.
    """
    place = np.full(max(ratings.n_systems, 1), -1, dtype=np.intp)
    place[systems] = np.arange(len(systems))
    row = place[ratings.system]
    here = row >= 0
    n_raters = len(ratings.labels.raters)
    weights = None if ratings_per_row is None else ratings_per_row[here]
    cells = np.bincount(row[here] * n_raters + ratings.rater[here], weights=weights, minlength=len(systems) * n_raters)
    counts = cells.reshape(len(systems), n_raters).astype(np.float64)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    gram = shares @ shares.T
    own = np.diag(gram)
    return np.asarray(np.maximum(own[:, None] + own[None, :] - 2 * gram, 0.0), dtype=np.float64)
