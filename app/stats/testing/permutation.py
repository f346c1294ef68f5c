"""Sign permutation of paired differences: by document (Riley et al. 2024, §5), or by segment (Marot).

Swapping the labels of two systems on a whole document changes the sign of its sum of differences. One sign matrix
serves all pairs: with the document sums X (systems × documents) a permutation of every pair is a difference of two
columns of F·Xᵀ, so the work grows with the systems and not with the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import numpy.typing as npt

from app.stats.aggregate import Indices
from app.stats.ratings import Floats

MOST_PERMUTATIONS = 1_000_000
_CHUNK_BYTES = 8 << 20
_CACHE_BYTES = 1 << 19
_TILE, _TILE_ROWS = 1 << 11, 1 << 9
"""Units and permutations of one product, used above `_MOST_UNITS` units, where a chunk would hold few permutations."""
_MOST_UNITS = 1 << 14
_DIFFERENCES = 1 << 20  # of pairs and units, in memory at once

Tallies = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairsWithSameSegments:
    """Pairs of systems that share the same segments.

    sums: sums of scores over the shared segments, shape (systems, units), 0 in units that they do not share; larger is
    better. first, second: rows of `sums`, one entry per pair. pair: index of each pair in the results. units: the units
    that hold a shared segment. weights: number (or weight) of the shared segments of each unit, shape (units,); None
    means 1 in each of `units`.
    """

    sums: Floats
    first: Indices
    second: Indices
    pair: Indices
    units: Indices
    weights: Floats | None = None

    def unit_weights(self) -> Floats:
        """Number (or weight) of shared segments of each unit, 0 in units that are not shared."""
        if self.weights is not None:
            return self.weights
        ones = np.zeros(self.sums.shape[1])
        ones[self.units] = 1.0
        return ones

    def differences(self, pairs: slice = slice(None)) -> Floats:
        """first − second for each pair, or for some of them, and each unit, shape (pairs, units)."""
        return self.sums[self.first[pairs]] - self.sums[self.second[pairs]]

    def sum_differences(self, *, squared: bool = False) -> Floats:
        """Σ over the units of the difference, or of its square, for each pair; shape (pairs,)."""
        step, parts = max(1, _DIFFERENCES // max(self.sums.shape[1], 1)), [np.empty(0)]
        for start in range(0, self.pair.size, step):
            apart = self.differences(slice(start, start + step))
            parts.append((apart * apart if squared else apart).sum(axis=1))
        return np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class PermutationCounts:
    """How the permuted sums compare with the observed one, for each pair.

    beyond: number of permutations with sum ≥ observed, or, two-sided, |sum| ≥ |observed|. reverse: with sum ≤ observed,
    None if two-sided. total: number of permutations. exact: all 2^units were enumerated, including the observed one.
    """

    beyond: Tallies
    reverse: Tallies | None
    total: Tallies
    exact: npt.NDArray[np.bool_]

    def p_values(self, *, plus_one: bool) -> Floats:
        """p of `beyond`: #/2^D if enumerated, else (# + 1)/(B + 1), or #/B without `plus_one`."""
        return self._p(self.beyond, plus_one=plus_one)

    def reverse_p_values(self, *, plus_one: bool) -> Floats:
        """p of `reverse` in the same way; NaN if two-sided."""
        if self.reverse is None:
            return np.full(self.total.size, np.nan)
        return self._p(self.reverse, plus_one=plus_one)

    def _p(self, counts: Tallies, *, plus_one: bool) -> Floats:
        add = np.where(self.exact | (not plus_one), 0, 1)
        return np.asarray((counts + add) / (self.total + add), dtype=np.float64)


def compute_permutations_needed(hypotheses: int, alpha: float) -> int:
    """max(10 000, ⌈20·m/α⌉): with m hypotheses the smallest adjusted p, m/(B + 1), is at most α/20. Our own choice."""
    return max(10_000, ceil(20 * hypotheses / alpha))


