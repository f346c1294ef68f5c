"""Westfall and Young's step-down: p-values of many pairs adjusted by permuting all of them jointly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.stats.ratings import Bools, Floats
from app.stats.testing.permutation import PairsWithSameSegments, iterate_all_sign_patterns, sample_sign_patterns

_CHUNK = 1 << 16  # values at a time: they stay in the processor's cache


def compute_max_t_p_values(
    blocks: Sequence[PairsWithSameSegments],
    testable: Bools,
    n_units: int,
    *,
    permutations: int,
    seed: int,
    plus_one: bool = True,
) -> Floats:
    """Adjusted p-values of |Δ|/SE by the step-down maximum over pairs, shape of `testable`; 1 where not testable.

    One sign matrix permutes all pairs, so their dependence is used and there is no factor for their number. The
    standard error is that of the linearized ratio, recomputed in each permutation: T* = Σεd/√(Σe*²·D/(D−1)) with e*_D =
    ε_D·d_D − n_D·Δ*. All 2^units patterns are used if they are at most `permutations`.

    Parameters
    ----------
    blocks : from `reduce_pairs_to_common_segments`. testable : pairs in the family, shape (pairs,). n_units : columns
        of the blocks.

    Source: Westfall & Young 1993, §2.6 (algorithm 2.8).
    """
    family = np.flatnonzero(testable)
    adjusted = np.ones(testable.size)
    if not family.size:
        return adjusted
    observed = _statistics(blocks, np.ones((1, n_units)), testable.size)[family, 0]
    order = np.argsort(observed, kind="stable")
    with np.errstate(invalid="ignore"):
        limit = np.where(np.isinf(observed), np.inf, observed - 1e-9 * np.maximum(1.0, observed))[order][:, None]
    exact = n_units < 63 and 2**n_units <= permutations
    chunk = max(1, _CHUNK // max(n_units, family.size))
    counts, total = np.zeros(family.size), 0
    for flips in (
        iterate_all_sign_patterns(n_units, chunk) if exact else sample_sign_patterns(n_units, permutations, seed, chunk)
    ):
        permuted = _statistics(blocks, flips, testable.size)[family[order]]
        # The pair with the k-th smallest statistic competes with those whose statistic is no larger.
        counts += (np.maximum.accumulate(permuted, axis=0) >= limit).sum(axis=1)
        total += len(flips)
    add = 1 if plus_one and not exact else 0
    p = (counts + add) / (total + add)
    adjusted[family[order]] = np.maximum.accumulate(p[::-1])[::-1]
    return adjusted


def _statistics(blocks: Sequence[PairsWithSameSegments], flips: Floats, n_pairs: int) -> Floats:
    """|Δ*|/SE* of every pair under each pattern (1 keeps the sign of a unit, 0 changes it); shape (pairs, patterns)."""
    statistics = np.zeros((n_pairs, len(flips)))
    signs = 2.0 * flips.T - 1.0
    for block in blocks:
        weights = block.unit_weights()
        total, units = weights.sum(), block.units.size
        sums = _pair_differences(block, block.sums @ signs)
        crossed = _pair_differences(block, (block.sums * weights) @ signs)
        mean = sums / total
        squares = block.sum_differences(squared=True)[:, None]
        spread = squares - 2 * mean * crossed + mean * mean * (weights * weights).sum()
        statistics[block.pair] = _studentize(np.abs(sums), spread, squares, units)
    return statistics


def _pair_differences(block: PairsWithSameSegments, of_systems: Floats) -> Floats:
    return of_systems[block.first] - of_systems[block.second]


def _studentize(size: Floats, spread: Floats, squares: Floats, units: int) -> Floats:
    """size/√(spread·D/(D−1)); without spread, 0 if there is no difference and +∞ if there is one."""
    none = spread <= 1e-12 * squares
    scale = np.sqrt(np.where(none, 1.0, spread) * units / max(units - 1, 1))
    return np.where(none, np.where(size <= 1e-9, 0.0, np.inf), size / scale)
