"""Sums of scores by document, block by block: all that a ranking by documents needs, whatever the campaign's size.

A block holds whole documents. The functions that rank a whole campaign also reduce each block, and this module combines
the blocks. What a pair of systems has in common is summed separately, because it does not follow from the two systems'
own sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from app.domain.recipe import Recipe
from app.stats.aggregate import (
    Indices,
    ScoreMatrix,
    SegmentScores,
    average_ratings_per_segment,
    make_score_matrix,
    round_scores,
)
from app.stats.inference.by_document import EstimatePrecision, estimate_ratio_precision
from app.stats.inference.rater_totals import RaterDocumentTotals, sum_ratings_by_rater_and_document
from app.stats.intervals import center_document_sums_across_systems
from app.stats.normalize import NormalizedRatings
from app.stats.ranking.effects import SuperiorityChances, count_better_segments
from app.stats.ratings import Codes, Floats, RatingLabels
from app.stats.testing.common_segments import CommonSegmentsByPair, iterate_common_segment_masks, list_all_system_pairs
from app.stats.testing.permutation import PairsWithSameSegments

_PAIRS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class DocumentTotals(ScoreMatrix):
    """A score matrix whose columns are documents: `score` is the sum over the segments of a document, shape (S, D).

    held: number of segments behind each sum, shape (S, D). Scores of single segments are not available.
    """

    held: Floats = field(kw_only=True)

    @classmethod
    def from_sums(cls, systems: Codes, sums: Floats, held: Floats, n: Codes, domain: Indices | None) -> Self:
        """Build the matrix from sums and numbers of segments, shapes (S, D)."""
        columns = np.arange(sums.shape[1])
        number = columns.astype(np.int32)
        return cls(systems, number, sums, held > 0, n, columns, columns, domain, held=held)

    def reorder_systems(self, order: Indices) -> Self:
        """Return the matrix with its systems in another order."""
        # `super()` fails here, because `dataclass(slots=True)` replaces the class by a new one.
        return replace(ScoreMatrix.reorder_systems(self, order), held=self.held[order])

    def n_segments_by_system(self) -> Indices:
        """Number of segments of each system, shape (S,)."""
        return np.asarray(self.held.sum(axis=1), dtype=np.intp)

    def system_means(self) -> Floats:
        """Mean of the segment scores of each system, shape (S,)."""
        return np.asarray(self.score.sum(axis=1) / self.held.sum(axis=1), dtype=np.float64)

    def document_sums(self) -> Floats:
        """Sum of the segment scores of each system in each document, shape (S, D)."""
        return self.score

    def document_weights(self) -> Floats:
        """Number of segments of each system in each document, shape (S, D)."""
        return self.held

    def n_segments_by_document(self) -> Indices:
        """Number of segments of each system in each document, shape (S, D)."""
        return self.held.astype(np.intp)


@dataclass(frozen=True, slots=True)
class SystemPairTotals:
    """What pairs of systems have in common in a block, shapes (pairs, D); pairs as in `list_all_system_pairs`.

    apart, raw_apart: sums of the first system minus those of the second. common: number of common segments.
    """

    apart: Floats
    raw_apart: Floats
    common: Floats


@dataclass(frozen=True, slots=True)
class BlockTotals:
    """Sums of one block of documents; systems in the order of their codes, pairs as in `list_all_system_pairs`.

    documents: codes of the D rated ones. sums, raw: sums of the segment scores that the recipe ranks by, and of raw
    ones, shape (S, D). held: number of segments behind the sums. n: ratings of each system. relative, relative_held: as
    in `center_document_sums_across_systems`, shapes (S, D) and (D,). pairs: None if every system has every
    segment. better: numbers of segments on which the first of a pair is better, the second is better, and both are
    present, shape (3, pairs). visits: None if segment scores are not means over raters. n_scored, n_dropped: numbers of
    ratings that were averaged, and of those left out because their rater's scores are constant.
    """

    documents: Codes
    sums: Floats
    raw: Floats
    held: Floats
    n: Codes
    relative: Floats
    relative_held: Floats
    pairs: SystemPairTotals | None
    better: Indices
    visits: RaterDocumentTotals | None
    n_scored: int
    n_dropped: int


def sum_document_block(normalized: NormalizedRatings, recipe: Recipe, systems: Codes, *, by_rater: bool) -> BlockTotals:
    """Reduce the normalized rows of a block of documents; normalized and raw rows are of the same outputs.

    systems : codes of all ranked systems, ascending. by_rater : whether to sum by rater and document, too.
    """
    scored, sign, median = normalized.scored, normalized.scored.better_sign, recipe.aggregate == "median"
    scores = average_ratings_per_segment(scored, repeats=recipe.repeats, median=median)
    matrix = raw = _lay_out(scores, scored.labels, systems)
    if normalized.raw is not scored:
        unscaled = average_ratings_per_segment(normalized.raw, repeats=recipe.repeats, median=median)
        raw = _lay_out(unscaled, scored.labels, systems)
    shape = (systems.size, matrix.n_documents)
    relative = center_document_sums_across_systems(matrix) or (np.zeros(shape), np.zeros(shape))
    return BlockTotals(
        documents=scored.labels.segment_document[matrix.segments[matrix.starts]],
        sums=matrix.document_sums(),
        raw=raw.document_sums(),
        held=matrix.document_weights(),
        n=matrix.n,
        relative=relative[0],
        relative_held=relative[1].max(axis=0, initial=0.0),
        pairs=None if matrix.is_complete else _sum_pairs(matrix, raw),
        better=count_better_segments(raw, sign * round_scores(raw.score)),
        visits=sum_ratings_by_rater_and_document(scored, systems) if by_rater else None,
        n_scored=len(scored),
        n_dropped=normalized.dropped,
    )


def _lay_out(scores: SegmentScores, labels: RatingLabels, systems: Codes) -> ScoreMatrix:
    """Return segment scores as a matrix with one row for each of `systems`, empty if the block lacks the system."""
    matrix = make_score_matrix(scores, labels)
    if matrix.systems.size == systems.size:
        return matrix
    row = np.searchsorted(systems, matrix.systems)
    shape = (systems.size, matrix.segments.size)
    score, present = np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    n = np.zeros(systems.size, dtype=np.int32)
    score[row], present[row], n[row] = matrix.score, matrix.present, matrix.n
    return replace(matrix, systems=systems, score=score, present=present, n=n)


def _sum_pairs(matrix: ScoreMatrix, raw: ScoreMatrix) -> SystemPairTotals:
    first, second = list_all_system_pairs(matrix.systems.size)
    shape = (first.size, matrix.n_documents)
    apart, raw_apart, common = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for mask, pairs in iterate_common_segment_masks(matrix):
        for scores, where in ((matrix.score, apart), (raw.score, raw_apart)):
            sums = np.add.reduceat(np.where(mask, scores, 0.0), matrix.starts, axis=1)
            where[pairs] = sums[first[pairs]] - sums[second[pairs]]
        common[pairs] = np.add.reduceat(mask.astype(np.float64), matrix.starts)
    return SystemPairTotals(apart, raw_apart, common)


@dataclass(frozen=True, slots=True)
class CampaignTotals:
    """All blocks of a campaign combined, in ranking order.

    matrix, raw: sums of the scores that the recipe ranks by, and of raw ones. order: position of each system among the
    ascending codes. documents: label codes of the D documents.
    """

    matrix: DocumentTotals
    raw: DocumentTotals
    relative: tuple[Floats, Floats] | None
    shared: CommonSegmentsByPair
    raw_shared: CommonSegmentsByPair
    chances: SuperiorityChances
    visits: tuple[RaterDocumentTotals, ...]
    order: Indices
    documents: Codes
    n_scored: int
    n_dropped: int


def combine_block_totals(
    blocks: Sequence[BlockTotals], systems: Codes, sign: int, *, scaled: bool, domains: Codes | None
) -> CampaignTotals:
    """Combine blocks, at least one, in the order of their documents, into totals in ranking order.

    systems : codes, ascending. sign : +1 where a larger score is better. scaled : whether scores differ from raw ones.
    domains : code of each document label.
    """
    documents = np.concatenate([block.documents for block in blocks])
    sums = np.concatenate([block.sums for block in blocks], axis=1)
    held = np.concatenate([block.held for block in blocks], axis=1)
    n = np.stack([block.n for block in blocks]).sum(axis=0, dtype=np.int32)
    domain = None if domains is None else np.asarray(domains[documents], dtype=np.intp)
    matrix = DocumentTotals.from_sums(systems, sums, held, n, domain)
    order = np.lexsort((systems, -sign * round_scores(matrix.system_means())))
    turned = _TurnedPairs.of(order)
    matrix = raw = matrix.reorder_systems(order)
    if scaled:
        raw = replace(matrix, score=np.concatenate([block.raw for block in blocks], axis=1)[order])
    relative = np.concatenate([block.relative for block in blocks], axis=1)[order]
    relative_held = np.concatenate([block.relative_held for block in blocks])
    shared = _share(matrix, blocks, turned, sign, raw=False)
    better = np.stack([block.better for block in blocks]).sum(axis=0)
    return CampaignTotals(
        matrix=matrix,
        raw=raw,
        relative=(relative, np.broadcast_to(relative_held, relative.shape)) if relative_held.any() else None,
        shared=shared,
        raw_shared=_share(raw, blocks, turned, sign, raw=True) if scaled else shared,
        chances=turned.chances(better),
        visits=tuple(block.visits for block in blocks if block.visits is not None),
        order=order,
        documents=documents,
        n_scored=sum(block.n_scored for block in blocks),
        n_dropped=sum(block.n_dropped for block in blocks),
    )


@dataclass(frozen=True, slots=True)
class _TurnedPairs:
    """Pairs in ranking order. at: index of each among the pairs by code. turned: pairs whose systems swap places."""

    at: Indices
    turned: Indices

    @classmethod
    def of(cls, order: Indices) -> Self:
        """Build it from the ranking order of the systems."""
        first, second = list_all_system_pairs(order.size)
        low, high = np.minimum(order[first], order[second]), np.maximum(order[first], order[second])
        at = low * order.size - low * (low + 1) // 2 + high - low - 1
        return cls(at, np.flatnonzero(order[first] > order[second]))

    def chances(self, better: Indices) -> SuperiorityChances:
        """Return the chances from numbers of segments, shape (3, pairs)."""
        better = better[:, self.at]
        better[:2, self.turned] = better[1::-1, self.turned]
        above, below, n = better
        with np.errstate(invalid="ignore", divide="ignore"):
            return SuperiorityChances(above / n, (n - above - below) / n, below / n)


def _share(
    matrix: DocumentTotals, blocks: Sequence[BlockTotals], turned: _TurnedPairs, sign: int, *, raw: bool
) -> CommonSegmentsByPair:
    """Return what pairs have in common, as `reduce_pairs_to_common_segments` does by document."""
    first, second = list_all_system_pairs(matrix.systems.size)
    if all(block.pairs is None for block in blocks) and first.size:
        weight = matrix.held[0]
        whole = PairsWithSameSegments(
            sign * matrix.score, first, second, np.arange(first.size), np.flatnonzero(weight), weight
        )
        pair_blocks: tuple[PairsWithSameSegments, ...] = (whole,)
    else:
        pair_blocks = tuple(_blocks_of_pairs(matrix, blocks, turned, sign, raw=raw))
    difference, error = np.full(first.size, np.nan), np.full(first.size, np.nan)
    degrees, effective = np.zeros(first.size), np.zeros(first.size)
    segments, documents = np.zeros(first.size, dtype=np.intp), np.zeros(first.size, dtype=np.intp)
    for block in pair_blocks:
        weight = block.unit_weights()
        segments[block.pair], documents[block.pair] = weight.sum(), block.units.size
        # Take a few pairs at a time, because each has a column for every document.
        for start in range(0, block.pair.size, _PAIRS_AT_ONCE):
            some = slice(start, start + _PAIRS_AT_ONCE)
            apart, pair = block.sums[block.first[some]] - block.sums[block.second[some]], block.pair[some]
            difference[pair] = apart.sum(axis=1) / weight.sum()
            known = estimate_ratio_precision(apart, weight)
            error[pair], degrees[pair], effective[pair] = known.error, known.degrees, known.effective
    n = matrix.n_segments_by_system()
    share = segments / (n[first] + n[second] - segments)
    known = EstimatePrecision(error, degrees, documents, effective)
    return CommonSegmentsByPair(difference, known, segments, share, pair_blocks, pair_blocks)


def _blocks_of_pairs(
    matrix: DocumentTotals, blocks: Sequence[BlockTotals], turned: _TurnedPairs, sign: int, *, raw: bool
) -> list[PairsWithSameSegments]:
    """Return a block for each pair with a common segment, because the common segments may differ by pair."""
    first, second = list_all_system_pairs(matrix.systems.size)
    ends = np.cumsum([block.documents.size for block in blocks])
    signs = np.full(first.size, float(sign))
    signs[turned.turned] *= -1
    made = []
    for pair in range(first.size):
        apart = sign * (matrix.score[first[pair]] - matrix.score[second[pair]])
        common = matrix.held[first[pair]].copy()
        for block, end in zip(blocks, ends, strict=True):
            if block.pairs is not None:
                here = slice(end - block.documents.size, end)
                of_pair = block.pairs.raw_apart if raw else block.pairs.apart
                apart[here] = signs[pair] * of_pair[turned.at[pair]]
                common[here] = block.pairs.common[turned.at[pair]]
        held = np.flatnonzero(common)
        if held.size:
            ends_of_pair = np.array([0]), np.array([1])
            sums = np.stack((apart, np.zeros_like(apart)))
            made.append(PairsWithSameSegments(sums, *ends_of_pair, np.array([pair]), held, common))
    return made