def cap_number_of_permutations(hypotheses: int, alpha: float) -> int:
    """`compute_permutations_needed`, at most 10⁶."""
    return min(compute_permutations_needed(hypotheses, alpha), MOST_PERMUTATIONS)


def count_extreme_permuted_sums(
    blocks: Sequence[PairsWithSameSegments],
    n_pairs: int,
    n_units: int,
    *,
    permutations: int,
    seed: int,
    two_sided: bool,
    enumerate_small: bool = True,
) -> PermutationCounts:
    """Count permuted sums of every pair against the observed sum.

    Signs are drawn once and shared by all blocks; a block with 2^units ≤ permutations is enumerated instead.
    Equality has a tolerance of 1e-9·max(1, |observed sum|).

    Sources: Riley et al. 2024, §5; the fast path is the matrix form of their statistic.
    """
    beyond, reverse = np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs, dtype=np.int64)
    counts = PermutationCounts(
        beyond,
        None if two_sided else reverse,
        total=np.full(n_pairs, permutations, dtype=np.int64),
        exact=np.zeros(n_pairs, dtype=np.bool_),
    )
    sampled, enumerated = list[PairsWithSameSegments](), dict[int, list[PairsWithSameSegments]]()
    for block in blocks:
        if enumerate_small and block.units.size < 63 and 2**block.units.size <= permutations:
            counts.total[block.pair], counts.exact[block.pair] = 2**block.units.size, True
            # Blocks with equally many units share the patterns, even if the units differ.
            enumerated.setdefault(block.units.size, []).append(replace(block, sums=block.sums[:, block.units]))
        else:
            sampled.append(block)
    for size, alike in enumerated.items():
        stack = _Stack(alike)
        for flips in iterate_all_sign_patterns(size, _rows_at_once(stack)):
            stack.count(flips, counts)
    if sampled:
        stack = _Stack(sampled)
        if n_units > _MOST_UNITS:
            for drawn in _draw_packed_patterns(n_units, permutations, seed, _TILE_ROWS):
                stack.count_packed(drawn, counts)
        else:
            for flips in sample_sign_patterns(n_units, permutations, seed, _rows_at_once(stack)):
                stack.count(flips, counts)
    return counts


@dataclass(frozen=True, slots=True)
class _StackPart:
    """Rows of a stack and the pairs made of them: row first − row second, or one pair per row if `ends` is None."""

    rows: Floats
    observed: Floats
    pair: Indices
    ends: tuple[Indices, Indices] | None = None


