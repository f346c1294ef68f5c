"""Standard errors of differences if raters are sampled as well as documents.

Inference to the same raters treats only documents as new. Inference to new raters also counts each rater's contribution
to a difference. The variance is that by document plus that by rater minus that by both, because a rater's work on one
document is in the first two. Each is corrected for leverage; the degrees of freedom are the smaller of the two.

Sources: Cameron, Gelbach & Miller 2011 (Journal of Business & Economic Statistics 29); Cameron & Miller 2015.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from app.stats.aggregate import Indices, ScoreMatrix
from app.stats.inference.by_document import EstimatePrecision, compute_document_degrees_of_freedom
from app.stats.ratings import Floats, Ratings

WITHIN_RATERS = 1.0
"""Correlation of one rater's contributions: a rater's tendency is the same in all of their ratings."""
_TABLE = 4
"""A table renumbers codes if it has at most this many entries per code; sorting takes about ten times as long."""


def estimate_precision_for_new_raters(
    ratings: Ratings, panel: ScoreMatrix, precision: EstimatePrecision, first: Indices, second: Indices
) -> EstimatePrecision | None:
    """Estimate the precision of pair differences for new raters; None with fewer than two raters.

    Parameters
    ----------
    ratings : the rows behind `panel`, in canonical order; the score of a segment is the mean over its raters.
    precision : precision of each pair by document. first, second : rows of the panel, shape (pairs,).
    """
    rows = _RatingInfluences.of(ratings, panel)
    n_raters = int(rows.rater.max(initial=-1)) + 1
    if n_raters < 2:
        return None
    visit = _without_gaps(rows.document.astype(np.int64) * n_raters + rows.rater)
    by_rater, by_both = (_variances(rows, of, first, second) for of in (rows.rater, visit))
    with np.errstate(invalid="ignore"):
        variance = precision.error**2 + np.maximum(by_rater - by_both, 0.0)
    share = rows.shares()
    degrees = compute_document_degrees_of_freedom((share[:, first] + share[:, second]).T * len(ratings), WITHIN_RATERS)
    degrees = np.minimum(precision.degrees, degrees)
    return EstimatePrecision(np.sqrt(variance), degrees, precision.documents, precision.effective)


class _RatingInfluences:
    """Contribution of each rating to its system's error: weight·(score − system's score), one entry per rating."""

    def __init__(self, system: Indices, rater: Indices, document: Indices, weight: Floats, pull: Floats) -> None:
        self.system, self.rater, self.document = system, rater, document
        self.weight, self.pull = weight, pull

    @classmethod
    def of(cls, ratings: Ratings, panel: ScoreMatrix) -> _RatingInfluences:
        """Compute influences from rows in canonical order, all of the panel's segments; other systems are ignored."""
        place = np.full(max(ratings.n_systems, 1), -1, dtype=np.intp)
        place[panel.systems] = np.arange(panel.systems.size)
        column = np.searchsorted(panel.segments, ratings.segment)
        system = place[ratings.system]
        here = (system >= 0) & panel.present[system, np.minimum(column, panel.segments.size - 1)]
        system, column, rater = system[here], column[here], ratings.rater[here]
        cell = system * np.int64(panel.segments.size) + column
        own = _run_lengths(cell, rater)
        # A rater's repeats are averaged first, then raters.
        raters = np.bincount(cell, weights=1.0 / own, minlength=panel.present.size)[cell]
        weights = panel.segment_weights(panel.present)
        total = weights.sum(axis=1)
        weight = weights[system, column] / total[system] / (own * raters)
        theta = np.bincount(system, weights=weight * ratings.score[here], minlength=panel.systems.size)
        pull = weight * (ratings.score[here] - theta[system])
        return cls(system, _without_gaps(rater), panel.document[column], weight, pull)

    def shares(self) -> Floats:
        """Share of each rater in each system's score, shape (R, S)."""
        return np.asarray(_sums_by_system(self.weight, self.rater, self.system).toarray(), dtype=np.float64)


def _without_gaps(codes: npt.NDArray[np.integer]) -> Indices:
    """Renumber codes densely from 0, keeping their order; use a table unless it would be much longer than the codes."""
    most = int(codes.max(initial=-1)) + 1
    if most > _TABLE * codes.size:
        return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.intp)
    there = np.zeros(most, dtype=np.intp)
    there[codes] = 1
    return np.asarray((np.cumsum(there) - 1)[codes], dtype=np.intp)


def _run_lengths(cell: npt.NDArray[np.int64], rater: npt.NDArray[np.integer]) -> Floats:
    """Number of ratings of the same output by the same rater, for each rating; such ratings are adjacent."""
    change = np.flatnonzero(np.concatenate(([True], (cell[1:] != cell[:-1]) | (rater[1:] != rater[:-1]))))
    lengths = np.diff(change, append=cell.size)
    return np.asarray(np.repeat(lengths, lengths), dtype=np.float64)


def _sums_by_system(values: Floats, group: Indices, system: Indices) -> scipy.sparse.csr_matrix:
    return scipy.sparse.csr_matrix(scipy.sparse.coo_matrix((values, (group, system))))


def _variances(rows: _RatingInfluences, group: Indices, first: Indices, second: Indices) -> Floats:
    """Sum the squared differences of two systems' pulls over groups; pulls are corrected for the group's share."""
    pulls, share = _sums_by_system(rows.pull, group, rows.system), _sums_by_system(rows.weight, group, rows.system)
    left = 1.0 - share.data
    pulls.data = pulls.data / np.sqrt(np.where(left > 1e-12, left, 1.0))
    gram = (pulls.T @ pulls).toarray()
    own = np.diag(gram)
    return np.asarray(own[first] + own[second] - 2 * gram[first, second], dtype=np.float64)
