"""One-sided p-values of all system pairs from permuted signs of whole documents, with one sign matrix for all pairs.

Source: Thompson et al. 2024, §3 (all pairs share the signs); Riley et al. 2024, §5 (documents as units).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from app.stats.aggregate import Indices
from app.stats.ratings import Bools, Floats
from app.stats.testing.permutation import PairsWithSameSegments, count_extreme_permuted_sums

PERMUTATIONS = 1_000
_HELD = 1 << 21  # most segment differences held at once


@dataclass(frozen=True, slots=True)
class SystemPairPValues:
    """p-values of all pairs of systems; arrays of shape (pairs,), NaN if a pair shares no segment.

    first, second: rows of the scores. p: one-sided; the null hypothesis is that the first is no better. p_reverse: the
    null hypothesis is that the second is no better. difference: of the means over shared segments.
    """

    first: Indices
    second: Indices
    p: Floats
    p_reverse: Floats
    difference: Floats


def compute_system_pair_p_values(
    score: Floats, present: Bools, unit: Indices, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> SystemPairPValues:
    """Test every pair of systems on the segments that both have.

    Parameters
    ----------
    score : higher is better, shape (systems, segments). present : the same shape.
    unit : 0 … U−1, the document of each segment, or the segment itself; a unit's segments change sign together. Shape
        (segments,).
    permutations : number of sign patterns; with the same seed, other scores of the same data get the same patterns.
    """
    first, second = np.triu_indices(score.shape[0], 1)
    n_units = int(unit.max(initial=-1)) + 1
    places = (np.arange(unit.size), unit)
    onto = scipy.sparse.csr_array((np.ones(unit.size), places), shape=(unit.size, n_units))
    sums, total, n = np.empty((first.size, n_units)), np.empty(first.size), np.empty(first.size, dtype=np.intp)
    step = max(1, _HELD // max(unit.size, 1))
    for start in range(0, first.size, step):
        some = slice(start, start + step)
        shared = present[first[some]] & present[second[some]]
        differences = np.where(shared, score[first[some]] - score[second[some]], 0.0)
        sums[some], total[some], n[some] = differences @ onto, differences.sum(axis=1), shared.sum(axis=1)
    pairs = np.flatnonzero(n > 0)
    p, p_reverse = np.full(first.size, np.nan), np.full(first.size, np.nan)
    if pairs.size:
        # Pairs have different segments, so each pair's first row is its difference, and its second row is 0.
        rows = np.concatenate((sums[pairs], np.zeros((1, n_units))))
        ends = np.arange(pairs.size), np.full(pairs.size, pairs.size)
        counts = count_extreme_permuted_sums(
            [PairsWithSameSegments(rows, *ends, pairs, np.arange(n_units))],
            first.size,
            n_units,
            permutations=permutations,
            seed=seed,
            two_sided=False,
            enumerate_small=False,
        )
        p = np.where(n > 0, counts.p_values(plus_one=False), np.nan)
        p_reverse = np.where(n > 0, counts.reverse_p_values(plus_one=False), np.nan)
    difference = np.full(first.size, np.nan)
    np.divide(total, n, out=difference, where=n > 0)
    return SystemPairPValues(first, second, p, p_reverse, difference)
