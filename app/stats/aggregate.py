"""From ratings to segment scores, and from those to system scores.

Rows stand in canonical order, so groups are stretches of rows and every sum has one order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from app.domain.recipe import Repeats
from app.stats.ratings import Bools, Codes, Floats, Labels, Ratings

Indices = npt.NDArray[np.intp]

DECIMALS = 10
"""Scores are compared and ranked to this many decimals: sums of 0.1 are not exact."""


def rounded(scores: Floats) -> Floats:
    """Scores as they are compared: to 10 decimals, −0 as 0."""
    return np.round(scores, DECIMALS) + 0.0


@dataclass(frozen=True, slots=True)
class SegmentScores:
    """One row a (system, segment) that was rated, sorted by both; n is the number of ratings behind the score."""

    system: Codes
    segment: Codes
    score: Floats
    n: Codes


@dataclass(frozen=True, slots=True)
class Panel:
    """Segment scores as a matrix, systems × segments, with what is missing marked.

    systems: codes, shape (S,). segments: codes of segments that any system has, shape (G,).
    score: shape (S, G), 0 where missing. present: shape (S, G). n: ratings of each system, shape (S,).
    document: shape (G,), 0 … D−1, never falling. starts: shape (D,), first segment of each document.
    """

    systems: Codes
    segments: Codes
    score: Floats
    present: Bools
    n: Codes
    document: Indices
    starts: Indices

    @property
    def n_documents(self) -> int:
        """Number of documents that any system was rated on."""
        return int(self.starts.size)

    @property
    def complete(self) -> bool:
        """Whether every system has every segment."""
        return bool(self.present.all())

    def arranged(self, order: Indices) -> Self:
        """The same with the systems in another order."""
        return replace(
            self,
            systems=self.systems[order],
            score=self.score[order],
            present=self.present[order],
            n=self.n[order],
        )

    def counts(self) -> Indices:
        """Segments of each system, shape (S,)."""
        return np.asarray(self.present.sum(axis=1), dtype=np.intp)

    def means(self) -> Floats:
        """Mean of the segment scores of each system, shape (S,); every system has at least one."""
        rows = zip(self.score, self.present, strict=True)
        return np.array([scores[present].mean() for scores, present in rows], dtype=np.float64)

    def document_sums(self) -> Floats:
        """Sum of the segment scores of each system in each document, shape (S, D)."""
        return np.add.reduceat(self.score, self.starts, axis=1)

    def document_counts(self) -> Indices:
        """Number of segments of each system in each document, shape (S, D)."""
        return np.add.reduceat(self.present.astype(np.intp), self.starts, axis=1)


def segment_scores(ratings: Ratings, *, repeats: Repeats = "average") -> SegmentScores:
    """Average the ratings of each (system, segment).

    `average`: repeats of one rater first, then raters. `pool`: all ratings alike (WMT). `latest`, `first`: of several
    ratings by one rater only the last or the first counts.
    """
    if repeats in {"latest", "first"}:
        ratings = _one_per_rater(ratings, latest=repeats == "latest")
    key = ratings.system.astype(np.int64) * max(len(ratings.labels.segment_document), 1) + ratings.segment
    starts = _starts(key)
    n = np.diff(starts, append=key.size)
    if not key.size:
        return SegmentScores(ratings.system, ratings.segment, ratings.score, n.astype(np.int32))
    if repeats == "average":
        score, groups = _rater_means(ratings, key)
        starts_of_groups = _starts(groups)
        score = np.add.reduceat(score, starts_of_groups) / np.diff(starts_of_groups, append=groups.size)
    else:
        score = np.add.reduceat(ratings.score, starts) / n
    return SegmentScores(ratings.system[starts], ratings.segment[starts], score, n.astype(np.int32))


def panel(scores: SegmentScores, labels: Labels) -> Panel:
    """Lay segment scores out as a matrix; systems without a score have no row."""
    systems, row = np.unique(scores.system, return_inverse=True)
    n_labels = len(labels.segment_document)
    seen = np.zeros(n_labels, dtype=np.bool_)
    seen[scores.segment] = True
    segments = np.flatnonzero(seen)
    column = (np.cumsum(seen) - 1)[scores.segment]
    shape = (systems.size, segments.size)
    matrix, present = np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    matrix[row, column] = scores.score
    present[row, column] = True
    document_code = labels.segment_document[segments]
    starts = _starts(document_code)
    document = np.repeat(np.arange(starts.size), np.diff(starts, append=segments.size))
    n = np.bincount(row, weights=scores.n, minlength=systems.size).astype(np.int32)
    return Panel(systems, segments.astype(np.int32), matrix, present, n, document, starts)


def _rater_means(ratings: Ratings, key: npt.NDArray[np.int64]) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Mean of each (system, segment, rater), and the (system, segment) it belongs to."""
    change = np.empty(key.size, dtype=np.bool_)
    change[0] = True
    np.not_equal(key[1:], key[:-1], out=change[1:])
    change[1:] |= ratings.rater[1:] != ratings.rater[:-1]
    starts = np.flatnonzero(change)
    if starts.size == key.size:
        return ratings.score, key
    return np.add.reduceat(ratings.score, starts) / np.diff(starts, append=key.size), key[starts]


def _one_per_rater(ratings: Ratings, *, latest: bool) -> Ratings:
    """Of each (system, segment, rater) the row with the largest, or smallest, `nth`."""
    nth = -ratings.nth if latest else ratings.nth
    order = np.lexsort((nth, ratings.rater, ratings.segment, ratings.system))
    same = np.ones(max(len(ratings) - 1, 0), dtype=np.bool_)
    for column in (ratings.system, ratings.segment, ratings.rater):
        same &= column[order][1:] == column[order][:-1]
    keep = np.ones(len(ratings), dtype=np.bool_)
    keep[order[1:][same]] = False
    return ratings.where(keep)


def _starts(key: npt.NDArray[np.integer]) -> Indices:
    """First index of each stretch of equal values."""
    if not key.size:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
