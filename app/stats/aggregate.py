"""Aggregate ratings to segment scores, and segment scores to system scores.

Rows are in canonical order, so groups are runs of consecutive rows and every sum has a fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from app.domain.recipe import Repeats
from app.stats.ratings import Bools, Codes, Floats, RatingLabels, Ratings

Indices = npt.NDArray[np.intp]

DECIMALS = 10
"""Scores are compared and ranked to this many decimals, because sums of 0.1 are not exact."""


def round_scores(scores: Floats) -> Floats:
    """Round scores to 10 decimals for comparison, with −0 as 0."""
    return np.round(scores, DECIMALS) + 0.0


@dataclass(frozen=True, slots=True)
class SegmentScores:
    """One row per rated (system, segment), sorted by both; n is the number of ratings behind the score."""

    system: Codes
    segment: Codes
    score: Floats
    n: Codes


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Segment scores as a matrix, systems × segments; `present` marks the scores that exist.

    systems: codes, shape (S,). segments: codes of segments that any system has, shape (G,).
    score: shape (S, G), 0 where missing. present: shape (S, G). n: ratings of each system, shape (S,).
    document: shape (G,), 0 … D−1, never decreasing. starts: shape (D,), first segment of each document.
    domain: shape (G,), codes; None if unknown. macro: whether domains, rather than segments, have equal weight.
    """

    systems: Codes
    segments: Codes
    score: Floats
    present: Bools
    n: Codes
    document: Indices
    starts: Indices
    domain: Indices | None = None
    macro: bool = False

    @property
    def n_documents(self) -> int:
        """Number of documents on which any system was rated."""
        return int(self.starts.size)

    @property
    def is_complete(self) -> bool:
        """Whether every system has a score for every segment."""
        return bool(self.present.all())

    def reorder_systems(self, order: Indices) -> Self:
        """Return a copy with the systems in this order."""
        return replace(
            self,
            systems=self.systems[order],
            score=self.score[order],
            present=self.present[order],
            n=self.n[order],
        )

    def select_systems_in_order(self, systems: Codes) -> Self:
        """Return a copy with only these systems, in this order; each must have a row."""
        return self.reorder_systems(np.searchsorted(self.systems, systems))

    def n_segments_by_system(self) -> Indices:
        """Number of segments of each system, shape (S,)."""
        return np.asarray(self.present.sum(axis=1), dtype=np.intp)

    def system_means(self) -> Floats:
        """Mean segment score of each system, shape (S,); every system has at least one score."""
        if self.macro:
            return np.asarray((self.score * self.segment_weights(self.present)).sum(axis=1), dtype=np.float64)
        rows = zip(self.score, self.present, strict=True)
        return np.array([scores[present].mean() for scores, present in rows], dtype=np.float64)

    def segment_weights(self, present: Bools) -> Floats:
        """Weight of each segment if `present`, else 0; shapes (…, G).

        The weight is 1, or 1/(number of domains · segments of the domain) in a macro mean over domains; only present
        segments are counted.
        """
        if not self.macro or self.domain is None:
            return np.asarray(present, dtype=np.float64)
        held = present.astype(np.float64) @ np.eye(int(self.domain.max(initial=0)) + 1)[self.domain]
        domains = (held > 0).sum(axis=-1, keepdims=True)
        each = np.divide(1.0, domains * held, out=np.zeros_like(held), where=held > 0)
        return np.where(present, each[..., self.domain], 0.0)

    def document_sums(self) -> Floats:
        """Weighted sum of the segment scores of each system in each document, shape (S, D)."""
        return np.add.reduceat(self.score * self.segment_weights(self.present), self.starts, axis=1)

    def document_weights(self) -> Floats:
        """Weight of each document for each system, shape (S, D): its number of segments unless `macro` is set."""
        return np.add.reduceat(self.segment_weights(self.present), self.starts, axis=1)

    def n_segments_by_document(self) -> Indices:
        """Number of segments of each system in each document, shape (S, D)."""
        return np.add.reduceat(self.present.astype(np.intp), self.starts, axis=1)


