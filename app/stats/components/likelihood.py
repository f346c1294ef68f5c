"""The profile REML criterion of the mixed model, its gradient and its average information.

Segments and documents are eliminated (see `blocks`). The remaining equations span documents and are solved as
Henderson's mixed model equations. Let r = P·y, where P is the matrix that removes the fixed effects. The derivative of
the criterion with respect to γ_k is tr(P·Z_kZ_kᵀ) − |Z_kᵀr|²/σ̂²_e; its first part does not depend on scores.

Sources: Henderson 1984; Patterson & Thompson 1971; Gilmour, Thompson & Cullis 1995 (average information);
Bates et al. 2015, §3.4 (profile criterion).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from app.stats.components.blocks import RowBlockAfterElimination
from app.stats.components.layout import ModelLayout
from app.stats.ratings import Floats


@dataclass(frozen=True, slots=True, eq=False)
class RemlEvaluation:
    """The criterion (−2 REML log likelihood up to a constant) at given ratios, and its gradient in the log ratios.

    residual: σ̂²_e. solution: for the fixed and spanning random columns, shape (columns,). inverse: of their
    coefficient matrix; times σ̂²_e it is the variance of estimates and of prediction errors. rest: P·y, shape (N,).
    """

    criterion: float
    gradient: dict[str, float]
    residual: float
    solution: Floats
    inverse: Floats
    rest: Floats


def evaluate_reml(layout: ModelLayout, score: Floats, ratios: Mapping[str, float]) -> RemlEvaluation:
    """Evaluate the criterion.

    score : shape (N,). ratios : γ of every estimated term, above 0.
    Raises LinAlgError if the fixed effects cannot be estimated.
    """
    return MixedModelEquations(layout, ratios).solve_and_evaluate(score)


class MixedModelEquations:
    """The equations at given ratios, prepared once for any number of scores.

    Raises LinAlgError if the fixed effects cannot be estimated.
    """

    def __init__(self, layout: ModelLayout, ratios: Mapping[str, float]) -> None:
        self.layout, self.ratios = layout, dict(ratios)
        self._kept: list[RowBlockAfterElimination] = []
        added = np.zeros((layout.n_accumulated_columns, layout.n_accumulated_columns))
        self._log_determinant = 0.0
        for share in layout.shares:
            eliminated = RowBlockAfterElimination(share, ratios)
            self._log_determinant += eliminated.log_determinant
            eliminated.add_to_cross_document_equations(added)
            if len(layout.shares) == 1:
                self._kept.append(eliminated)
        matrix, random = self._spread_matrix(added), self._random_diagonal()
        np.einsum("ii->i", matrix)[layout.n_systems :] += 1 / random
        factor, _ = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        self._log_determinant += 2 * float(np.log(np.diag(factor)).sum()) + float(np.log(random).sum())
        self.inverse = invert_from_cholesky_factor(factor)
        self.traces = self._traces()

    def _shares(self) -> Iterator[RowBlockAfterElimination]:
        """Iterate over eliminated row blocks; several are computed again, so that only one is in memory."""
        return iter(self._kept or (RowBlockAfterElimination(share, self.ratios) for share in self.layout.shares))

    def _random_diagonal(self) -> Floats:
        return np.concatenate([np.zeros(0), *(np.full(n, self.ratios[t]) for t, n in self.layout.sizes.items())])

    def _spread_matrix(self, added: Floats) -> Floats:
        """Convert sums by combination of system and rater to sums by the model's columns."""
        spread = self.layout.spread
        if spread is None:
            return added
        wide = added @ spread
        if "rater_system" not in self.layout.sizes:
            return np.asarray(spread.T @ wide)
        return np.block([[spread.T @ wide, wide.T], [wide, added]])

    def _adjoint_collapse(self, matrix: Floats) -> Floats:
        """Adjoint of `_spread_matrix`: convert a matrix by columns to one by combinations of system and rater."""
        spread = self.layout.spread
        if spread is None:
            return matrix
        k = spread.shape[1]
        if "rater_system" not in self.layout.sizes:
            return np.asarray(spread @ matrix @ spread.T)
        half = spread @ (matrix[:k, k:] + matrix[:k, :k] @ spread.T / 2)
        return np.asarray(matrix[k:, k:] + half + half.T)

    def _traces(self) -> dict[str, float]:
        """Compute tr(P·ZZᵀ) for each term."""
        traces = dict.fromkeys(self.ratios, 0.0)
        by_matrix = self._adjoint_collapse(self.inverse)
        for share in self._shares():
            for term, value in share.projection_traces(by_matrix).items():
                if term in traces:
                    traces[term] += value
        at, diagonal = self.layout.n_systems, np.diag(self.inverse)
        for term, n in self.layout.sizes.items():
            ratio = self.ratios[term]
            traces[term] = (n - float(diagonal[at : at + n].sum()) / ratio) / ratio
            at += n
        return traces

    def solve_and_evaluate(self, score: Floats) -> RemlEvaluation:
        """Evaluate the criterion for scores of shape (N,)."""
        rest, solution, _ = self._apply(score[None])
        free = self.layout.n_rows - self.layout.n_systems
        residual = max(float(score @ rest[0]), np.finfo(float).tiny) / free
        gradient = {
            term: ratio * (self.traces[term] - float((sums**2).sum()) / residual)
            for (term, ratio), sums in zip(self.ratios.items(), self._level_sums(rest[0], self.ratios), strict=True)
        }
        criterion = free * float(np.log(residual)) + self._log_determinant
        return RemlEvaluation(criterion, gradient, residual, solution[0], self.inverse, rest[0])

    def _level_sums(self, rest: Floats, terms: Iterable[str]) -> Iterator[Floats]:
        """Compute Zᵀr for each term."""
        return (np.bincount(self.layout.levels[term], weights=rest).astype(np.float64) for term in terms)

    def _apply(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Return P times values, shape (k, N), and the solutions and right-hand sides of the spanning equations."""
        rest = np.empty_like(values)
        right = np.zeros((len(values), self.layout.n_accumulated_columns))
        for share in self._shares():
            at = slice(share.share.start, share.share.stop)
            rest[:, at] = share.multiply_by_segment_precision(values[:, at])
            vector = share.sum_rows_by_cell(rest[:, at])
            for documents in share.documents:
                documents.add_vector_to(documents.eliminate(vector).left, right)
        spread = self.layout.spread
        if spread is not None:
            right = np.hstack([right @ spread, right]) if "rater_system" in self.layout.sizes else right @ spread
        solution = right @ self.inverse
        seen = solution
        if spread is not None:
            k = spread.shape[1]
            seen = solution[:, :k] @ spread.T
            if "rater_system" in self.layout.sizes:
                seen += solution[:, k:]
        for share in self._shares():
            at = slice(share.share.start, share.share.stop)
            vector, effects = share.sum_rows_by_cell(rest[:, at]), np.empty((len(values), share.share.n_cells))
            for documents in share.documents:
                effects[:, documents.batch.cells] = documents.effects(documents.eliminate(vector), seen)
            rest[:, at] -= share.multiply_by_segment_precision(effects[:, share.share.cell])
        return rest, solution, right

    def average_information(self, solution: RemlEvaluation, terms: Sequence[str]) -> Floats:
        """Twice the average information of some ratios, with σ̂²_e profiled out; shape (t, t).

        This is the curvature of the criterion. Its entries are f_iᵀPf_j/σ̂²_e − q_i·q_j/free with f = ZZᵀr and
        q = |Zᵀr|²/σ̂²_e.
        """
        sums = list(self._level_sums(solution.rest, terms))
        levels = self.layout.levels
        working = np.array([own[levels[term]] for term, own in zip(terms, sums, strict=True)])
        quadratic = np.array([float((own**2).sum()) for own in sums]) / solution.residual
        rest, _, _ = self._apply(working)
        free = self.layout.n_rows - self.layout.n_systems
        curvature = working @ rest.T / solution.residual - np.outer(quadratic, quadratic) / free
        return np.asarray((curvature + curvature.T) / 2, dtype=np.float64)


def invert_from_cholesky_factor(lower: Floats) -> Floats:
    """Invert a matrix from its lower Cholesky factor, at a third of the cost of solving for every column."""
    half, _ = scipy.linalg.lapack.dpotri(lower, lower=1)
    half = np.tril(half)
    return np.asarray(half + np.tril(half, -1).T, dtype=np.float64)
