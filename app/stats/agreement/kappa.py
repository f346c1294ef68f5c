"""Agreement beyond chance: κ with a tolerance, Fleiss' and weighted κ, Gwet's AC1 and AC2.

All take any number of raters and measure agreement on units with at least two values. If two raters rated everything,
they equal the coefficients of pairs except for chance, which is pooled over raters here (`pairs` has Cohen's κ).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from app.stats.agreement.pooled_values import PooledValueCounts, count_agreeing_pairs, count_pooled_values
from app.stats.agreement.units import SLACK, OfDocuments, ValuesByUnit
from app.stats.ratings import Floats

Weights = Literal["identity", "linear", "quadratic"]


def compute_chance_agreement_within_steps(levels: int, steps: int) -> float:
    """Probability that two uniform scores on `levels` equally spaced values are at most `steps` apart.

    It is [K(2t + 1) − t(t + 1)]/K². The formula printed in Grundkiewicz et al. 2021, §5.3 has max(i − t, 0), but
    their Table 5 uses max(i − t, 1), as here. Raises ValueError if all values agree with each other.

    >>> [round(compute_chance_agreement_within_steps(100, t), 3) for t in (5, 10, 15, 20, 25, 30)]
    [0.107, 0.199, 0.286, 0.368, 0.445, 0.517]
    >>> compute_chance_agreement_within_steps(5, 0), compute_chance_agreement_within_steps(5, 1)
    (0.2, 0.52)
    """
    if levels < 1 or steps < 0 or steps >= levels - 1:
        raise ValueError("every two of these values are within the tolerance: κ is not defined")
    return (levels * (2 * steps + 1) - steps * (steps + 1)) / levels**2


def pair_share_within_tolerance(
    units: ValuesByUnit, tolerance: float, pool: PooledValueCounts | None = None
) -> OfDocuments:
    """Share of rater pairs within the tolerance; every pair of every unit counts once.

    tolerance: in score units. pool: of the units with at least two values; None computes it. Returns a function of
    document weights, shape (draws, documents) → (draws,), NaN if no unit has two values.

    Source: P_a of Grundkiewicz et al. 2021, §5.3.
    """
    units = units.with_two_or_more_values()
    pool = count_pooled_values(units) if pool is None else pool
    size = units.n_values_by_unit()
    sums = units.sum_by_document(
        np.stack((count_agreeing_pairs(units, pool, tolerance), size * (size - 1) / 2), axis=1)
    )
    return lambda weights: _ratio(*(weights @ sums).T)


def tolerance_kappa(
    units: ValuesByUnit, tolerance: float, *, chance: float | None = None, pool: PooledValueCounts | None = None
) -> OfDocuments:
    """κ = (P_a − P_e)/(1 − P_e); raters agree if their scores are at most `tolerance` apart.

    chance: P_e from a closed form, see `compute_chance_agreement_within_steps`; None estimates it from the pooled
    scores of all raters. pool: of the units with at least two values; None computes it.

    Source: Grundkiewicz et al. 2021, §5.3.
    """
    units = units.with_two_or_more_values()
    pool = count_pooled_values(units) if pool is None else pool
    share = pair_share_within_tolerance(units, tolerance, pool)

    def value(weights: Floats) -> Floats:
        if chance is not None:
            return _beyond_chance(share(weights), np.asarray(chance))
        histogram = pool.weighted_counts(weights)
        return _beyond_chance(
            share(weights),
            _ratio(pool.count_value_pairs_within_tolerance(histogram, tolerance), histogram.sum(axis=1) ** 2),
        )

    return value


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = (observed - expected) / (1 - expected)
    return np.where(np.abs(1 - expected) > SLACK, kappa, np.nan)


def _ratio(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(part / whole, dtype=np.float64)


def make_agreement_weights(levels: int, kind: Weights) -> Floats:
    """Agreement of each two categories, shape (K, K): 1 if equal, else 0 or 1 minus the (squared) rank distance."""
    if kind == "identity" or levels < 2:
        return np.eye(levels)
    distance = np.abs(np.subtract.outer(np.arange(levels), np.arange(levels))) / (levels - 1)
    return np.asarray(1 - (distance if kind == "linear" else distance**2), dtype=np.float64)


def count_raters_by_category(units: ValuesByUnit, levels: int) -> Floats:
    """Number of raters who put each unit into each category, shape (U, K). Values are categories 0 … K−1."""
    out = np.zeros((units.n_units, levels))
    np.add.at(out, (units.unit, units.value.astype(np.intp)), 1.0)
    return out


def fleiss_kappa(units: ValuesByUnit, levels: int, *, weights: Weights = "identity") -> OfDocuments:
    """Fleiss' κ, or its weighted form if `weights` is not identity.

    Units may differ in the number of ratings n_i: P_i = (Σn_ij² − n_i)/(n_i(n_i − 1)), and P̄ weights units by their
    number of pairs.

    Source: Fleiss 1971; Licht et al. 2022, §6.1. Weighting units by pairs is an extension of this program.
    """
    units = units.with_two_or_more_values()
    counts, like = count_raters_by_category(units, levels), make_agreement_weights(levels, weights)
    n = counts.sum(axis=1)
    together = ((counts @ like) * counts).sum(axis=1) - n
    sums = units.sum_by_document(np.column_stack((together, n * (n - 1), counts)))

    def value(drawn: Floats) -> Floats:
        total = drawn @ sums
        share = _ratio(total[:, 2:], total[:, 2:].sum(axis=1, keepdims=True))
        return _beyond_chance(_ratio(total[:, 0], total[:, 1]), ((share @ like) * share).sum(axis=1))

    return value


def gwet_ac(units: ValuesByUnit, levels: int, *, weights: Weights = "identity") -> OfDocuments:
    """Gwet's AC1 (identity weights) or AC2, which stay stable if nearly all ratings fall into one category.

    Every unit has the same weight, whatever its number of ratings. Units rated once only tell how often a category is
    used. levels: number of categories of the scale, whether used or not.

    Source: Gwet 2008; 2014, chapter 2.5 (units rated once) and 5.
    """
    counts, like = count_raters_by_category(units, levels), make_agreement_weights(levels, weights)
    n = counts.sum(axis=1)
    several = n > 1
    pairs = np.where(several, n * (n - 1), 1.0)
    each = np.where(several, (counts * (counts @ like - 1)).sum(axis=1) / pairs, 0.0)
    sums = units.sum_by_document(np.column_stack((each, several, counts / n[:, None])))
    spread = like.sum() / (levels * (levels - 1)) if levels > 1 else np.nan

    def value(drawn: Floats) -> Floats:
        total = drawn @ sums
        share = _ratio(total[:, 2:], total[:, 2:].sum(axis=1, keepdims=True))
        return _beyond_chance(_ratio(total[:, 0], total[:, 1]), spread * (share * (1 - share)).sum(axis=1))

    return value