def average_ratings_per_segment(
    ratings: Ratings, *, repeats: Repeats = "average", median: bool = False
) -> SegmentScores:
    """Average the ratings of each (system, segment).

    `average`: average the repeats of each rater first, then the raters. `pool`: give all ratings equal weight (WMT).
    `latest`, `first`: use only the last or first of several ratings by one rater. `separate`: see
    `treat_ratings_as_segments`.

    median : take the median over raters, not the mean (Licht et al. 2022, §5.2); the midpoint of an even number.
    """
    if repeats in {"latest", "first"}:
        ratings = _one_per_rater(ratings, latest=repeats == "latest")
    key = ratings.system.astype(np.int64) * max(len(ratings.labels.segment_document), 1) + ratings.segment
    starts = _starts(key)
    n = np.diff(starts, append=key.size)
    if not key.size:
        return SegmentScores(ratings.system, ratings.segment, ratings.score, n.astype(np.int32))
    values, groups = _rater_means(ratings, key) if repeats == "average" else (ratings.score, key)
    score = _medians(values, groups) if median else _group_means(values, groups)
    return SegmentScores(ratings.system[starts], ratings.segment[starts], score, n.astype(np.int32))


def treat_ratings_as_segments(ratings: Ratings) -> Ratings:
    """Make every rating (rater and nth) of a segment a separate segment, as in WMT25's waves.

    Two systems then share a segment only if the same rater judged both.
    """
    waves = np.stack((ratings.segment, ratings.rater, ratings.nth), axis=1)
    patterns, code = np.unique(waves, axis=0, return_inverse=True)
    segments = patterns[:, 0]
    labels = replace(
        ratings.labels,
        segment_document=ratings.labels.segment_document[segments],
        segment_position=ratings.labels.segment_position[segments],
    )
    return replace(ratings, segment=code.ravel().astype(np.int32), labels=labels).in_canonical_order()


def make_score_matrix(
    scores: SegmentScores, labels: RatingLabels, *, domains: Codes | None = None, macro: bool = False
) -> ScoreMatrix:
    """Lay segment scores out as a matrix; systems without a score have no row.

    domains : code of each document label; macro : give every domain the same weight.
    """
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
    domain = None if domains is None else np.asarray(domains[document_code], dtype=np.intp)
    return ScoreMatrix(systems, segments.astype(np.int32), matrix, present, n, document, starts, domain, macro)


def _group_means(values: Floats, groups: npt.NDArray[np.int64]) -> Floats:
    starts = _starts(groups)
    return np.asarray(np.add.reduceat(values, starts) / np.diff(starts, append=groups.size), dtype=np.float64)


def _medians(values: Floats, groups: npt.NDArray[np.int64]) -> Floats:
    ordered = values[np.lexsort((values, groups))]
    starts = _starts(groups)
    n = np.diff(starts, append=groups.size)
    return np.asarray((ordered[starts + (n - 1) // 2] + ordered[starts + n // 2]) / 2, dtype=np.float64)


def _rater_means(ratings: Ratings, key: npt.NDArray[np.int64]) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the mean of each (system, segment, rater), and the (system, segment) that it belongs to."""
    change = np.empty(key.size, dtype=np.bool_)
    change[0] = True
    np.not_equal(key[1:], key[:-1], out=change[1:])
    change[1:] |= ratings.rater[1:] != ratings.rater[:-1]
    starts = np.flatnonzero(change)
    if starts.size == key.size:
        return ratings.score, key
    return np.add.reduceat(ratings.score, starts) / np.diff(starts, append=key.size), key[starts]


def _one_per_rater(ratings: Ratings, *, latest: bool) -> Ratings:
    """Keep the row with the largest or smallest `nth` of each (system, segment, rater)."""
    nth = -ratings.nth if latest else ratings.nth
    order = np.lexsort((nth, ratings.rater, ratings.segment, ratings.system))
    same = np.ones(max(len(ratings) - 1, 0), dtype=np.bool_)
    for column in (ratings.system, ratings.segment, ratings.rater):
        same &= column[order][1:] == column[order][:-1]
    keep = np.ones(len(ratings), dtype=np.bool_)
    keep[order[1:][same]] = False
    return ratings.where(keep)


def _starts(key: npt.NDArray[np.integer]) -> Indices:
    """First index of each run of equal values."""
    if not key.size:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
