"""Tests of paired differences, many pairs of systems at once: Wilcoxon's signed-rank and the paired t.

Every function takes one row per pair and one column per unit (segment or document), positive if the first system is
better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from app.domain.errors import Invalid, Place
from app.domain.recipe import Method, ZeroMethod
from app.stats.aggregate import round_scores
from app.stats.ratings import Bools, Floats

MOST_EXACT = 200
"""Most differences of a pair for the exact distribution, whose cost grows with their cube."""

_EXACT_WITH_TIES, _EXACT_WITHOUT = 13, 50


@dataclass(frozen=True, slots=True)
class DirectionalPValues:
    """One-sided p-values of both directions and two-sided ones, arrays of shape (pairs,), NaN where undefined.

    lean: +1 if the first tends to be better by this test, −1 if the second does.
    """

    greater: Floats
    less: Floats
    two_sided: Floats
    lean: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class _SignedRanks:
    """Signed ranks of each pair. ranks: of |d|, 0 for a zero that does not count. plus: W⁺. mean, variance: of W⁺."""

    ranks: Floats
    plus: Floats
    mean: Floats
    variance: Floats
    plain: Bools


def wilcoxon_signed_rank(
    differences: Floats, *, zero_method: ZeroMethod = "wilcox", correction: bool = False, method: Method = "auto"
) -> DirectionalPValues:
    """Wilcoxon's signed-rank test of every row.

    Differences are rounded to 10 decimals before they are ranked. A row of zeros gives p = 1.

    Parameters
    ----------
    differences : shape (pairs, units), at least one unit.
    zero_method : `wilcox` drops zeros, `pratt` ranks them and then drops their ranks, `zsplit` gives half of their
        ranks to each side.
    correction : continuity correction of one half in the normal approximation.
    method : `asymptotic`, normal with correction for ties; `exact`, the distribution over all signs given the ranks,
        ties and zeros included; `auto`, exact up to 50 units without ties and zeros, or up to 13 with them.

    Raises
    ------
    Invalid : `exact` for more than 200 units.

    Sources: Wilcoxon 1945; Pratt 1959 with Cureton 1967; `auto` as in SciPy 1.17.

    >>> import numpy as np
    >>> result = wilcoxon_signed_rank(np.array([[6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]]))
    >>> round(float(result.two_sided[0]), 7)
    0.0412598
    """
    if method == "exact" and differences.shape[1] > MOST_EXACT:
        message = f"the exact distribution is for at most {MOST_EXACT} differences; use auto or asymptotic"
        raise Invalid(message, places=(Place(("query", "method"), message),))
    ranked = _signed_ranks(round_scores(differences), zero_method)
    exact = _takes_exact(ranked, differences.shape[1], method)
    greater, less, two_sided = _normal(ranked, correction=correction)
    for row in np.flatnonzero(exact):
        greater[row], less[row] = _exact(ranked.ranks[row], float(ranked.plus[row]), float(ranked.mean[row]))
        two_sided[row] = min(1.0, 2 * min(greater[row], less[row]))
    return DirectionalPValues(
        greater, less, two_sided, np.sign(round_scores(ranked.plus - ranked.mean)).astype(np.int8)
    )


def _signed_ranks(differences: Floats, zero_method: ZeroMethod) -> _SignedRanks:
    size = np.abs(differences)
    zero = size == 0
    ranks, ties, zeros_first = _average_ranks(size)
    n_zero = zero.sum(axis=1).astype(np.float64)
    n = np.full(len(size), size.shape[1], dtype=np.float64)
    plain = ~ties & (n_zero == 0)
    if zero_method == "wilcox":
        ranks, n, n_zero = np.where(zero, 0.0, ranks - n_zero[:, None]), n - n_zero, np.zeros_like(n)
    tie_term = zeros_first.sum(axis=1)
    half = np.zeros_like(n)
    if zero_method == "zsplit":
        half = np.where(zero, ranks, 0.0).sum(axis=1) / 2
        zeros = n_zero
        tie_term, n_zero = tie_term + zeros**3 - zeros, np.zeros_like(n)
    plus = np.where(differences > 0, ranks, 0.0).sum(axis=1) + half
    mean = (n * (n + 1) - n_zero * (n_zero + 1)) / 4
    cubes = n * (n + 1) * (2 * n + 1) - n_zero * (n_zero + 1) * (2 * n_zero + 1)
    return _SignedRanks(np.where(zero, 0.0, ranks), plus, mean, (cubes - tie_term / 2) / 24, plain)


def _average_ranks(size: Floats) -> tuple[Floats, Bools, Floats]:
    """Average ranks of each row, whether values above 0 are tied, and t³ − t at the first of each tie above 0."""
    n_rows, n = size.shape
    order = np.argsort(size, axis=1, kind="stable")
    ordered = np.take_along_axis(size, order, axis=1)
    at = np.broadcast_to(np.arange(n), (n_rows, n))
    change = np.ones((n_rows, n), dtype=np.bool_)
    change[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    last = np.ones((n_rows, n), dtype=np.bool_)
    last[:, :-1] = change[:, 1:]
    start = np.maximum.accumulate(np.where(change, at, 0), axis=1)
    end = np.minimum.accumulate(np.where(last, at, n)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty((n_rows, n))
    np.put_along_axis(ranks, order, (start + end) / 2 + 1, axis=1)
    tied = np.where(change & (ordered > 0), end - start + 1, 1).astype(np.float64)
    return ranks, np.asarray((tied > 1).any(axis=1)), tied**3 - tied


def _takes_exact(ranked: _SignedRanks, n_units: int, method: Method) -> Bools:
    if method == "auto":
        return (ranked.plain & (n_units <= _EXACT_WITHOUT)) | (n_units <= _EXACT_WITH_TIES)
    return np.full(ranked.plain.size, method == "exact")


def _normal(ranked: _SignedRanks, *, correction: bool) -> tuple[Floats, Floats, Floats]:
    step = 0.5 if correction else 0.0
    distance = ranked.plus - ranked.mean
    varied = (ranked.variance > 0) & (ranked.ranks > 0).any(axis=1)
    spread = np.sqrt(np.where(varied, ranked.variance, 1.0))
    greater = scipy.special.ndtr(-(distance - step) / spread)
    less = scipy.special.ndtr((distance + step) / spread)
    two_sided = np.minimum(1.0, 2 * scipy.special.ndtr(-(np.abs(distance) - step) / spread))
    return np.where(varied, greater, 1.0), np.where(varied, less, 1.0), np.where(varied, two_sided, 1.0)


def _exact(ranks: Floats, plus: float, mean: float) -> tuple[float, float]:
    """P(W ≥ w) and P(W ≤ w) over all signs of the ranks above 0, which are doubled, because they may be halves."""
    steps = np.rint(2 * ranks[ranks > 0]).astype(np.int64)
    total = int(steps.sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for step in steps:
        moved = chance * 0.5
        moved[step:] += 0.5 * chance[: total + 1 - step]
        chance = moved
    # Zeros that count for both sides shift W and its mean equally.
    at = round(2 * (plus - mean) + total / 2)
    return min(1.0, float(chance[at:].sum())), min(1.0, float(chance[: at + 1].sum()))


def paired_t_test(differences: Floats) -> DirectionalPValues:
    """Student's paired t test of every row; NaN if undefined: fewer than two units, or no variation at all.

    Source: Student 1908.

    >>> import numpy as np
    >>> round(float(paired_t_test(np.array([[1.0, 2.0, 3.0, 0.5]])).two_sided[0]), 6)
    0.060931
    """
    n_rows, n = differences.shape
    if n < 2:
        nothing = np.full(n_rows, np.nan)
        return DirectionalPValues(nothing, nothing.copy(), nothing.copy(), np.zeros(n_rows, dtype=np.int8))
    error = differences.std(axis=1, ddof=1) / np.sqrt(n)
    varied = np.round(error, 10) > 0
    t = np.where(varied, differences.mean(axis=1) / np.where(varied, error, 1.0), np.nan)
    two_sided = np.minimum(1.0, 2 * scipy.special.stdtr(n - 1, -np.abs(t)))
    lean = np.sign(round_scores(np.nan_to_num(t))).astype(np.int8)
    return DirectionalPValues(scipy.special.stdtr(n - 1, -t), scipy.special.stdtr(n - 1, t), two_sided, lean)


def compute_paired_t_p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p of the paired t test of two systems, as SciPy's `ttest_rel`: 0 if all differences are equal.

    NaN for fewer than two pairs, or if all differences are 0.

    >>> round(compute_paired_t_p_value([1.0, 2.0, 3.0], [0.5, 1.0, 1.0]), 6)
    0.118083
    >>> compute_paired_t_p_value([2.0, 3.0], [1.0, 2.0])
    0.0
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    n = differences.size
    if n < 2 or not differences.any():
        return float("nan")
    with np.errstate(divide="ignore"):
        t = differences.mean() / (differences.std(ddof=1) / np.sqrt(n))
    return float(2 * scipy.special.stdtr(n - 1, -np.abs(t)))


def stouffer(p_values: Floats) -> Floats:
    """Combine p-values of the strata in the rows: 1 − Φ(Σ Φ⁻¹(1 − p_k)/√K), shape (pairs,), over those not NaN.

    On two-sided p-values (WMT24) this loses direction: strata that contradict each other add up, and one stratum with p
    = 1 makes the combined p 1.

    Source: Stouffer et al. 1949.
    """
    return np.asarray(scipy.special.ndtr(-_combined_z(-scipy.special.ndtri(_positive(p_values)))), dtype=np.float64)


def stouffer_signed(p_values: Floats, sides: Floats) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Combine two-sided p-values with the strata's directions: z = sign·Φ⁻¹(1 − p/2); two-sided p, and its sign.

    Parameters
    ----------
    p_values : two-sided, NaN where a stratum has none, shape (strata, pairs).
    sides : +1, 0 or −1, the direction of each; the same shape.

    Returns
    -------
    p of shape (pairs,), NaN without any stratum, and its direction: +1, 0 or −1.

    Source: Stouffer et al. 1949; the signs are our own addition, so that opposite strata cancel.
    """
    z = _combined_z(-scipy.special.ndtri(_positive(p_values) / 2) * sides)
    lean = np.sign(round_scores(np.nan_to_num(z))).astype(np.int8)
    return np.asarray(np.minimum(1.0, 2 * scipy.special.ndtr(-np.abs(z))), dtype=np.float64), lean


def _combined_z(z: Floats) -> Floats:
    """Σ z_k/√K over the strata that are not NaN; NaN if there are none."""
    strata = (~np.isnan(z)).sum(axis=0)
    return np.where(strata > 0, np.nansum(z, axis=0) / np.sqrt(np.maximum(strata, 1)), np.nan)


def _positive(p_values: Floats) -> Floats:
    """Raise p-values to at least the smallest positive number, so that their quantile stays above −∞."""
    return np.maximum(p_values, np.finfo(np.float64).tiny)
