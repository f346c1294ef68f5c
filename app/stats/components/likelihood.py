"""The profile REML criterion of the mixed model and its gradient, by eliminating segments, then documents.

Everything is relative to the residual variance: γ = σ²/σ²_e. A block with precision P (what it has left after finer
blocks were eliminated) and vector v that gets an effect with covariance Σ becomes P̃ = (P⁻¹ + Σ)⁻¹ = P·T with
T = (I + ΣP)⁻¹, and ṽ = Tᵀv; it adds log|I + ΣP| to the log determinant. What is left spans documents and is solved as
Henderson's mixed model equations. The gradient goes the same way backwards.

Sources: Henderson 1984; Patterson & Thompson 1971; profile criterion: PB-1 of the methods; Bates et al. 2015, §3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from app.stats.aggregate import Indices
from app.stats.components.layout import DocumentBatch, ModelLayout, RowBlock, SegmentBatch
from app.stats.ratings import Bools, Floats

_HELD = 1 << 20  # entries of gathered matrices at once
_OF_SEGMENTS = ("segment", "segment_system", "rater_segment", "")
_OF_DOCUMENTS = ("doc", "doc_system", "rater_doc", "rater_doc_system")


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """At given ratios: criterion (−2 REML log likelihood up to a constant), its gradient by the log of each ratio.

    residual: σ̂²_e. solution: of the fixed and spanning random columns, shape (columns,). inverse: of their coefficient
    matrix; times σ̂²_e it is the variance of estimates and of prediction errors.
    """

    criterion: float
    gradient: dict[str, float]
    residual: float
    solution: Floats
    inverse: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Forward:
    """What a share leaves: entries P and vector v of its documents, patterns' T = P, and what has been summed up."""

    patterns: tuple[Floats, ...]
    entries: Floats
    vector: Floats
    solved: Floats
    square: float
    log_determinant: float


def solve(layout: ModelLayout, score: Floats, ratios: Mapping[str, float]) -> Solution:
    """Evaluate the criterion.

    score : shape (N,). ratios : γ above 0 of every term that is estimated.
    Raises LinAlgError where the fixed effects cannot be estimated.
    """
    matrix = np.zeros((layout.n_columns, layout.n_columns))
    vector = np.zeros(layout.n_columns)
    square = log_determinant = 0.0
    kept: dict[int, _Forward] = {}
    for number, share in enumerate(layout.shares):
        state = _forward(share, score, ratios)
        square, log_determinant = square + state.square, log_determinant + state.log_determinant
        for batch in share.documents:
            left = _EliminatedDocuments(batch, state, ratios)
            square -= left.explained
            log_determinant += left.log_determinant
            left.add_to(matrix, vector)
        if len(layout.shares) == 1:
            kept[number] = state
    random, column = _random_diagonal(layout, ratios), layout.n_systems
    np.einsum("ii->i", matrix)[column:] += 1 / random
    factor = linalg.cho_factor(matrix, lower=True)
    inverse = np.asarray(linalg.cho_solve(factor, np.eye(len(matrix))))
    solution = np.asarray(linalg.cho_solve(factor, vector))
    log_determinant += 2 * float(np.log(np.diag(factor[0])).sum()) + float(np.log(random).sum())
    free = layout.n_rows - layout.n_systems
    residual = max(square - float(vector @ solution), np.finfo(float).tiny) / free
    adjoint = _Adjoint(inverse + np.outer(solution, solution) / residual, -2 * solution / residual, 1 / residual)
    gradient = _spanning_gradient(layout, ratios, adjoint)
    for number, share in enumerate(layout.shares):
        state = kept.get(number) or _forward(share, score, ratios)
        _backward(share, state, ratios, adjoint, gradient)
    return Solution(free * float(np.log(residual)) + log_determinant, gradient, residual, solution, inverse)


@dataclass(frozen=True, slots=True, eq=False)
class _Adjoint:
    """Derivatives of the criterion by the spanning matrix, its vector, and the sum of squares."""

    matrix: Floats
    vector: Floats
    square: float


def _random_diagonal(layout: ModelLayout, ratios: Mapping[str, float]) -> Floats:
    return np.concatenate([np.zeros(0), *(np.full(n, ratios[term]) for term, n in layout.sizes.items())])


def _spanning_gradient(layout: ModelLayout, ratios: Mapping[str, float], adjoint: _Adjoint) -> dict[str, float]:
    """d/d log γ of the random columns: q − (Σ of the adjoint's diagonal)/γ; 0 to start with for all others."""
    gradient, at, diagonal = dict.fromkeys(ratios, 0.0), layout.n_systems, np.diag(adjoint.matrix)
    for term, n in layout.sizes.items():
        gradient[term] = n - float(diagonal[at : at + n].sum()) / ratios[term]
        at += n
    return gradient


