"""The pooled values of all raters as a histogram by document; chance agreement is computed from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from app.stats.agreement.units import SLACK, Indices, Keys, ValuesByUnit
from app.stats.ratings import Floats


@dataclass(frozen=True, slots=True)
class PooledValueCounts:
    """Distinct values in ascending order, shape (K,); code of each value of the units; counts by document, (D, K).

    keys: unit · (K + 1) + code of every value in ascending order, so the codes of each unit are sorted.
    """

    values: Floats
    code: Indices
    counts: scipy.sparse.csr_array
    keys: Keys

    def weighted_counts(self, weights: Floats) -> Floats:
        """Count each distinct value if documents count `weights` times; shapes (B, D) → (B, K)."""
        return np.asarray((self.counts.T @ weights.T).T, dtype=np.float64)

    def count_value_pairs_within_tolerance(self, histogram: Floats, tolerance: float) -> Floats:
        """Count ordered pairs within the tolerance, including each value with itself; shapes (B, K) → (B,)."""
        low, high = self.index_ranges_within_tolerance(tolerance)
        up = np.zeros((len(histogram), self.values.size + 1))
        np.cumsum(histogram, axis=1, out=up[:, 1:])
        return np.asarray((histogram * (up[:, high] - up[:, low])).sum(axis=1), dtype=np.float64)

    def index_ranges_within_tolerance(self, tolerance: float) -> tuple[Indices, Indices]:
        """For each distinct value, index of the first value within the tolerance and of the first beyond it."""
        reach = tolerance + SLACK
        low = np.searchsorted(self.values, self.values - reach, side="left")
        return low, np.searchsorted(self.values, self.values + reach, side="right")


def count_pooled_values(units: ValuesByUnit) -> PooledValueCounts:
    """Make a histogram of the values of all units."""
    values, code = np.unique(units.value, return_inverse=True)
    shape = (units.n_documents, max(values.size, 1))
    at = (units.document[units.unit], code)
    counts = scipy.sparse.coo_array((np.ones(code.size), at), shape=shape).tocsr()
    keys = np.sort(units.unit.astype(np.int64) * (values.size + 1) + code)
    return PooledValueCounts(values, np.asarray(code, dtype=np.intp), counts, keys)


def count_agreeing_pairs(units: ValuesByUnit, pool: PooledValueCounts, tolerance: float) -> Floats:
    """Count each unit's unordered pairs of values within the tolerance, shape (U,).

    Counting uses ranks, so a unit with m values costs m·log n, not m².
    """
    unit, code = np.divmod(pool.keys, pool.values.size + 1)
    _, high = pool.index_ranges_within_tolerance(tolerance)
    last = np.searchsorted(pool.keys, pool.keys - code + high[code], side="left")
    return np.bincount(unit, weights=last - np.arange(unit.size) - 1, minlength=units.n_units).astype(np.float64)


def sum_pair_distances(units: ValuesByUnit) -> Floats:
    """Sum of |a − b| over the unordered pairs of each unit, shape (U,)."""
    order = np.lexsort((units.value, units.unit))
    size = units.n_values_by_unit()[units.unit]
    nth = np.arange(units.unit.size) - units.unit_starts()[units.unit]
    signed = units.value[order] * (2 * nth + 1 - size)
    return np.bincount(units.unit, weights=signed, minlength=units.n_units).astype(np.float64)
