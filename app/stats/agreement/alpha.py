"""Krippendorff's α: interval, ratio, ordinal, and nominal with a tolerance.

α = 1 − D_o/D_e with D_o = (1/n) Σ_u [Σ over ordered pairs in u of δ²]/(m_u − 1) and
D_e = Σ over all ordered pairs of the n pooled values of δ²/(n(n − 1)).

Source: Krippendorff 2004, chapter 11; Grundkiewicz et al. 2021, appendix A.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy

from app.stats.agreement.pooled_values import PooledValueCounts, count_agreeing_pairs, count_pooled_values
from app.stats.agreement.units import OfDocuments, ValuesByUnit
from app.stats.ratings import Floats

Metric = Literal["interval", "ratio", "ordinal", "nominal"]
METRICS: tuple[Metric, ...] = ("interval", "ratio", "ordinal", "nominal")
_BLOCK = 1024
MOST_COINCIDENT = 200
"""Up to this number of distinct values, it is faster to count how often two values coincide."""


def krippendorff_alpha(
    units: ValuesByUnit, metric: Metric, *, tolerance: float = 0.0, pool: PooledValueCounts | None = None
) -> OfDocuments:
    """Krippendorff's α of the units with at least two values; raters may skip units.

    metric: the squared distance δ² of two values c and k. `interval`: (c − k)². `ratio`: ((c − k)/(c + k))², with
    0/0 = 0. `ordinal`: uses ranks of the pooled values. `nominal`: 0 within the tolerance, else 1.
    α is NaN if all values are the same. pool: of the units with at least two values; None computes it.
    """
    units = units.with_two_or_more_values()
    if metric == "interval":
        return _interval(units)
    pool = count_pooled_values(units) if pool is None else pool
    if metric == "ordinal":
        return _ordinal(units, pool)
    if metric == "nominal":
        return _nominal(units, pool, tolerance)
    return _ratio(units, pool)


def _alpha(observed: Floats, expected: Floats, n: Floats) -> Floats:
    """observed: Σ_u pairs/(m_u − 1). expected: Σ over all ordered pairs."""
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = 1 - (n - 1) * observed / expected
    return np.where(expected > 1e-12 * np.maximum(n, 1), alpha, np.nan)


def _observed_disagreement(units: ValuesByUnit, value: Floats) -> Floats:
    """Σ over ordered pairs of (c − k)²/(m − 1) of each unit, shape (U,)."""
    size = units.n_values_by_unit()
    mean = np.bincount(units.unit, weights=value, minlength=size.size) / size
    off = value - mean[units.unit]
    return np.asarray(2 * size * np.bincount(units.unit, weights=off * off, minlength=size.size) / (size - 1))


def _interval(units: ValuesByUnit) -> OfDocuments:
    centre = units.value - (units.value.mean() if units.value.size else 0.0)
    sums = units.sum_by_document(
        np.column_stack(
            (
                _observed_disagreement(units, centre),
                units.n_values_by_unit(),
                np.bincount(units.unit, weights=centre, minlength=units.n_units),
                np.bincount(units.unit, weights=centre**2, minlength=units.n_units),
            )
        )
    )

    def value(weights: Floats) -> Floats:
        observed, n, total, squares = (weights @ sums).T
        spread = n * squares - total**2
        # If all scores are equal, rounding leaves a tiny spread; treat it as zero.
        return _alpha(observed, 2 * np.where(spread > 1e-12 * n * squares, spread, 0.0), n)

    return value


def _nominal(units: ValuesByUnit, pool: PooledValueCounts, tolerance: float) -> OfDocuments:
    size = units.n_values_by_unit()
    differ = (size * (size - 1) / 2 - count_agreeing_pairs(units, pool, tolerance)) * 2 / (size - 1)
    sums = units.sum_by_document(differ)

    def value(weights: Floats) -> Floats:
        histogram = pool.weighted_counts(weights)
        n = histogram.sum(axis=1)
        return _alpha(weights @ sums, n * n - pool.count_value_pairs_within_tolerance(histogram, tolerance), n)

    return value


def _ratio(units: ValuesByUnit, pool: PooledValueCounts) -> OfDocuments:
    sums = units.sum_by_document(_ratio_inside(units))

    def value(weights: Floats) -> Floats:
        histogram = pool.weighted_counts(weights)
        expected = np.zeros(len(histogram))
        for start in range(0, pool.values.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            distances = _relative(pool.values[part, None], pool.values[None, :])
            expected += (histogram[:, part] * (histogram @ distances.T)).sum(axis=1)
        return _alpha(weights @ sums, expected, histogram.sum(axis=1))

    return value


def _relative(first: Floats, second: Floats) -> Floats:
    total = first + second
    return np.asarray(((first - second) / np.where(total == 0, 1.0, total)) ** 2 * (total != 0), dtype=np.float64)


def _ratio_inside(units: ValuesByUnit) -> Floats:
    """Σ over ordered pairs of the relative distance/(m − 1); pairs each value with the one `lag` places later."""
    size = units.n_values_by_unit()
    out = np.zeros(units.n_units)
    for lag in range(1, int(size.max(initial=0))):
        first = np.flatnonzero(units.unit[:-lag] == units.unit[lag:])
        distances = _relative(units.value[first], units.value[first + lag])
        out += np.bincount(units.unit[first], weights=2 * distances, minlength=size.size)
    return np.asarray(out / (size - 1), dtype=np.float64)


def _ordinal(units: ValuesByUnit, pool: PooledValueCounts) -> OfDocuments:
    """α from mid-ranks of the pooled values: Σ_{g=c..k} n_g − (n_c + n_k)/2 is the distance between two mid-ranks."""
    inside = _by_unit(units, pool) if pool.values.size > MOST_COINCIDENT else _by_coincidence(units, pool)

    def value(weights: Floats) -> Floats:
        histogram = pool.weighted_counts(weights)
        n = histogram.sum(axis=1)
        rank = np.cumsum(histogram, axis=1) - histogram / 2
        off = rank - ((histogram * rank).sum(axis=1) / np.maximum(n, 1))[:, None]
        return _alpha(inside(weights, rank), 2 * n * (histogram * off**2).sum(axis=1), n)

    return value


def _by_unit(units: ValuesByUnit, pool: PooledValueCounts) -> Callable[[Floats, Floats], Floats]:
    """Compute Σ_u of squared rank distances/(m − 1) in every draw, unit by unit."""

    def inside(weights: Floats, ranks: Floats) -> Floats:
        drawn = zip(weights, ranks, strict=True)
        return np.array(
            [w[units.document] @ _observed_disagreement(units, rank[pool.code]) for w, rank in drawn], dtype=np.float64
        )

    return inside


def _by_coincidence(units: ValuesByUnit, pool: PooledValueCounts) -> Callable[[Floats, Floats], Floats]:
    """Compute what `_by_unit` does from how often two values coincide in each document: K² operations a draw."""
    k, size = max(pool.values.size, 1), units.n_values_by_unit()
    parts = []
    for lag in range(1, int(size.max(initial=0))):
        first = np.flatnonzero(units.unit[:-lag] == units.unit[lag:])
        unit = units.unit[first]
        at = (units.document[unit], pool.code[first] * k + pool.code[first + lag])
        parts.append(scipy.sparse.coo_array((2 / (size[unit] - 1), at), shape=(units.n_documents, k * k)).tocsr())
    coincidences = sum(parts[1:], parts[0]) if parts else scipy.sparse.csr_array((units.n_documents, k * k))
    lower, upper = np.divmod(np.arange(k * k), k)

    def inside(weights: Floats, ranks: Floats) -> Floats:
        drawn = np.asarray((coincidences.T @ weights.T).T, dtype=np.float64)
        return np.asarray((drawn * (ranks[:, lower] - ranks[:, upper]) ** 2).sum(axis=1), dtype=np.float64)

    return inside