class _Stack:
    """The stacked sums of several blocks, so that one product permutes them all."""

    def __init__(self, blocks: Sequence[PairsWithSameSegments]) -> None:
        # A block with fewer pairs than systems is cheaper as differences. If every pair has its own segments, all
        # blocks are such, and one part holds them all: handling them one by one would cost more than the computation.
        small = [block for block in blocks if block.pair.size <= len(block.sums)]
        parts = [_stack_part_of_block(block) for block in blocks if block.pair.size > len(block.sums)]
        self.parts = [*parts, *([_stack_part_of_pairs(small)] if small else [])]
        rows = [part.rows for part in self.parts]
        self.matrix = np.ascontiguousarray(rows[0]) if len(rows) == 1 else np.concatenate(rows)
        self.totals = self.matrix.sum(axis=1, keepdims=True)
        self.ends = np.cumsum([len(part.rows) for part in self.parts])

    def count(self, flips: Floats, counts: PermutationCounts) -> None:
        """Add the permutations `flips` (1 keeps the sign of a unit, 0 changes it; shape (n, units)) to `counts`."""
        self._compare(self.matrix @ flips.T, counts)

    def count_packed(self, drawn: npt.NDArray[np.uint8], counts: PermutationCounts) -> None:
        """Add packed permutations to `counts`, some units at a time; sums then differ in their last digits."""
        n_units = self.matrix.shape[1]
        kept = np.zeros((len(self.matrix), len(drawn)))
        for start in range(0, n_units, _TILE):
            end = min(start + _TILE, n_units)
            flips = np.unpackbits(drawn[:, start // 8 : -(-end // 8)], axis=1, count=end - start)
            kept += self.matrix[:, start:end] @ flips.astype(np.float64).T
        self._compare(kept, counts)

    def _compare(self, kept: Floats, counts: PermutationCounts) -> None:
        """Compare the sums of the units that keep their sign, shape (rows, n), with the observed ones."""
        # Take a few pairs at a time, so that the arrays after the product stay in the processor's cache.
        step = max(1, _CACHE_BYTES // (8 * kept.shape[1]))
        for part, rows, totals in zip(
            self.parts, np.split(kept, self.ends), np.split(self.totals, self.ends), strict=False
        ):
            sums = rows if part.ends is None else 2.0 * rows - totals
            for start in range(0, part.pair.size, step):
                pairs = slice(start, start + step)
                if part.ends is None:
                    apart = 2.0 * sums[pairs] - totals[pairs]
                else:
                    apart = sums[part.ends[0][pairs]] - sums[part.ends[1][pairs]]
                _compare(apart, part.observed[pairs], part.pair[pairs], counts)


def _stack_part_of_block(block: PairsWithSameSegments) -> _StackPart:
    return _StackPart(block.sums, block.sum_differences(), block.pair, (block.first, block.second))


def _stack_part_of_pairs(blocks: Sequence[PairsWithSameSegments]) -> _StackPart:
    apart = [block.differences() for block in blocks]
    rows = np.ascontiguousarray(apart[0]) if len(apart) == 1 else np.concatenate(apart)
    return _StackPart(rows, rows.sum(axis=1), np.concatenate([block.pair for block in blocks]))


def _compare(permuted: Floats, observed: Floats, pair: Indices, counts: PermutationCounts) -> None:
    tolerance = 1e-9 * np.maximum(1.0, np.abs(observed))
    if counts.reverse is None:
        counts.beyond[pair] += (np.abs(permuted) >= (np.abs(observed) - tolerance)[:, None]).sum(axis=1)
    else:
        counts.beyond[pair] += (permuted >= (observed - tolerance)[:, None]).sum(axis=1)
        counts.reverse[pair] += (permuted <= (observed + tolerance)[:, None]).sum(axis=1)


def _rows_at_once(stack: _Stack) -> int:
    """Return the number of permutations that fit into one chunk, with their signs and sums."""
    return max(1, _CHUNK_BYTES // (8 * int(max(1, *stack.matrix.shape))))


def sample_sign_patterns(n_units: int, permutations: int, seed: int, chunk: int) -> Iterator[Floats]:
    """Yield random 0/1 rows in chunks. A row takes whole 64-bit words, so results do not depend on the chunk size."""
    for drawn in _draw_packed_patterns(n_units, permutations, seed, chunk):
        yield np.unpackbits(drawn, axis=1, count=n_units).astype(np.float64)


def _draw_packed_patterns(n_units: int, permutations: int, seed: int, chunk: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield random rows in chunks, packed eight units to a byte."""
    rng = np.random.Generator(np.random.PCG64(seed))
    row_bytes = 8 * ceil(n_units / 64)
    for start in range(0, permutations, chunk):
        rows = min(chunk, permutations - start)
        yield np.frombuffer(rng.bytes(rows * row_bytes), dtype=np.uint8).reshape(rows, row_bytes)


def iterate_all_sign_patterns(n_units: int, chunk: int) -> Iterator[Floats]:
    """Yield all 2^n rows of 0 and 1 in chunks."""
    for start in range(0, 2**n_units, chunk):
        numbers = np.arange(start, min(start + chunk, 2**n_units), dtype=np.int64)[:, None]
        yield ((numbers >> np.arange(n_units)) & 1).astype(np.float64)