def _covariance(same_system: Bools, same_rater: Bools, ratios: Mapping[str, float], terms: tuple[str, ...]) -> Floats:
    """Σ of blocks: one value for all, added where systems, raters, or both are the same; shape (b, n, n)."""
    whole, system, rater, both = (ratios.get(term, 0.0) for term in terms)
    covariance = whole + system * same_system + rater * same_rater
    if both:
        covariance += both * np.eye(covariance.shape[-1])
    return np.asarray(covariance, dtype=np.float64)


def _inverses(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrices), dtype=np.float64)


def _log_determinants(matrices: Floats) -> float:
    return float(np.linalg.slogdet(matrices)[1].sum())


def _pieces(n: int, size: int) -> Iterator[slice]:
    step = max(1, _HELD // (size * size))
    return (slice(start, start + step) for start in range(0, n, step))


def _forward(share: RowBlock, score: Floats, ratios: Mapping[str, float]) -> _Forward:
    """Eliminate the segments of a share."""
    y = score[share.start : share.stop]
    entries, solved = np.zeros(share.n_entries), np.empty(y.size)
    patterns, log_determinant = [], 0.0
    for batch in share.segments:
        n = batch.rows.shape[1]
        added = np.eye(n) + _covariance(batch.same_system, batch.same_rater, ratios, _OF_SEGMENTS)
        inverse = _inverses(added)
        log_determinant += float(np.linalg.slogdet(added)[1][batch.pattern].sum())
        for some in _pieces(len(batch.set_pattern), n):
            added_up = inverse[batch.set_pattern[some]] * _counts(batch, some)
            np.add.at(entries, _entries(batch, some).ravel(), added_up.ravel())
        for some in _pieces(len(batch.rows), n):
            at = batch.rows[some]
            solved[at] = np.matmul(inverse[batch.pattern[some]], y[at][:, :, None])[:, :, 0]
        patterns.append(inverse)
    vector = np.asarray(np.bincount(share.cell, weights=solved, minlength=share.n_cells), dtype=np.float64)
    return _Forward(tuple(patterns), entries, vector, solved, float(y @ solved), log_determinant)


def _entries(batch: SegmentBatch, some: slice) -> Indices:
    return batch.set_rows[some][:, :, None] + batch.set_columns[some][:, None, :]


def _counts(batch: SegmentBatch, some: slice) -> Indices:
    return batch.set_count[some][:, None, None]


class _EliminatedDocuments:
    """Documents of one size with their own effects eliminated: T, P̃, ṽ and S = TΣ, shapes (b, n, n) and (b, n)."""

    def __init__(self, batch: DocumentBatch, state: _Forward, ratios: Mapping[str, float]) -> None:
        n = batch.cells.shape[1]
        self.batch, self.at = batch, batch.first[:, None, None] + np.arange(n * n).reshape(n, n)
        precision, self.vector = state.entries[self.at], state.vector[batch.cells]
        covariance = _covariance(batch.same_system, batch.same_rater, ratios, _OF_DOCUMENTS)
        added = np.eye(n) + covariance @ precision
        self.log_determinant = _log_determinants(added)
        self.turn = _inverses(added)
        self.covariance: Floats = self.turn @ covariance
        self.precision: Floats = precision @ self.turn
        self.left = np.einsum("bij,bi->bj", self.turn, self.vector)
        self.shrunk: Floats = np.einsum("bij,bj->bi", self.covariance, self.vector)
        self.explained = float((self.vector * self.shrunk).sum())

    def add_to(self, matrix: Floats, vector: Floats) -> None:
        """Add what is left to the spanning equations."""
        columns, flat = self.batch.columns, matrix.reshape(-1)
        kinds = range(columns.shape[2])
        for a in kinds:
            np.add.at(vector, columns[:, :, a].ravel(), self.left.ravel())
            for b in kinds:
                at = columns[:, :, None, a] * len(matrix) + columns[:, None, :, b]
                np.add.at(flat, at.ravel(), self.precision.ravel())

    def back(self, adjoint: _Adjoint) -> tuple[Floats, Floats, Floats]:
        """Adjoints of P and v of these documents, and of Σ."""
        columns = self.batch.columns
        kinds = range(columns.shape[2])
        by_matrix = np.zeros_like(self.precision)
        by_vector = np.zeros_like(self.left)
        for a in kinds:
            by_vector += adjoint.vector[columns[:, :, a]]
            for b in kinds:
                by_matrix += adjoint.matrix[columns[:, :, None, a], columns[:, None, :, b]]
        return _eliminated_back(
            (self.turn, self.covariance, self.shrunk), (self.precision, self.left), (by_matrix, by_vector, adjoint)
        )


def _eliminated_back(
    step: tuple[Floats, Floats, Floats], result: tuple[Floats, Floats], by: tuple[Floats, Floats, _Adjoint]
) -> tuple[Floats, Floats, Floats]:
    """From the adjoints of (P̃, ṽ) and the sum of squares to those of P, v and Σ; see the head of the module."""
    turn, covariance, shrunk = step
    precision, left = result
    by_matrix, by_vector, adjoint = by
    turned = np.einsum("bij,bj->bi", turn, by_vector)
    both = _outer(turned, shrunk) / 2
    by_precision = turn @ by_matrix @ turn.transpose(0, 2, 1) + covariance
    by_precision += adjoint.square * _outer(shrunk, shrunk) - both - both.transpose(0, 2, 1)
    by_old_vector = turned - 2 * adjoint.square * shrunk
    through = np.einsum("bij,bj->bi", precision, by_vector)
    both = _outer(through, left) / 2
    by_covariance = precision - precision @ by_matrix @ precision
    by_covariance -= adjoint.square * _outer(left, left) + both + both.transpose(0, 2, 1)
    return by_precision, by_old_vector, by_covariance


def _outer(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[:, :, None] * b[:, None, :])


def _backward(
    share: RowBlock,
    state: _Forward,
    ratios: Mapping[str, float],
    adjoint: _Adjoint,
    gradient: dict[str, float],
) -> None:
    """Add a share's part of the gradient."""
    by_entries, by_vector = np.empty(share.n_entries), np.empty(share.n_cells)
    for batch in share.documents:
        left = _EliminatedDocuments(batch, state, ratios)
        by_precision, by_cells, by_covariance = left.back(adjoint)
        by_entries[left.at], by_vector[batch.cells] = by_precision, by_cells
        sums = _inner_products(by_covariance, batch.same_system, batch.same_rater)
        _add(gradient, ratios, _OF_DOCUMENTS, sums)
    for segments, inverse in zip(share.segments, state.patterns, strict=True):
        _add(gradient, ratios, _OF_SEGMENTS, (*_traces(segments, inverse, by_entries), 0.0))
    _add(gradient, ratios, _OF_SEGMENTS, (*_squares(share, state, by_vector[share.cell], adjoint.square), 0.0))


def _add(
    gradient: dict[str, float], ratios: Mapping[str, float], terms: tuple[str, ...], values: tuple[float, ...]
) -> None:
    for term, value in zip(terms, values, strict=True):
        if term in gradient:
            gradient[term] += value * ratios[term]


def _inner_products(by: Floats, same_system: Bools, same_rater: Bools) -> tuple[float, float, float, float]:
    """Inner products of an adjoint of Σ with the four structures of `_covariance`."""
    diagonal = float(np.einsum("bii->", by))
    return float(by.sum()), float(by[same_system].sum()), float(by[same_rater].sum()), diagonal


def _traces(batch: SegmentBatch, inverse: Floats, by_entries: Floats) -> tuple[float, float, float]:
    """Of the segments' covariance the part that does not depend on scores: ⟨P − P·Ā·P, structure⟩."""
    count = np.bincount(batch.pattern, minlength=len(inverse))
    traces = []
    ones = np.ones_like(batch.same_system)
    for structure in (ones, batch.same_system, batch.same_rater):
        inner = inverse @ structure.astype(np.float64) @ inverse
        value = float(count @ (inverse * structure).sum(axis=(1, 2)))
        for some in _pieces(len(batch.set_pattern), inverse.shape[1]):
            seen = by_entries[_entries(batch, some)] * _counts(batch, some)
            value -= float((seen * inner[batch.set_pattern[some]]).sum())
        traces.append(value)
    return traces[0], traces[1], traces[2]


def _squares(share: RowBlock, state: _Forward, by_vector: Floats, by_square: float) -> tuple[float, float, float]:
    """The part that depends on scores: −⟨a·vᵀ + κ·v·vᵀ, structure⟩ with v = P·y and a = P·v̄, both summed by group."""
    turned = np.empty_like(by_vector)
    for batch, inverse in zip(share.segments, state.patterns, strict=True):
        for some in _pieces(len(batch.rows), inverse.shape[1]):
            at = batch.rows[some]
            turned[at] = np.matmul(inverse[batch.pattern[some]], by_vector[at][:, :, None])[:, :, 0]
    squares = []
    for group in (share.segment, share.by_system, share.by_rater):
        v = np.bincount(group, weights=state.solved)
        a = np.bincount(group, weights=turned)
        squares.append(-float((a * v).sum()) - by_square * float((v * v).sum()))
    return squares[0], squares[1], squares[2]
