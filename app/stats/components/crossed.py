"""A linear mixed model with arbitrary covariates and a few crossed random intercepts, fitted by REML.

y = Xβ + Σ_k Z_k u_k + e, with u_k and e independent and normal. Every row has one level of each random term, so Z_k'Z_k
is diagonal. The largest term is eliminated exactly, which leaves a small dense system (Henderson's equations).

Sources: Patterson & Thompson 1971; Henderson 1984; Bates et al. 2015, §3.4 (profile criterion).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from app.stats.aggregate import Indices
from app.stats.components.likelihood import invert_from_cholesky_factor
from app.stats.ratings import Floats

LOWEST, HIGHEST = -9.0, 9.0
"""Bounds of log(σ²/σ²_e); a component at the lower bound counts as 0."""
MOST_DENSE = 800
"""Most columns that may remain after the largest random term is eliminated."""
_SMALL, _WORSE = -5.0, 1e-3  # components below _SMALL go to the bound if the criterion rises by at most _WORSE
_FLAT, _ROUNDED = 1e-6, 1e-8  # slopes at which the search ends: absolute, and per row because rounding hides less


class TooManyLevels(ValueError):
    """The random terms have too many levels to be fitted together."""


@dataclass(frozen=True, slots=True, eq=False)
class MixedModelFit:
    """A fitted model. effects, covariance: for the columns of X, shapes (p,) and (p, p).

    components: variance of each random term, 0 at the lower bound, and of `residual`. criterion: −2 REML log
    likelihood up to a constant. n: rows. converged: whether the optimum was found.
    """

    effects: Floats
    covariance: Floats
    components: Mapping[str, float]
    criterion: float
    n: int
    converged: bool


def find_independent_columns(columns: Floats) -> Indices:
    """Indices of the columns that are linearly independent of those before them; shape (n, p) to (k,)."""
    kept: list[int] = []
    basis = np.empty((len(columns), 0))
    for at in range(columns.shape[1]):
        column = columns[:, at]
        size = float(np.sqrt(column @ column))
        left = column - basis @ (basis.T @ column)
        left -= basis @ (basis.T @ left)  # repeat: the first pass leaves rounding errors
        length = float(np.sqrt(left @ left))
        if length > 1e-8 * size > 0:
            kept.append(at)
            basis = np.column_stack((basis, left / length))
    return np.array(kept, dtype=np.intp)


def fit_crossed_model(y: Floats, x: Floats, levels: Mapping[str, Indices]) -> MixedModelFit:
    """Fit the model.

    Parameters
    ----------
    y : shape (n,). x : covariates including the intercept, of full rank, shape (n, p) with n > p.
    levels : level of each row for each random term, dense codes of shape (n,); the data must identify all terms.

    Raises
    ------
    TooManyLevels
        More than 800 columns would remain besides the largest term.
    """
    plain = np.linalg.lstsq(x, y)[0]  # subtracted first, because sums of squared residuals lose fewer digits
    equations = _Equations(y - x @ plain, x, levels)
    start = np.full(len(levels), -1.0)
    at, converged = _optimum(equations, start)
    low = at < _SMALL
    if low.any():
        tried = np.where(low, LOWEST, at)
        if equations.solve(tried).criterion <= equations.solve(at).criterion + _WORSE:
            at, converged = _optimum(equations, tried)
    solution = equations.solve(at)
    ratios = np.where(at <= LOWEST + 1e-6, 0.0, np.exp(at))
    components = {term: float(r) * solution.residual for term, r in zip(equations.terms, ratios, strict=True)}
    p = x.shape[1]
    return MixedModelFit(
        effects=solution.solution[:p] + plain,
        covariance=np.asarray(solution.inverse[:p, :p] * solution.residual, dtype=np.float64),
        components={**{term: components[term] for term in levels}, "residual": solution.residual},
        criterion=solution.criterion,
        n=y.size,
        converged=converged,
    )


def _optimum(equations: _Equations, start: Floats) -> tuple[Floats, bool]:
    if not start.size:
        return start, True
    bounds = [(LOWEST, HIGHEST)] * start.size
    flat = max(_FLAT, _ROUNDED * equations.n)
    options = {"ftol": 1e-12, "gtol": flat, "maxiter": 100, "maxls": 10}

    def criterion(at: Floats) -> tuple[float, Floats]:
        solution = equations.solve(at)
        return solution.criterion, solution.gradient

    optimum = scipy.optimize.minimize(criterion, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    at = np.asarray(optimum.x, dtype=np.float64)
    left = at - np.clip(at - optimum.jac, LOWEST, HIGHEST)  # the line search may stop early because of rounding
    return at, bool(optimum.success) or float(np.abs(left).max()) <= 10 * flat


@dataclass(frozen=True, slots=True, eq=False)
class _MixedModelSolution:
    """The criterion at some ratios, and its gradient in the log ratios.

    residual: σ̂²_e. solution, inverse: of the dense equations, covariates first.
    """

    criterion: float
    gradient: Floats
    residual: float
    solution: Floats
    inverse: Floats


class _Equations:
    """All cross products, computed once; the largest random term is kept separate."""

    def __init__(self, y: Floats, x: Floats, levels: Mapping[str, Indices]) -> None:
        self.n, self.p = x.shape
        sizes = {term: int(codes.max(initial=-1)) + 1 for term, codes in levels.items()}
        widest = max(sizes, key=lambda term: sizes[term], default=None)
        rest = [term for term in levels if term != widest]
        self.terms = [*rest, *([] if widest is None else [widest])]
        self.sizes = [sizes[term] for term in self.terms]
        if self.p + sum(sizes[term] for term in rest) > MOST_DENSE:
            raise TooManyLevels(f"{sum(self.sizes):,} levels of {', '.join(levels)}; they are too many to fit together")
        dense = scipy.sparse.hstack(
            [scipy.sparse.csr_array(x), *(_incidence(levels[term], sizes[term]) for term in rest)]
        ).tocsr()
        own = scipy.sparse.csr_array((self.n, 0)) if widest is None else _incidence(levels[widest], sizes[widest])
        self.within = np.asarray((dense.T @ dense).toarray(), dtype=np.float64)
        self.across = (own.T @ dense).tocsr()
        self.counts = np.asarray(own.sum(axis=0), dtype=np.float64).ravel()
        self.right, self.own_right = np.asarray(dense.T @ y), np.asarray(own.T @ y)
        self.square = float(y @ y)

    def solve(self, at: Floats) -> _MixedModelSolution:
        """Evaluate the equations at the log ratios log(σ²/σ²_e), in the order of `terms`."""
        ratios = np.exp(at)
        matrix, right, square = self.within.copy(), self.right, self.square
        diagonal = self.counts + 1 / ratios[-1] if self.sizes else np.empty(0)
        if self.sizes:
            matrix -= self._schur_complement(diagonal)
            right = right - self.across.T @ (self.own_right / diagonal)
            square -= float((self.own_right**2 / diagonal).sum())
        place = np.arange(self.p, len(matrix))
        matrix[place, place] += np.repeat(1 / ratios[:-1], self.sizes[:-1])
        factor = scipy.linalg.cho_factor(matrix, lower=True)
        solution = np.asarray(scipy.linalg.cho_solve(factor, right), dtype=np.float64)
        inverse = invert_from_cholesky_factor(factor[0])
        log_determinant = 2 * float(np.log(np.diag(factor[0])).sum()) + float(np.log(diagonal).sum())
        log_determinant += float(at @ np.array(self.sizes, dtype=np.float64))
        free = self.n - self.p
        residual = max(square - float(right @ solution), np.finfo(float).tiny) / free
        criterion = free * float(np.log(residual)) + log_determinant
        gradient = self._gradient(ratios, residual, solution, inverse, diagonal)
        return _MixedModelSolution(criterion, gradient, residual, solution, inverse)

    def _schur_complement(self, diagonal: Floats) -> Floats:
        """Cross products of the other columns through the eliminated term, weighted by 1/diagonal; shape (q, q)."""
        by = scipy.sparse.diags_array(1 / diagonal) @ self.across
        return np.asarray((self.across.T @ by).toarray(), dtype=np.float64)

    def _gradient(self, ratios: Floats, residual: float, solution: Floats, inverse: Floats, diagonal: Floats) -> Floats:
        """q_k − (tr C^kk + u_k'u_k/σ̂²_e)/γ_k for each term; C^kk and u_k: inverse and predictions for its levels."""
        gradient, place = np.empty(len(self.sizes)), self.p
        for k, size in enumerate(self.sizes[:-1]):
            own = slice(place, place + size)
            u = solution[own]
            gradient[k] = size - (float(np.diag(inverse)[own].sum()) + float(u @ u) / residual) / ratios[k]
            place += size
        if self.sizes:
            u = (self.own_right - self.across @ solution) / diagonal
            trace = float((1 / diagonal).sum()) + float((self._schur_complement(diagonal**2) * inverse).sum())
            gradient[-1] = self.sizes[-1] - (trace + float(u @ u) / residual) / ratios[-1]
        return gradient


def _incidence(level: Indices, size: int) -> scipy.sparse.csr_array:
    n = level.size
    return scipy.sparse.csr_array((np.ones(n), (np.arange(n), level)), shape=(n, size))
