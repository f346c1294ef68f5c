"""One-sided p of every pair of systems, by permutation of the signs of whole documents, one matrix for all pairs.

Source: Thompson et al. 2024, §3 (the signs are shared by all pairs); Riley et al. 2024, §5 (documents as units).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from app.stats.aggregate import Indices
from app.stats.ratings import Bools, Floats
from app.stats.testing.permutation import PairBlock, count_permuted_sums

PERMUTATIONS = 1_000
_HELD = 1 << 21  # differences of segments held at once


@dataclass(frozen=True, slots=True)
class PairPValues:
    """Every pair of systems; arrays of shape (pairs,).

    first, second: rows of the scores. p: one-sided, that the first is no better; p_reverse: that the second is not;
    NaN where they share no segment. difference: of the means over shared segments, NaN there too.
    """

    first: Indices
    second: Indices
    p: Floats
    p_reverse: Floats
    difference: Floats


def compute_pair_p_values(
    score: Floats, present: Bools, unit: Indices, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> PairPValues:
    """Test every pair of systems on the segments that both have.

    Parameters
    ----------
    score : higher is better, shape (systems, segments). present : the same shape.
    unit : 0 … U−1, what changes sign as one: the document of each segment, or the segment itself; shape (segments,).
    permutations : drawn with one seed, so the same data under another score are swapped alike.
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
        # Every pair has its own segments, so the first row of each is its difference, and the second one is 0.
        rows = np.concatenate((sums[pairs], np.zeros((1, n_units))))
        ends = np.arange(pairs.size), np.full(pairs.size, pairs.size)
        counts = count_permuted_sums(
            [PairBlock(rows, *ends, pairs, np.arange(n_units))],
            first.size,
            n_units,
            permutations=permutations,
            seed=seed,
            two_sided=False,
            enumerate_small=False,
        )
        p = np.where(n > 0, counts.p_values(plus_one=False), np.nan)
        p_reverse = np.where(n > 0, counts.p_reverse(plus_one=False), np.nan)
    difference = np.full(first.size, np.nan)
    np.divide(total, n, out=difference, where=n > 0)
    return PairPValues(first, second, p, p_reverse, difference)
