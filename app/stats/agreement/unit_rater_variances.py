"""Agreement that a model of units and raters predicts: REML variances from all data, balanced or not.

y = μ + unit + rater + rest, all random. The unit variance contains everything that raters share; the rest contains
everything specific to one rater on one unit. The two-way intraclass correlations are shares of these three variances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from app.stats.agreement.units import ValuesByUnit
from app.stats.ratings import Floats

_LARGEST = 1e6
MOST_RATERS = 400
"""With more raters a fit would take minutes, because its matrices have one row per rater."""


@dataclass(frozen=True, slots=True)
class UnitRaterVariances:
    """Variances of units, raters and the rest, in squared score units."""

    unit: float
    rater: float
    residual: float

    @property
    def total_variance(self) -> float:
        """Variance of one rating."""
        return self.unit + self.rater + self.residual

    @property
    def icc_agreement(self) -> float:
        """ICC(A,1): correlation between two raters of a unit, treating raters as a sample."""
        return self.unit / self.total_variance

    @property
    def icc_consistency(self) -> float:
        """ICC(C,1): like ICC(A,1), but without the raters' offsets."""
        return self.unit / (self.unit + self.residual) if self.unit + self.residual else float("nan")

    def rater_agreement_within_tolerance(self, tolerance: float, step: float = 0.0) -> float:
        """Expected share of rater pairs at most `tolerance` apart; step: of the scale, for continuity correction."""
        return _probability_within(self.rater + self.residual, tolerance + step / 2)

    def chance_agreement_within_tolerance(self, tolerance: float, step: float = 0.0) -> float:
        """Expected share of ratings at most `tolerance` apart if both units and raters differ."""
        return _probability_within(self.total_variance, tolerance + step / 2)


def _probability_within(variance: float, reach: float) -> float:
    """Probability that two independent normal values of this variance are at most `reach` apart."""
    return float(scipy.special.erf(reach / np.sqrt(4 * variance))) if variance > 0 else 1.0


def fit_unit_rater_variances(units: ValuesByUnit) -> UnitRaterVariances | None:
    """Return REML estimates; None with fewer than two units, under 2 or over `MOST_RATERS` raters, or constant values.

    Source: Patterson & Thompson 1971; docs/reports/agreement.md.
    """
    units = units.with_two_or_more_values()
    raters, rater = np.unique(units.rater, return_inverse=True)
    if units.n_units < 2 or not 2 <= raters.size <= MOST_RATERS or np.ptp(units.value) == 0:
        return None
    data = _Sufficient(units, rater, raters.size)
    return _reml_estimates(data)


class _Sufficient:
    """Sufficient statistics by number of ratings per unit, so that evaluating the likelihood again is cheap."""

    def __init__(self, units: ValuesByUnit, rater: np.ndarray, n_raters: int) -> None:
        centre = units.value - units.value.mean()
        size = units.n_values_by_unit()
        total: Floats = np.bincount(units.unit, weights=centre, minlength=size.size).astype(np.float64)
        self.n = units.value.size
        self.squares = float(centre @ centre)
        design = np.zeros((n_raters + 1, n_raters + 1))
        per_rater = np.bincount(rater, minlength=n_raters)
        design[0, 0], design[0, 1:], design[1:, 0] = self.n, per_rater, per_rater
        design[1:, 1:] = np.diag(per_rater)
        self.design = design
        self.right = np.concatenate(([centre.sum()], np.bincount(rater, weights=centre, minlength=n_raters)))
        self.classes = [self._class(units, rater, int(k), size, total, n_raters) for k in np.unique(size)]

    @staticmethod
    def _class(
        units: ValuesByUnit, rater: np.ndarray, k: int, size: np.ndarray, total: Floats, n_raters: int
    ) -> tuple[int, int, Floats, Floats, float]:
        """Units with k ratings: k, number of units, Σ s s', Σ s·T, Σ T²; s: counts (total, then by rater), T: sum."""
        mine = np.flatnonzero(size == k)
        rows = np.flatnonzero(size[units.unit] == k)
        at = np.searchsorted(mine, units.unit[rows])
        rated = scipy.sparse.coo_array((np.ones(rows.size), (at, rater[rows] + 1)), shape=(mine.size, n_raters + 1))
        first = (np.arange(mine.size), np.zeros(mine.size, dtype=np.intp))
        every = scipy.sparse.coo_array((np.full(mine.size, float(k)), first), shape=rated.shape)
        counts = (rated + every).tocsr()
        outer = np.asarray((counts.T @ counts).toarray(), dtype=np.float64)
        return k, mine.size, outer, np.asarray(counts.T @ total[mine]), float(total[mine] @ total[mine])

    def deviance(self, unit: float, rater: float) -> tuple[float, float]:
        """−2·log restricted likelihood (without constants) at these variance ratios, and the residual variance."""
        design, right, squares, log_det = self.design.copy(), self.right.copy(), self.squares, 0.0
        for k, n, outer, cross, total in self.classes:
            share = unit / (1 + k * unit)
            design -= share * outer
            right -= share * cross
            squares -= share * total
            log_det += n * np.log1p(k * unit)
        n_raters = right.size - 1
        if rater > 0:
            design[1:, 1:] += np.eye(n_raters) / rater
            log_det += n_raters * np.log(rater)
        else:
            design, right = design[:1, :1], right[:1]
        quadratic = squares - right @ np.linalg.solve(design, right)
        residual = max(quadratic, 1e-300) / (self.n - 1)
        return (self.n - 1) * np.log(residual) + log_det + np.linalg.slogdet(design)[1], residual


def _reml_estimates(data: _Sufficient) -> UnitRaterVariances:
    from scipy import optimize

    def at(point: Floats) -> float:
        return data.deviance(float(np.exp(point[0])), float(np.exp(point[1])))[0]

    bounds = [(np.log(1e-8), np.log(_LARGEST))] * 2
    starts = ((0.0, -2.0), (-3.0, -4.0), (3.0, 0.0))
    fits = [optimize.minimize(at, start, method="L-BFGS-B", bounds=bounds) for start in starts]
    best = min(fits, key=lambda one: float(one.fun))
    ratios = [float(np.exp(x)) for x in best.x]
    unit, rater = (0.0 if ratio < 1e-6 else ratio for ratio in ratios)
    residual = data.deviance(unit, rater)[1]
    return UnitRaterVariances(unit * residual, rater * residual, residual)


def compute_joint_category_probabilities(shares: Floats, correlation: float) -> Floats:
    """Probability that two raters choose categories (i, j), shape (K, K), if latent normal scores correlate.

    shares: of each category; they set the thresholds between categories. Integrates over the component that both
    raters share by Gauss–Hermite quadrature.
    """
    rho = min(max(correlation, 0.0), 1 - 1e-9)
    cut = scipy.special.ndtri(np.clip(np.cumsum(shares)[:-1], 0.0, 1.0))
    nodes, weight = np.polynomial.hermite_e.hermegauss(64)
    up = scipy.special.ndtr((cut[None, :] - np.sqrt(rho) * nodes[:, None]) / np.sqrt(1 - rho))
    edges = np.hstack((np.zeros((nodes.size, 1)), up, np.ones((nodes.size, 1))))
    chosen = np.diff(edges, axis=1)
    return np.asarray((chosen * (weight / weight.sum())[:, None]).T @ chosen, dtype=np.float64)
