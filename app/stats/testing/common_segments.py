"""The data that count for a pair of systems: their common segments, reduced to what the tests need.

Pairs are (first, second) with the first ranked higher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.aggregate import Indices, ScoreMatrix
from app.stats.inference.by_document import EstimatePrecision, estimate_ratio_precision
from app.stats.ratings import Bools, Floats
from app.stats.testing.permutation import PairsWithSameSegments

_CHUNK = 1 << 20
_PAIRS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class CommonSegmentsByPair:
    """What the two systems of each pair have in common; arrays of shape (pairs,).

    difference: mean over common segments, first minus second, positive if the first is better; NaN without any.
    precision: of the difference, by documents. segments: number of common ones. share: of the segments that either has.
    blocks: sums for the sign permutation, by the requested unit; by_document: the same by document. linked: whether a
    chain of raters links the two systems; None if not requested.
    """

    difference: Floats
    precision: EstimatePrecision
    segments: Indices
    share: Floats
    blocks: tuple[PairsWithSameSegments, ...]
    by_document: tuple[PairsWithSameSegments, ...]
    linked: Bools | None = None

    @property
    def n_common_documents(self) -> Indices:
        """Number of common documents of each pair."""
        return self.precision.documents


def iterate_pair_differences_in_batches(
    blocks: Sequence[PairsWithSameSegments],
) -> Iterator[tuple[Indices, Floats, Floats]]:
    """Yield pairs with their differences and weights by unit, shapes (pairs, units), many small blocks at a time.

    If every pair has its own segments, each has its own block, and processing one pair costs as much as processing
    hundreds.
    """
    held: list[PairsWithSameSegments] = []
    for n, block in enumerate(blocks, 1):
        held.append(block)
        if n == len(blocks) or sum(b.pair.size for b in held) >= _PAIRS_AT_ONCE:
            pairs = np.concatenate([b.pair for b in held])
            ends = np.cumsum([b.pair.size for b in held])
            for start in range(0, pairs.size, _PAIRS_AT_ONCE):
                stop = min(start + _PAIRS_AT_ONCE, pairs.size)
                some = [
                    (b, slice(max(start - end + b.pair.size, 0), stop - end + b.pair.size))
                    for b, end in zip(held, ends.tolist(), strict=True)
                    if start < end and stop > end - b.pair.size
                ]
                apart = [b.differences(rows) for b, rows in some]
                weights = [
                    np.broadcast_to(b.unit_weights(), one.shape) for (b, _), one in zip(some, apart, strict=True)
                ]
                yield pairs[start:stop], np.concatenate(apart), np.concatenate(weights)
            held = []


def list_all_system_pairs(n_systems: int) -> tuple[Indices, Indices]:
    """Return every pair once, the first ranked higher."""
    first, second = np.triu_indices(n_systems, k=1)
    return first, second


def reduce_pairs_to_common_segments(matrix: ScoreMatrix, sign: int, *, unit: str) -> CommonSegmentsByPair:
    """Reduce each pair to its common segments.

    d_D = Σ_{common segments of D} w·(x_A − x_B), n_D their number (or weight), Δ = Σd_D/Σn_D.

    Parameters
    ----------
    matrix : systems in ranking order.
    sign : +1 where a larger score is better, −1 where smaller is.
    unit : `document` or `segment`, the columns of the blocks.

    w is 1, or, in a macro mean over domains, 1/(number of domains · segments of the domain) among the common segments.
    """
    first, second = list_all_system_pairs(len(matrix.systems))
    difference, error = np.full(first.size, np.nan), np.full(first.size, np.nan)
    degrees, effective = np.zeros(first.size), np.zeros(first.size)
    segments, documents = np.zeros(first.size, dtype=np.intp), np.zeros(first.size, dtype=np.intp)
    blocks, documented = list[PairsWithSameSegments](), list[PairsWithSameSegments]()
    for mask, pair in iterate_common_segment_masks(matrix):
        importance = matrix.segment_weights(mask)
        systems, rows = np.unique(np.concatenate((first[pair], second[pair])), return_inverse=True)
        scores = np.where(mask, matrix.score[systems] * (sign * importance), 0.0)
        sums = np.add.reduceat(scores, matrix.starts, axis=1)
        held = np.add.reduceat(mask.astype(np.intp), matrix.starts) > 0
        ends = (rows[: pair.size], rows[pair.size :])
        weight = np.add.reduceat(importance, matrix.starts)
        by_document = PairsWithSameSegments(sums, *ends, pair, np.flatnonzero(held), weight)
        step = max(1, _CHUNK // weight.size)
        for start in range(0, pair.size, step):
            some = slice(start, start + step)
            apart = by_document.differences(some)
            difference[pair[some]] = apart.sum(axis=1) / weight.sum()
            known = estimate_ratio_precision(apart, weight)
            error[pair[some]], degrees[pair[some]] = known.error, known.degrees
            effective[pair[some]] = known.effective
        segments[pair], documents[pair] = mask.sum(), held.sum()
        documented.append(by_document)
        blocks.append(
            by_document
            if unit == "document"
            else PairsWithSameSegments(scores, *ends, pair, np.flatnonzero(mask), importance)
        )
    n = matrix.n_segments_by_system()
    share = segments / (n[first] + n[second] - segments)
    known = EstimatePrecision(error, degrees, documents, effective)
    return CommonSegmentsByPair(difference, known, segments, share, tuple(blocks), tuple(documented))


def iterate_common_segment_masks(matrix: ScoreMatrix) -> Iterator[tuple[Bools, Indices]]:
    """Yield masks of common segments with their pairs; pairs without a common segment are left out."""
    first, second = list_all_system_pairs(len(matrix.systems))
    if matrix.is_complete:
        if first.size:
            yield np.ones(matrix.segments.size, dtype=np.bool_), np.arange(first.size)
        return
    packed = np.packbits(matrix.present, axis=1)
    groups: dict[bytes, list[int]] = {}
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        groups.setdefault((packed[i] & packed[j]).tobytes(), []).append(pair)
    for pairs in groups.values():
        mask = matrix.present[first[pairs[0]]] & matrix.present[second[pairs[0]]]
        if mask.any():
            yield mask, np.array(pairs, dtype=np.intp)


def compute_document_means_of_system(matrix: ScoreMatrix, system: int, mask: Bools, sign: int) -> Floats:
    """Means by document of a system where `mask`, shape (segments,), is true; larger is better.

    The shape is (documents with such a segment,); other documents are left out.
    """
    sums = np.add.reduceat(np.where(mask, matrix.score[system], 0.0), matrix.starts)
    counts = np.add.reduceat(mask.astype(np.intp), matrix.starts)
    held = counts > 0
    return np.asarray(sign * sums[held] / counts[held], dtype=np.float64)


def group_scores_by_common_units(
    matrix: ScoreMatrix, sign: int, *, unit: str, where: Bools | None = None
) -> Iterator[tuple[Indices, tuple[Indices, Indices], Floats]]:
    """Yield scores on common units, one mask at a time: pairs, the rows of their two systems, scores (rows, units).

    Parameters
    ----------
    unit : `segment`, or `document` for means over the common segments of a document.
    where : only these segments, shape (G,).
    """
    first, second = list_all_system_pairs(len(matrix.systems))
    for mask, pairs in iterate_common_segment_masks(matrix):
        used = mask if where is None else mask & where
        if not used.any():
            continue
        systems, rows = np.unique(np.concatenate((first[pairs], second[pairs])), return_inverse=True)
        if unit == "segment":
            scores = sign * matrix.score[np.ix_(systems, np.flatnonzero(used))]
        else:
            scores = np.stack([compute_document_means_of_system(matrix, i, used, sign) for i in systems])
        yield pairs, (rows[: pairs.size], rows[pairs.size :]), scores


def iterate_common_unit_differences(
    matrix: ScoreMatrix, sign: int, *, unit: str, where: Bools | None = None
) -> Iterator[tuple[Indices, Floats]]:
    """Yield the differences of each pair on its common units, unweighted: pairs, and shape (pairs, units).

    unit, where: as in `group_scores_by_common_units`.
    """
    for pairs, (first, second), scores in group_scores_by_common_units(matrix, sign, unit=unit, where=where):
        step = max(1, _CHUNK // scores.shape[1])
        for start in range(0, pairs.size, step):
            some = slice(start, start + step)
            yield pairs[some], scores[first[some]] - scores[second[some]]
