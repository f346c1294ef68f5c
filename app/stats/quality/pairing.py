"""The original row of each repeat or degraded row, and the pairs that result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.rating_metadata import RepeatAndDegradedLinks
from app.stats.ratings import Bools, Codes, Floats, RatingRole, Ratings

NO_ROW = -1


@dataclass(frozen=True, slots=True)
class RatingsPairedWithOriginals:
    """Pairs of ratings by one rater of one output, ordered by rater.

    rater: code. changed: mean score of the rows of a role that have one original; original: the original's score; both
    of shape (pairs,). unmatched: by rater code, the number of judgments without a rated original.
    """

    rater: Codes
    changed: Floats
    original: Floats
    unmatched: Codes

    def paired_scores_of_rater(self, rater: int) -> tuple[Floats, Floats]:
        """Return changed and original scores of one rater."""
        first, last = np.searchsorted(self.rater, (rater, rater + 1))
        return self.changed[first:last], self.original[first:last]


def find_original_rows(
    ratings: Ratings, roles: tuple[RatingRole, ...] = (RatingRole.REPEAT, RatingRole.DEGRADED)
) -> RepeatAndDegradedLinks:
    """Link each row of these roles to the rating of the same output by the same rater, preferably in the same task.

    If there are several ratings in the same task, the first in canonical order counts.
    """
    rows = np.arange(len(ratings))
    rated = ratings.role == RatingRole.RATING
    asks = np.isin(ratings.role, roles)
    original = np.full(len(ratings), NO_ROW, dtype=np.int32)
    address = (ratings.rater, ratings.kind, ratings.document, ratings.segment, ratings.system)
    for columns in (address, (*address, ratings.task)):
        keys = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].ravel() if rows.size else rows
        first = np.full(int(keys.max(initial=-1)) + 1, NO_ROW, dtype=np.int32)
        first[keys[rated][::-1]] = rows[rated][::-1]
        original_rows = first[keys]
        original = np.where(asks & (original_rows >= 0), original_rows, original).astype(np.int32)
    return RepeatAndDegradedLinks(original)


def pair_with_originals(
    ratings: Ratings, links: RepeatAndDegradedLinks, role: RatingRole, *, with_repeats: bool = False
) -> RatingsPairedWithOriginals:
    """Return the pairs of all rows of a role; a judgment that is shared by several systems counts once.

    with_repeats: the original's score is the mean of it and its repeats (Appraise), not its own alone.
    """
    once = mask_first_rows_of_judgments(ratings)
    rows = np.flatnonzero(once & (ratings.role == role))
    linked = links.original[rows]
    unmatched = np.bincount(ratings.rater[rows[linked < 0]], minlength=len(ratings.labels.raters)).astype(np.int32)
    rows, linked = rows[linked >= 0], linked[linked >= 0]
    targets, group = np.unique(linked, return_inverse=True)
    changed = np.bincount(group, weights=ratings.score[rows], minlength=targets.size) / np.maximum(
        np.bincount(group, minlength=targets.size), 1
    )
    order = np.argsort(ratings.rater[targets], kind="stable")
    targets = targets[order]
    original = _with_repeats(ratings, links, once) if with_repeats else ratings.score
    return RatingsPairedWithOriginals(ratings.rater[targets], changed[order], original[targets], unmatched)


def _with_repeats(ratings: Ratings, links: RepeatAndDegradedLinks, once: Bools) -> Floats:
    """Return, by row, the mean of its score and of its repeats' scores."""
    repeats = np.flatnonzero(once & (ratings.role == RatingRole.REPEAT) & (links.original >= 0))
    to = links.original[repeats]
    total = ratings.score + np.bincount(to, weights=ratings.score[repeats], minlength=len(ratings))
    return np.asarray(total / (1 + np.bincount(to, minlength=len(ratings))), dtype=np.float64)


def mask_first_rows_of_judgments(ratings: Ratings) -> Bools:
    """Mark one row per judgment, because counts by rater are of judgments, not of the systems that share them."""
    keep: npt.NDArray[np.bool_] = np.zeros(len(ratings), dtype=np.bool_)
    keep[np.unique(ratings.judgment, return_index=True)[1]] = True
    return keep
