"""Errors of differences where raters are sampled beside documents.

These raters: documents alone are new. New raters: each rater's pull on a difference counts too. The variance is that by
document plus that by rater minus that by both (what one rater did on one document is in either), each corrected for
leverage; the degrees are those of the way with fewer.

Sources: Cameron, Gelbach & Miller 2011 (Journal of Business & Economic Statistics 29); Cameron & Miller 2015.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from app.stats.aggregate import Indices, ScoreMatrix
from app.stats.inference.by_document import EstimatePrecision, document_degrees_of_freedom
from app.stats.ratings import Floats, Ratings

WITHIN_RATERS = 1.0
"""Correlation of what one rater adds: a rater's tendency is the same in all of their ratings."""
_TABLE = 4
"""Entries of a table that renumbers codes, for each code: sorting takes some ten times as long as such a table."""


def precision_for_new_raters(
    ratings: Ratings, panel: ScoreMatrix, known: EstimatePrecision, first: Indices, second: Indices
) -> EstimatePrecision | None:
    """How well the differences of pairs are known for new raters; None with one rater.

    Parameters
    ----------
    ratings : the rows behind `panel`, in canonical order; the score of a segment is the mean over its raters.
    known : of each pair by document. first, second : rows of the panel, shape (pairs,).
    """
    rows = _RatingInfluences.of(ratings, panel)
    n_raters = int(rows.rater.max(initial=-1)) + 1
    if n_raters < 2:
        return None
    visit = _without_gaps(rows.document.astype(np.int64) * n_raters + rows.rater)
    by_rater, by_both = (_variances(rows, of, first, second) for of in (rows.rater, visit))
    with np.errstate(invalid="ignore"):
        variance = known.error**2 + np.maximum(by_rater - by_both, 0.0)
    share = rows.shares()
    degrees = document_degrees_of_freedom((share[:, first] + share[:, second]).T * len(ratings), WITHIN_RATERS)
    return EstimatePrecision(np.sqrt(variance), np.minimum(known.degrees, degrees), known.documents, known.effective)


class _RatingInfluences:
    """What each rating adds to the error of its system: weight·(score − system's score), one entry a rating."""

    def __init__(self, system: Indices, rater: Indices, document: Indices, weight: Floats, pull: Floats) -> None:
        self.system, self.rater, self.document = system, rater, document
        self.weight, self.pull = weight, pull

    @classmethod
    def of(cls, ratings: Ratings, panel: ScoreMatrix) -> _RatingInfluences:
        """From rows in canonical order; every one is of a system and a segment of the panel."""
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
    """The codes in their order, numbered from 0; by a table where that is not much longer than they are."""
    most = int(codes.max(initial=-1)) + 1
    if most > _TABLE * codes.size:
        return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.intp)
    there = np.zeros(most, dtype=np.intp)
    there[codes] = 1
    return np.asarray((np.cumsum(there) - 1)[codes], dtype=np.intp)


def _run_lengths(cell: npt.NDArray[np.int64], rater: npt.NDArray[np.integer]) -> Floats:
    """Ratings of the same output by the same rater, for each rating; these stand side by side."""
    change = np.flatnonzero(np.concatenate(([True], (cell[1:] != cell[:-1]) | (rater[1:] != rater[:-1]))))
    lengths = np.diff(change, append=cell.size)
    return np.asarray(np.repeat(lengths, lengths), dtype=np.float64)


def _sums_by_system(values: Floats, group: Indices, system: Indices) -> scipy.sparse.csr_matrix:
    return scipy.sparse.csr_matrix(scipy.sparse.coo_matrix((values, (group, system))))


def _variances(rows: _RatingInfluences, group: Indices, first: Indices, second: Indices) -> Floats:
    """Σ over groups of the squared difference of two systems' pulls, each corrected for its group's share."""
    pulls, share = _sums_by_system(rows.pull, group, rows.system), _sums_by_system(rows.weight, group, rows.system)
    left = 1.0 - share.data
    pulls.data = pulls.data / np.sqrt(np.where(left > 1e-12, left, 1.0))
    gram = (pulls.T @ pulls).toarray()
    own = np.diag(gram)
    return np.asarray(own[first] + own[second] - 2 * gram[first, second], dtype=np.float64)
