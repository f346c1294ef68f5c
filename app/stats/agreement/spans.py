"""Whether raters mark the same spans of a text: by character, and by marked error.

Source: WMT25 metrics shared task (character F1); Kocmi et al. 2024 (overlap, same severity, same category).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.agreement.pairs import compute_masked_row_means
from app.stats.agreement.units import Indices, OfDocuments
from app.stats.ratings import Codes, Floats

MINOR, MAJOR = 0, 1
_CELLS = 1 << 20
HALF = 0.5
"""Credit for a character that both raters marked with different severities."""


@dataclass(frozen=True, slots=True)
class MarkedJudgments:
    """Judgments of texts, and the marks in them.

    unit, rater, document: of each judgment, sorted by unit and rater; a unit is a text (the output, or its source).
    row: judgment of each mark, sorted. start, end: code points, half open. grave: 1 major (or critical), 0 minor.
    category: code, −1 for none. n_documents: of the weights. skipped: marks without a position or a known severity.
    """

    unit: Codes
    rater: Codes
    document: Codes
    row: Codes
    start: Codes
    end: Codes
    grave: Codes
    category: Codes
    n_documents: int
    raters: tuple[str, ...]
    skipped: int = 0

    def judgment_pairs(self) -> tuple[Indices, Indices]:
        """All pairs of judgments of one text; the rater with the lower code comes first."""
        first, second = [], []
        size = int(np.bincount(self.unit).max(initial=0))
        for lag in range(1, size):
            at = np.flatnonzero(self.unit[:-lag] == self.unit[lag:])
            first.append(at)
            second.append(at + lag)
        empty = np.empty(0, dtype=np.intp)
        return np.concatenate(first or [empty]), np.concatenate(second or [empty])


@dataclass(frozen=True, slots=True)
class CharacterOverlaps:
    """For every pair of judgments, shape (P,): shared credit and the characters that each of the two marked.

    first, second: judgments. credit, of_first, of_second: a character counts once for each mark on it.
    """

    first: Indices
    second: Indices
    credit: Floats
    of_first: Floats
    of_second: Floats


def count_character_overlaps(marked: MarkedJudgments) -> CharacterOverlaps:
    """Credit each character: the smaller number of marks per severity in full, overlap across severities by half."""
    first, second = marked.judgment_pairs()
    widths = _widths(marked)
    credit = np.zeros(first.size)
    mine, theirs = np.zeros(first.size), np.zeros(first.size)
    # A pair without any mark contributes nothing.
    marks = np.bincount(marked.row, minlength=marked.unit.size)
    work = np.flatnonzero((marks[first] > 0) | (marks[second] > 0))
    for some in _batches(work, widths[marked.unit[first[work]]]):
        length = widths[marked.unit[first[some]]]
        starts = np.cumsum(length) - length
        a = _mark_counts(marked, first[some], starts, int(length.sum()))
        b = _mark_counts(marked, second[some], starts, int(length.sum()))
        same = np.minimum(a, b)
        rest = np.minimum((a - same).sum(axis=0), (b - same).sum(axis=0))
        shared = same.sum(axis=0) + HALF * rest
        credit[some] = _segment_sums(shared, starts)
        mine[some] = _segment_sums(a.sum(axis=0), starts)
        theirs[some] = _segment_sums(b.sum(axis=0), starts)
    return CharacterOverlaps(first, second, credit, mine, theirs)


def _widths(marked: MarkedJudgments) -> Indices:
    """Length of each text up to the end of its last mark, at least one character."""
    width = np.ones(int(marked.unit.max(initial=-1)) + 1, dtype=np.intp)
    np.maximum.at(width, marked.unit[marked.row], marked.end)
    return width


def _batches(work: Indices, widths: Indices) -> list[Indices]:
    cut = np.flatnonzero(np.diff(np.cumsum(widths) // _CELLS)) + 1
    return [part for part in np.split(work, cut) if part.size]


def _mark_counts(marked: MarkedJudgments, judgments: Indices, starts: Indices, cells: int) -> Floats:
    """Number of marks on each character, by severity; the judgments' texts are concatenated, shape (2, cells)."""
    low = np.searchsorted(marked.row, judgments)
    times = np.searchsorted(marked.row, judgments, side="right") - low
    at = np.repeat(np.arange(judgments.size), times)
    mark = np.arange(at.size) - np.repeat(np.cumsum(times) - times, times) + np.repeat(low, times)
    edges = np.zeros((2, cells + 1))
    np.add.at(edges, (marked.grave[mark], starts[at] + marked.start[mark]), 1.0)
    np.add.at(edges, (marked.grave[mark], starts[at] + marked.end[mark]), -1.0)
    return np.asarray(np.cumsum(edges, axis=1)[:, :-1], dtype=np.float64)


