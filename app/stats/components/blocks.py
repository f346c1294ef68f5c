"""Elimination of the mixed model's blocks at given variance ratios, independent of scores: segments, then documents.

Everything is relative to the residual variance: γ = σ²/σ²_e. Let a block have precision P and vector v after finer
blocks were eliminated. An effect with covariance Σ turns them into P̃ = (P⁻¹ + Σ)⁻¹ = P·T with T = (I + ΣP)⁻¹, and
ṽ = Tᵀv; it adds log|I + ΣP| to the log determinant. Blocks of the same pattern have the same matrices.

Sources: Henderson 1984; Patterson & Thompson 1971; Bates et al. 2015, §3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from app.stats.aggregate import Indices
from app.stats.components.layout import DocumentBatch, RowBlock, SegmentBatch
from app.stats.ratings import Bools, Floats

OF_SEGMENTS = ("segment", "segment_system", "rater_segment", "")
OF_DOCUMENTS = ("doc", "doc_system", "rater_doc", "rater_doc_system")
_HELD = 1 << 20  # most entries of gathered matrices held at once
_FEW = 4  # with this many blocks per pattern on average, each pattern is computed as one product


def multiply_by_pattern_matrices(values: Floats, matrices: Floats, borders: Indices) -> Floats:
    """Multiply the values of each block by its pattern's matrix. values : shape (k, g, n). matrices : (u, n, n)."""
    made = np.empty_like(values)
    if len(matrices) * _FEW <= values.shape[1]:
        for matrix, a, b in zip(matrices, borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            np.matmul(values[:, a:b], matrix, out=made[:, a:b])
        return made
    pattern = np.repeat(np.arange(len(matrices)), np.diff(borders))
    for some in _slices_of_size(len(pattern), matrices.shape[1]):
        made[:, some] = np.matmul(values[:, some].transpose(1, 0, 2), matrices[pattern[some]]).transpose(1, 0, 2)
    return made


def _slices_of_size(n: int, size: int) -> Iterator[slice]:
    step = max(1, _HELD // (size * size))
    return (slice(start, start + step) for start in range(0, n, step))


def _covariance(same_system: Bools, same_rater: Bools, ratios: Mapping[str, float], terms: tuple[str, ...]) -> Floats:
    """Σ of blocks: a variance shared by all rows, plus one each for equal systems, raters, both; shape (u, n, n)."""
    whole, system, rater, both = (ratios.get(term, 0.0) for term in terms)
    covariance = whole + system * same_system + rater * same_rater
    if both:
        covariance += both * np.eye(covariance.shape[-1])
    return np.asarray(covariance, dtype=np.float64)


def _inverses(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrices), dtype=np.float64)


def _log_determinants(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.slogdet(matrices)[1], dtype=np.float64)


class RowBlockAfterElimination:
    """A row block with its segments and documents eliminated: everything that does not depend on scores."""

    def __init__(self, share: RowBlock, ratios: Mapping[str, float]) -> None:
        self.share = share
        entries = np.zeros(share.n_entries)
        self.log_determinant = 0.0
        self.patterns = [self._segments(batch, ratios, entries) for batch in share.segments]
        self.documents = [_EliminatedDocuments(batch, entries, ratios) for batch in share.documents]
        self.log_determinant += sum(one.log_determinant for one in self.documents)

    def _segments(self, batch: SegmentBatch, ratios: Mapping[str, float], entries: Floats) -> Floats:
        """Invert the matrices of segment patterns, and add what the segments leave to the entries of documents."""
        n = batch.rows.shape[1]
        added = np.eye(n) + _covariance(batch.same_system, batch.same_rater, ratios, OF_SEGMENTS)
        inverse = _inverses(added)
        self.log_determinant += float(_log_determinants(added) @ np.diff(batch.borders))
        for some in _slices_of_size(len(batch.set_pattern), n):
            added_up = inverse[batch.set_pattern[some]] * _counts(batch, some)
            np.add.at(entries, _entries(batch, some).ravel(), added_up.ravel())
        return inverse

    def add_to_cross_document_equations(self, matrix: Floats) -> None:
        """Add what remains of the documents to the equations that span documents."""
        for batch in self.documents:
            batch.add_to(matrix)

    def multiply_by_segment_precision(self, values: Floats) -> Floats:
        """Multiply values of rows by the segments' precision P; shape (k, rows)."""
        made = np.empty_like(values)
        for batch, inverse in zip(self.share.segments, self.patterns, strict=True):
            made[:, batch.rows] = multiply_by_pattern_matrices(values[:, batch.rows], inverse, batch.borders)
        return made

    def sum_rows_by_cell(self, values: Floats) -> Floats:
        """Sum rows by cell; shape (k, rows) to (k, cells)."""
        n = self.share.n_cells
        return np.array([np.bincount(self.share.cell, weights=row, minlength=n) for row in values])

    def projection_traces(self, by_matrix: Floats) -> dict[str, float]:
        """Compute tr(P·ZZᵀ) for the terms of segments and documents.

        by_matrix : inverse of the equations that span documents, indexed by the columns to which documents are added.
        """
        by_entries = np.empty(self.share.n_entries)
        traces = dict.fromkeys((*OF_SEGMENTS, *OF_DOCUMENTS), 0.0)
        for documents in self.documents:
            by_precision, by_covariance = documents.back(by_matrix)
            by_entries[documents.at] = by_precision
            same_system, same_rater = documents.batch.same_system, documents.batch.same_rater
            inner = by_covariance.sum(), by_covariance[same_system].sum(), by_covariance[same_rater].sum()
            for term, value in zip(OF_DOCUMENTS, (*inner, np.einsum("uii->", by_covariance)), strict=True):
                traces[term] += float(value)
        for batch, inverse in zip(self.share.segments, self.patterns, strict=True):
            for term, value in zip(OF_SEGMENTS, _traces(batch, inverse, by_entries), strict=False):
                traces[term] += value
        return traces


def _entries(batch: SegmentBatch, some: slice) -> Indices:
    return batch.set_rows[some][:, :, None] + batch.set_columns[some][:, None, :]


def _counts(batch: SegmentBatch, some: slice) -> Indices:
    return batch.set_count[some][:, None, None]


def _traces(batch: SegmentBatch, inverse: Floats, by_entries: Floats) -> tuple[float, float, float]:
    """⟨P − P·Ā·P, structure⟩ for each structure of the segments' covariance; Ā is the adjoint of their entries."""
    count = np.diff(batch.borders)
    traces = []
    ones = np.ones_like(batch.same_system)
    for structure in (ones, batch.same_system, batch.same_rater):
        inner = inverse @ structure.astype(np.float64) @ inverse
        value = float(count @ (inverse * structure).sum(axis=(1, 2)))
        for some in _slices_of_size(len(batch.set_pattern), inverse.shape[1]):
            seen = by_entries[_entries(batch, some)] * _counts(batch, some)
            value -= float((seen * inner[batch.set_pattern[some]]).sum())
        traces.append(value)
    return traces[0], traces[1], traces[2]


@dataclass(frozen=True, slots=True, eq=False)
class EliminatedDocumentVectors:
    """Vectors of documents after elimination of the documents' effects: ṽ and Sv, shape (k, b, n) each."""

    left: Floats
    shrunk: Floats


class _EliminatedDocuments:
    """Documents of one size with their effects eliminated: T, P̃ and S = TΣ of each pattern, shape (u, n, n)."""

    def __init__(self, batch: DocumentBatch, entries: Floats, ratios: Mapping[str, float]) -> None:
        n = batch.cells.shape[1]
        self.batch, self.at = batch, batch.first[:, None, None] + np.arange(n * n).reshape(n, n)
        precision = entries[self.at]
        covariance = _covariance(batch.same_system, batch.same_rater, ratios, OF_DOCUMENTS)
        added = np.eye(n) + covariance @ precision
        self.count = np.diff(batch.borders)
        self.pattern = np.repeat(np.arange(self.count.size), self.count)
        self.log_determinant = float(_log_determinants(added) @ self.count)
        self.turn = _inverses(added)
        self.covariance: Floats = self.turn @ covariance
        self.precision: Floats = precision @ self.turn

    def add_to(self, matrix: Floats) -> None:
        """Add the remaining precision P̃ of the documents to the matrix of the spanning equations."""
        flat = matrix.reshape(-1)
        for kept, a, b in self._iterate_kind_pairs():
            at = self.batch.columns[kept, :, None, a] * len(matrix) + self.batch.columns[kept, None, :, b]
            np.add.at(flat, at.ravel(), self.precision[self.pattern[kept]].ravel())

    def _iterate_kind_pairs(self) -> Iterator[tuple[slice, int, int]]:
        """Iterate over slices of documents and over pairs of column kinds."""
        documents, n, kinds = self.batch.columns.shape
        return ((some, a, b) for some in _slices_of_size(documents, n) for a in range(kinds) for b in range(kinds))

    def eliminate(self, vector: Floats) -> EliminatedDocumentVectors:
        """Eliminate the documents' effects from vectors by cell, shape (k, cells)."""
        own, borders = vector[:, self.batch.cells], self.batch.borders
        transposed = self.covariance.transpose(0, 2, 1)
        return EliminatedDocumentVectors(
            multiply_by_pattern_matrices(own, self.turn, borders),
            multiply_by_pattern_matrices(own, transposed, borders),
        )

    def add_vector_to(self, left: Floats, vector: Floats) -> None:
        """Add ṽ, shape (k, b, n), to the right-hand sides of the spanning equations, shape (k, columns)."""
        for kind in range(self.batch.columns.shape[2]):
            at = self.batch.columns[:, :, kind].ravel()
            for number, own in enumerate(left.reshape(len(left), -1)):
                vector[number] += np.bincount(at, weights=own, minlength=vector.shape[1])

    def effects(self, left: EliminatedDocumentVectors, spanning: Floats) -> Floats:
        """Sum of all effects above the segment level, by cell: Sv + T·Zu. spanning : u, shape (k, columns)."""
        seen = np.zeros_like(left.shrunk)
        for kind in range(self.batch.columns.shape[2]):
            seen += spanning[:, self.batch.columns[:, :, kind]]
        return left.shrunk + multiply_by_pattern_matrices(seen, self.turn.transpose(0, 2, 1), self.batch.borders)

    def back(self, by_matrix: Floats) -> tuple[Floats, Floats]:
        """Return the adjoints of P and Σ of each pattern, summed over its documents."""
        n = self.batch.columns.shape[1]
        seen = np.zeros((len(self.turn), n, n))
        for some, a, b in self._iterate_kind_pairs():
            gathered = by_matrix[self.batch.columns[some, :, None, a], self.batch.columns[some, None, :, b]]
            pattern = self.pattern[some]
            starts = np.flatnonzero(np.diff(pattern, prepend=-1))
            seen[pattern[starts]] += np.add.reduceat(gathered, starts, axis=0)
        count = self.count[:, None, None]
        by_precision = self.turn @ seen @ self.turn.transpose(0, 2, 1) + count * self.covariance
        return by_precision, count * self.precision - self.precision @ seen @ self.precision
