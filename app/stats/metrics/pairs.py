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
    shared = present[first] & present[second]
    differences = np.where(shared, score[first] - score[second], 0.0)
    places = (np.arange(unit.size), unit)
    onto = scipy.sparse.csr_array((np.ones(unit.size), places), shape=(unit.size, n_units))
    sums = differences @ onto
    n = shared.sum(axis=1)
    place = np.arange(first.size)
    held = (shared @ onto) > 0
    blocks = [
        PairBlock(
            np.stack((sums[pair], np.zeros(n_units))),
            np.array([0]),
            np.array([1]),
            np.array([pair]),
            np.flatnonzero(held[pair]),
        )
        for pair in place[n > 0].tolist()
    ]
    p, p_reverse = np.full(first.size, np.nan), np.full(first.size, np.nan)
    if blocks:
        counts = count_permuted_sums(
            blocks,
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
    np.divide(differences.sum(axis=1), n, out=difference, where=n > 0)
    return PairPValues(first, second, p, p_reverse, difference)