def _segment_sums(values: Floats, starts: Indices) -> Floats:
    return np.asarray(np.add.reduceat(values, starts), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class MarkOverlapCounts:
    """Counts of one rater's marks on texts that another judged too, in both directions, by document, shape (D, 4).
    Columns: all marks; those that overlap a mark of the other rater; one of the same severity; of the same category."""

    sums: Floats


def count_mark_overlaps(marked: MarkedJudgments) -> MarkOverlapCounts:
    """Compare each mark with the marks of the other judgment; an empty mark counts as one character."""
    first, second = marked.judgment_pairs()
    sums = np.zeros((marked.n_documents, 4))
    for mine, other in ((first, second), (second, first)):
        low = np.searchsorted(marked.row, mine)
        times = np.searchsorted(marked.row, mine, side="right") - low
        pair = np.repeat(np.arange(mine.size), times)
        mark = np.arange(pair.size) - np.repeat(np.cumsum(times) - times, times) + np.repeat(low, times)
        kinds = _overlap_kinds(marked, mark, other[pair])
        np.add.at(sums, marked.document[mine[pair]], np.column_stack((np.ones(mark.size), kinds)))
    return MarkOverlapCounts(sums)


def _overlap_kinds(marked: MarkedJudgments, mark: Indices, other: Indices) -> Floats:
    """Whether each mark overlaps any mark of a judgment, one of the same severity, and one of the same category."""
    low = np.searchsorted(marked.row, other)
    times = np.searchsorted(marked.row, other, side="right") - low
    at = np.repeat(np.arange(mark.size), times)
    theirs = np.arange(at.size) - np.repeat(np.cumsum(times) - times, times) + np.repeat(low, times)
    mine = mark[at]
    # An empty span, which clipping can leave, counts as one character.
    end, other_end = (np.maximum(marked.end[m], marked.start[m] + 1) for m in (mine, theirs))
    shared = (marked.start[mine] < other_end) & (marked.start[theirs] < end)
    like = marked.grave[mine] == marked.grave[theirs]
    kind = (marked.category[mine] == marked.category[theirs]) & (marked.category[mine] >= 0)
    out = np.zeros((mark.size, 3))
    for i, matches in enumerate((shared, shared & like, shared & kind)):
        out[:, i] = np.bincount(at[matches], minlength=mark.size) > 0
    return out


def character_f1(marked: MarkedJudgments, overlaps: CharacterOverlaps) -> OfDocuments:
    """Micro F1 over all characters: 2·credit/(marked by the first + by the second); 1 if no rater marked anything.

    F1 needs no gold standard: swapping the raters swaps precision and recall and leaves F1 the same.
    """
    document = marked.document[overlaps.first]
    sums = np.zeros((marked.n_documents, 3))
    np.add.at(
        sums,
        document,
        np.column_stack(
            (
                2 * overlaps.credit,
                overlaps.of_first + overlaps.of_second,
                np.ones(document.size),
            )
        ),
    )

    def value(weights: Floats) -> Floats:
        credit, total, pairs = (weights @ sums).T
        f1 = np.where(total > 0, credit / np.maximum(total, HALF), 1.0)
        return np.where(pairs > 0, f1, np.nan)

    return value


def mark_overlap_shares(overlaps: MarkOverlapCounts) -> dict[str, OfDocuments]:
    """Share of marks that overlap one of the other rater; of these, the shares with the same severity or category."""

    def of(part: int, whole: int) -> OfDocuments:
        def value(weights: Floats) -> Floats:
            total = weights @ overlaps.sums
            return compute_masked_row_means(
                (total[:, [part]] / np.maximum(total[:, [whole]], 1)), total[:, [whole]] > 0
            )

        return value

    return {"overlap": of(1, 0), "same_severity": of(2, 1), "same_category": of(3, 1)}
