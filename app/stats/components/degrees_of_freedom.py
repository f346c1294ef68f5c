"""Satterthwaite's degrees of freedom for differences of adjusted means.

The variance v of a difference is itself estimated. Its own variance follows from the curvature of the REML criterion in
the components (delta method). If the true difference is 0, the estimate over its standard error approximately follows
Student's t with 2·v²/Var(v̂) degrees of freedom.

Sources: Satterthwaite 1946; Fai & Cornelius 1996; Kuznetsova, Brockhoff & Christensen 2017 (lmerTest).
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from app.stats.components.fit import VarianceComponentsFit
from app.stats.components.layout import make_model_layout
from app.stats.components.likelihood import RemlEvaluation, evaluate_reml
from app.stats.components.optimum import LOWEST
from app.stats.components.terms import RESIDUAL
from app.stats.ratings import Floats

_STEP = 0.01
"""Step of the log ratio in central differences."""
_FLAT = 1e-6
"""A direction whose curvature relative to the largest is below this tells nothing about the components."""


def compute_satterthwaite_degrees(fitted: VarianceComponentsFit) -> Floats:
    """Degrees of freedom for the difference between each two systems, shape (S, S); NaN on the diagonal.

    Components at the lower bound are treated as known to be 0, as in lme4. The criterion is profiled over the residual
    variance, so Var(v̂) = 2·(gᵀH⁻¹g + v²/f). Here v is the variance at the optimum, g its gradient in the log ratios, H
    the curvature of the criterion, and f the number of rows minus systems.
    """
    arranged = make_model_layout(fitted.rows, fitted.terms)
    residual = fitted.components[RESIDUAL]
    terms = [term for term in fitted.terms if term not in fitted.at_bound]
    x = {t: log(LOWEST if t in fitted.at_bound else fitted.components[t] / residual) for t in fitted.terms}

    def at(term: str, step: float) -> RemlEvaluation:
        return evaluate_reml(arranged, fitted.rows.score, {t: exp(v + step * (t == term)) for t, v in x.items()})

    curvature = np.zeros((len(terms), len(terms)))
    slopes = np.zeros((len(terms), *fitted.covariance.shape))
    for row, term in enumerate(terms):
        up, down = at(term, _STEP), at(term, -_STEP)
        curvature[row] = [(up.gradient[t] - down.gradient[t]) / (2 * _STEP) for t in terms]
        slopes[row] = (_variances(up, fitted) - _variances(down, fitted)) / (2 * _STEP)
    variance = _variances_of_differences(fitted.covariance)
    spread = variance**2 / (arranged.n_rows - arranged.n_systems)
    if terms:
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        informative = values > _FLAT * max(values.max(), 0.0)
        turned = np.einsum("ka,kij->aij", vectors[:, informative], slopes)
        spread = spread + (turned**2 / values[informative][:, None, None]).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(variance**2 / spread, dtype=np.float64)


def _variances(solution: RemlEvaluation, fitted: VarianceComponentsFit) -> Floats:
    n = len(fitted.means)
    return _variances_of_differences(solution.inverse[:n, :n] * solution.residual)


def _variances_of_differences(covariance: Floats) -> Floats:
    own = np.diag(covariance)
    return np.asarray(own[:, None] + own[None, :] - 2 * covariance, dtype=np.float64)
