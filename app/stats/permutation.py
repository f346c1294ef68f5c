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


@dataclass(frozen=True, slots=True)
class Block:
    """Pairs of systems that share the same segments.

    sums: sums of scores over the shared segments, shape (systems, units), 0 in units that they do not share; larger
    is better. first, second: rows of `sums`, one entry a pair. pair: where the result of each pair goes.
    units: the units that hold a shared segment.
    """

    sums: Floats
    first: Indices
    second: Indices
    pair: Indices
    units: Indices

    def differences(self) -> Floats:
        """first − second for each pair and unit, shape (pairs, units)."""
        return self.sums[self.first] - self.sums[self.second]


@dataclass(frozen=True, slots=True)
class Counts:
    """How the permuted sums compare with the observed one, for each pair.

    at_least: permutations with a sum ≥ the observed. at_most: ≤. as_extreme: |sum| ≥ |observed|.
    total: number of permutations. exact: all 2^units were enumerated, the observed one among them.
    """

    at_least: npt.NDArray[np.int64]
    at_most: npt.NDArray[np.int64]
    as_extreme: npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]
    exact: npt.NDArray[np.bool_]

    def p_values(self, counts: npt.NDArray[np.int64], *, plus_one: bool) -> Floats:
        """Counts as p-values: #/2^D where enumerated, else (# + 1)/(B + 1), or #/B without `plus_one`."""
        add = np.where(self.exact | (not plus_one), 0, 1)
        return np.asarray((counts + add) / (self.total + add), dtype=np.float64)


def number_of_permutations(hypotheses: int, alpha: float) -> int:
    """max(10 000, ⌈20·m/α⌉), at most 10⁶: enough for the smallest of m adjusted p-values to be far below α."""
    return min(max(10_000, ceil(20 * hypotheses / alpha)), MOST_PERMUTATIONS)


def flip_signs(
    blocks: Sequence[Block], n_pairs: int, n_units: int, *, permutations: int, seed: int, enumerate_small: bool = True
) -> Counts:
    """Count permuted sums of every pair against the observed sum.

    Signs are drawn once and shared by all blocks; a block with 2^units ≤ permutations is enumerated instead.
    Equality has a tolerance of 1e-9·max(1, |observed sum|).

    Sources: Riley et al. 2024, §5; the fast path is the matrix form of their statistic.
    """
    tally = _Tally(n_pairs)
    total = np.full(n_pairs, permutations, dtype=np.int64)
    exact = np.zeros(n_pairs, dtype=np.bool_)
    sampled = []
    for block in blocks:
        if enumerate_small and block.units.size < 63 and 2**block.units.size <= permutations:
            total[block.pair], exact[block.pair] = 2**block.units.size, True
            part = replace(block, sums=block.sums[:, block.units])
            tally.add(_Stack([part]), _all_patterns(block.units.size))
        else:
            sampled.append(block)
    if sampled:
        stack = _Stack(sampled)
        for flips in _drawn_patterns(n_units, permutations, seed):
            tally.add(stack, flips)
    return Counts(tally.at_least, tally.at_most, tally.as_extreme, total, exact)


class _Stack:
    """The sums of several blocks under one another, so that one product permutes them all."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        differences = [block.differences() for block in blocks]
        # A block with fewer pairs than systems is cheaper as differences.
        rows = [d if len(d) <= len(b.sums) else b.sums for b, d in zip(blocks, differences, strict=True)]
        self.matrix = np.ascontiguousarray(np.concatenate(rows).T)
        self.totals = self.matrix.sum(axis=0)
        self.blocks = blocks
        self.edges = np.cumsum([0, *(len(r) for r in rows)])
        self.observed = [d.sum(axis=1) for d in differences]

    def permuted(self, flips: Floats) -> Iterator[tuple[Block, Floats, Floats]]:
        """Block, observed sums (pairs,) and permuted sums (permutations, pairs)."""
        sums = 2.0 * (flips @ self.matrix) - self.totals
        for block, start, stop, observed in zip(self.blocks, self.edges, self.edges[1:], self.observed, strict=False):
            part = sums[:, start:stop]
            direct = stop - start == len(observed) and len(observed) <= len(block.sums)
            yield block, observed, part if direct else part[:, block.first] - part[:, block.second]


class _Tally:
    """Counts so far: sums at least, at most, and as extreme as the observed ones."""

    def __init__(self, n_pairs: int) -> None:
        self.at_least = np.zeros(n_pairs, dtype=np.int64)
        self.at_most = np.zeros(n_pairs, dtype=np.int64)
        self.as_extreme = np.zeros(n_pairs, dtype=np.int64)

    def add(self, stack: _Stack, flips: Floats) -> None:
        """Count the permutations `flips`: 1 keeps the sign of a unit, 0 changes it."""
        for block, observed, permuted in stack.permuted(flips):
            tolerance = 1e-9 * np.maximum(1.0, np.abs(observed))
            self.at_least[block.pair] += (permuted >= observed - tolerance).sum(axis=0)
            self.at_most[block.pair] += (permuted <= observed + tolerance).sum(axis=0)
            self.as_extreme[block.pair] += (np.abs(permuted) >= np.abs(observed) - tolerance).sum(axis=0)


def _drawn_patterns(n_units: int, permutations: int, seed: int) -> Iterator[Floats]:
    """Random 0/1 rows in chunks. A row takes whole 64-bit words, so the chunk size changes nothing."""
    rng = np.random.Generator(np.random.PCG64(seed))
    row_bytes = 8 * ceil(n_units / 64)
    chunk = max(1, _CHUNK_BYTES // (8 * max(n_units, 1)))
    for start in range(0, permutations, chunk):
        rows = min(chunk, permutations - start)
        drawn = np.frombuffer(rng.bytes(rows * row_bytes), dtype=np.uint8).reshape(rows, row_bytes)
        yield np.unpackbits(drawn, axis=1, count=n_units).astype(np.float64)


def _all_patterns(n_units: int) -> Floats:
    """All 2^n rows of 0 and 1, shape (2^n, n)."""
    numbers = np.arange(2**n_units, dtype=np.int64)[:, None]
    return ((numbers >> np.arange(n_units)) & 1).astype(np.float64)
