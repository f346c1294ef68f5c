"""Minimize the REML criterion over variance ratios within bounds, by average-information steps.

Source: Gilmour, Thompson & Cullis 1995, *Biometrics* 51.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np
import scipy

from app.stats.components.likelihood import MixedModelEquations, RemlEvaluation
from app.stats.ratings import Floats

LOWEST, HIGHEST = exp(-9.0), exp(9.0)
"""Bounds of σ²/σ²_e; a component at the lower bound counts as 0."""

_MOST_STEPS = 100
_MOST_HALVED = 20
_ENOUGH = 1e-4  # a step is taken if it achieves this share of the decrease that the slope predicts
_FLAT, _LEAST = 1e-16, 1e-100  # smallest curvature of a ratio: relative to the largest, and absolute
_RIDGE = 1e-10  # smallest scaled eigenvalue, so that uninformative directions get finite steps


@dataclass(frozen=True, slots=True, eq=False)
class RemlOptimum:
    """Result of the search: the equations at the final ratios, and their solution for the scores."""

    equations: MixedModelEquations
    solution: RemlEvaluation
    converged: bool


def minimize_reml(
    start: MixedModelEquations, score: Floats, *, close: float, held: frozenset[str] = frozenset()
) -> RemlOptimum:
    """Minimize the criterion until another step would lower it by less than `close`.

    held : terms whose ratios stay fixed.
    """
    equations, solution = start, start.solve_and_evaluate(score)
    terms = [term for term in start.ratios if term not in held]
    if not terms:
        return RemlOptimum(equations, solution, converged=True)
    for _ in range(_MOST_STEPS):
        at = np.array([equations.ratios[term] for term in terms])
        slope = np.array([solution.gradient[term] for term in terms]) / at
        curvature = equations.average_information(solution, terms)
        step = _step(slope, curvature, LOWEST - at, HIGHEST - at)
        if -(slope @ step + step @ curvature @ step / 2) < close:
            return RemlOptimum(equations, solution, converged=True)
        for halved in range(_MOST_HALVED):
            part = 0.5**halved
            moved = np.clip(at + part * step, LOWEST, HIGHEST)
            ratios = {**equations.ratios, **dict(zip(terms, moved.tolist(), strict=True))}
            tried = MixedModelEquations(start.layout, ratios)
            there = tried.solve_and_evaluate(score)
            if there.criterion <= solution.criterion + _ENOUGH * part * float(slope @ step):
                break
        else:
            return RemlOptimum(equations, solution, converged=False)
        equations, solution = tried, there
    return RemlOptimum(equations, solution, converged=False)


def _step(slope: Floats, curvature: Floats, least: Floats, most: Floats) -> Floats:
    """Minimize slope·x + x·curvature·x/2 subject to least ≤ x ≤ most."""
    own = np.diag(curvature)
    scale = 1 / np.sqrt(np.maximum(own, max(_FLAT * own.max(), _LEAST)))
    # Use eigenvalues, because the curvature is singular if terms are not identifiable, as with one system.
    values, vectors = scipy.linalg.eigh(curvature * np.outer(scale, scale))
    roots = np.sqrt(np.maximum(values, _RIDGE))
    right = vectors.T @ (-slope * scale) / roots
    bounds = least / scale, most / scale
    at = scipy.optimize.lsq_linear(roots[:, None] * vectors.T, right, bounds=bounds, method="bvls", tol=1e-12)
    return np.asarray(np.clip(at.x * scale, least, most), dtype=np.float64)
