"""Influence: what the difference of a pair would be without one rater, one document or one domain.

Scores are not normalized again: the unit is only left out of the averages. The difference is the one that a ranking
reports: over common segments if tests are paired, otherwise of the two scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.recipe import Repeats
from app.stats.aggregate import Indices, ScoreMatrix, SegmentScores, average_ratings_per_segment, round_scores
from app.stats.ratings import Bools, Floats, Ratings
from app.stats.testing.common_segments import iterate_common_segment_masks, list_all_system_pairs

MOST_CELLS = 20_000_000
"""Most documents × pairs for which each document is left out in turn."""

_HELD = 1 << 20  # leave-one-out differences computed at once
MOST_NAMED = 20
"""Largest number of units named for a pair, those that change it most first."""


@dataclass(frozen=True, slots=True)
class LeaveOneOutDifferences:
    """Differences of all pairs without each unit of one kind.

    what: `rater`, `document` or `domain`. keys: of the units. without: shape (units, pairs), positive if the first
    system is better, NaN if nothing would be left to compare.
    """

    what: str
    keys: tuple[str, ...]
    without: Floats


@dataclass(frozen=True, slots=True)
class MostInfluentialUnit:
    """The unit whose removal changes a difference most, and the change (without the unit minus with it)."""

    what: str
    key: str
    change: float


@dataclass(frozen=True, slots=True)
class PairInfluence:
    """Influence on one pair: the largest change by each kind of unit, and the units behind the lead.

    flips_without: the units without which the better system is not ahead, at most `MOST_NAMED`. n_flips: their number.
    """

    largest: tuple[MostInfluentialUnit, ...]
    flips_without: tuple[str, ...]
    n_flips: int


@dataclass(frozen=True, slots=True)
class _Contrast:
    """How a matrix becomes differences of pairs. stratum: of each segment; paired: whether over common segments."""

    matrix: ScoreMatrix
    sign: int
    paired: bool
    stratum: Indices
    n_strata: int


def leave_out_each_document(
    matrix: ScoreMatrix, sign: int, keys: Sequence[str], *, paired: bool
) -> LeaveOneOutDifferences:
    """Leave out each document in turn.

    sign : 1 where higher is better, else −1. keys : of the matrix's documents, shape (D,). paired : whether differences
    are over common segments. The returned differences are in the unit of the matrix's scores.
    """
    contrast = _contrast(matrix, sign, paired=paired)
    strata = contrast.stratum[matrix.starts]
    return LeaveOneOutDifferences(
        "document", tuple(keys), _without_units(contrast, np.arange(matrix.n_documents), strata)
    )


def leave_out_each_domain(
    matrix: ScoreMatrix, sign: int, names: Sequence[str], *, paired: bool
) -> LeaveOneOutDifferences:
    """Leave out each domain in turn; sign, paired : as in `leave_out_each_document`.

    names : the labels of the domain codes.

    Raises ValueError if the matrix has no domains.
    """
    if matrix.domain is None:
        raise ValueError("domains are unknown")
    contrast = _contrast(matrix, sign, paired=paired)
    used, unit = np.unique(matrix.domain[matrix.starts], return_inverse=True)
    strata = used if matrix.macro else np.zeros(used.size, dtype=np.intp)
    return LeaveOneOutDifferences("domain", tuple(names[code] for code in used), _without_units(contrast, unit, strata))


def leave_out_each_rater(
    matrix: ScoreMatrix, sign: int, ratings: Ratings, *, paired: bool, repeats: Repeats, median: bool = False
) -> LeaveOneOutDifferences:
    """Leave out each rater in turn: segment scores are then of the other raters, and missing if there are none.

    Parameters
    ----------
    ratings : the normalized rows behind the matrix, in canonical order.
    repeats, median : how they were averaged.
    """
    contrast = _contrast(matrix, sign, paired=paired)
    sums, counts = _totals(contrast, matrix.score, matrix.present, np.arange(matrix.segments.size))
    raters = np.unique(ratings.rater)
    index = _RowsByRater(ratings)
    without = []
    for rater in raters:
        rows, segments = index.others(int(rater))
        columns = np.searchsorted(matrix.segments, segments)
        score, present = _cells(
            matrix, average_ratings_per_segment(ratings.take(rows), repeats=repeats, median=median), columns
        )
        before = _totals(contrast, matrix.score[:, columns], matrix.present[:, columns], columns)
        after = _totals(contrast, score, present, columns)
        without.append(_differences(contrast, sums - before[0] + after[0], counts - before[1] + after[1]))
    n_pairs = list_all_system_pairs(len(matrix.systems))[0].size
    keys = tuple(ratings.labels.raters[rater] for rater in raters)
    return LeaveOneOutDifferences("rater", keys, np.array(without).reshape(len(keys), n_pairs))


def summarize_influence(difference: Floats, left_out: Sequence[LeaveOneOutDifferences]) -> tuple[PairInfluence, ...]:
    """Summarize the influence on each pair. A flip is a unit without which the better system is no longer ahead."""
    sides = np.sign(round_scores(np.nan_to_num(difference)))
    return tuple(_influence_of_pair(k, float(difference[k]), int(sides[k]), left_out) for k in range(difference.size))


def _influence_of_pair(
    pair: int, difference: float, side: int, kinds: Sequence[LeaveOneOutDifferences]
) -> PairInfluence:
    largest: list[MostInfluentialUnit] = []
    flips: list[tuple[float, str]] = []
    for kind in kinds:
        change = kind.without[:, pair] - difference
        if not np.isfinite(change).any():
            continue
        most = int(np.nanargmax(np.abs(round_scores(change))))
        largest.append(MostInfluentialUnit(kind.what, kind.keys[most], float(change[most])))
        left = round_scores(np.where(np.isfinite(change), kind.without[:, pair], np.inf * side if side else 0.0))
        turned = np.flatnonzero(left * side <= 0) if side else ()
        flips.extend((-abs(float(change[unit])), f"{kind.what}:{kind.keys[unit]}") for unit in turned)
    flips.sort()
    return PairInfluence(tuple(largest), tuple(name for _, name in flips[:MOST_NAMED]), len(flips))


def _contrast(matrix: ScoreMatrix, sign: int, *, paired: bool) -> _Contrast:
    if matrix.macro and matrix.domain is not None:
        return _Contrast(matrix, sign, paired, matrix.domain, int(matrix.domain.max(initial=0)) + 1)
    return _Contrast(matrix, sign, paired, np.zeros(matrix.segments.size, dtype=np.intp), 1)


def _totals(contrast: _Contrast, score: Floats, present: Bools, columns: Indices) -> tuple[Floats, Floats]:
    """Sums and counts by stratum: of differences over common segments (by pair), or of scores (by system).

    score, present : of the segments `columns`, shapes (S, columns). Returns shapes (strata, pairs or systems).
    """
    first, second = list_all_system_pairs(len(score))
    sums, counts = [], []
    for stratum in range(contrast.n_strata):
        chosen = contrast.stratum[columns] == stratum
        held = present[:, chosen].astype(np.float64)
        values = contrast.sign * score[:, chosen] * held
        if contrast.paired:
            crossed = values @ held.T
            sums.append((crossed - crossed.T)[first, second])
            counts.append((held @ held.T)[first, second])
        else:
            sums.append(values.sum(axis=1))
            counts.append(held.sum(axis=1))
    return np.array(sums), np.array(counts)


def _differences(contrast: _Contrast, sums: Floats, counts: Floats) -> Floats:
    """Differences of pairs, shape (…, pairs), from sums and counts of shape (strata, …, pairs or systems)."""
    held = counts > 0.5
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=held)
    strata = held.sum(axis=0)
    values = np.where(strata > 0, means.sum(axis=0) / np.maximum(strata, 1), np.nan)
    if contrast.paired:
        return np.asarray(values, dtype=np.float64)
    first, second = list_all_system_pairs(len(contrast.matrix.systems))
    return np.asarray(values[..., first] - values[..., second], dtype=np.float64)


def _without_units(contrast: _Contrast, unit: Indices, strata: Indices) -> Floats:
    """Differences without each unit. unit: of each document, shape (D,). strata: of each unit."""
    sums, counts = _by_unit(contrast, unit, strata.size)
    own = np.eye(contrast.n_strata)[strata]
    total, held = np.tensordot(own.T, sums, axes=1), np.tensordot(own.T, counts, axes=1)
    step, parts = max(1, _HELD // max(sums.shape[1], 1)), []
    for start in range(0, max(strata.size, 1), step):
        some = slice(start, start + step)
        mine = own[some].T[:, :, None]
        parts.append(_differences(contrast, total[:, None] - mine * sums[some], held[:, None] - mine * counts[some]))
    return np.concatenate(parts)


def _by_unit(contrast: _Contrast, unit: Indices, n_units: int) -> tuple[Floats, Floats]:
    """Sums and counts of each unit, shapes (units, pairs or systems)."""
    matrix = contrast.matrix
    if not contrast.paired:
        sums = contrast.sign * np.add.reduceat(matrix.score * matrix.present, matrix.starts, axis=1)
        return _sum_by_unit(sums.T, unit, n_units), _sum_by_unit(
            matrix.n_segments_by_document().T.astype(np.float64), unit, n_units
        )
    first, second = list_all_system_pairs(len(matrix.systems))
    sums, counts = np.zeros((matrix.n_documents, first.size)), np.zeros((matrix.n_documents, first.size))
    for mask, pairs in iterate_common_segment_masks(matrix):
        systems, ends = np.unique((first[pairs], second[pairs]), return_inverse=True)
        scores = contrast.sign * np.add.reduceat(np.where(mask, matrix.score[systems], 0.0), matrix.starts, axis=1)
        lowest, highest = ends.reshape(2, -1)
        sums[:, pairs] = (scores[lowest] - scores[highest]).T
        counts[:, pairs] = np.add.reduceat(mask.astype(np.float64), matrix.starts)[:, None]
    return _sum_by_unit(sums, unit, n_units), _sum_by_unit(counts, unit, n_units)


def _sum_by_unit(values: Floats, unit: Indices, n_units: int) -> Floats:
    if n_units == len(values):
        return values
    gathered = np.zeros((n_units, values.shape[1]))
    np.add.at(gathered, unit, values)
    return gathered


def _cells(matrix: ScoreMatrix, scores: SegmentScores, columns: Indices) -> tuple[Floats, Bools]:
    """Lay out segment scores on some columns of the matrix; shapes (S, columns)."""
    shape = (len(matrix.systems), columns.size)
    score, present = np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    order = np.argsort(matrix.systems)
    row = order[np.searchsorted(matrix.systems[order], scores.system)]
    column = np.searchsorted(matrix.segments[columns], scores.segment)
    score[row, column], present[row, column] = scores.score, True
    return score, present


class _RowsByRater:
    """Index of rows by rater, which finds the rows on a rater's segments without scanning all rows for each rater."""

    def __init__(self, ratings: Ratings) -> None:
        self.ratings = ratings
        self.by_segment = np.argsort(ratings.segment, kind="stable")
        n_segments = len(ratings.labels.segment_document)
        self.starts = np.searchsorted(ratings.segment[self.by_segment], np.arange(n_segments + 1))
        self.by_rater = np.argsort(ratings.rater, kind="stable")
        self.ends = np.searchsorted(ratings.rater[self.by_rater], np.arange(len(ratings.labels.raters) + 1))

    def others(self, rater: int) -> tuple[Indices, Indices]:
        """Return the rows by other raters on the segments of `rater`, in canonical order, and these segments."""
        own = self.by_rater[self.ends[rater] : self.ends[rater + 1]]
        segments = np.unique(self.ratings.segment[own])
        first, n = self.starts[segments], self.starts[segments + 1] - self.starts[segments]
        at = np.repeat(first - np.concatenate(([0], np.cumsum(n)[:-1])), n) + np.arange(int(n.sum()))
        rows = self.by_segment[at]
        return np.sort(rows[self.ratings.rater[rows] != rater]), segments.astype(np.intp)
