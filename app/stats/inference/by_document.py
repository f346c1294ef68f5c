"""Standard errors and degrees of freedom of means and differences if documents are sampled (CR2, Bell–McCaffrey).

A score is Σsums/Σcounts over documents. Its deviation in document D is e_D = X_D − n_D·θ̂. A document with many of the
segments pulls θ̂ towards itself, so its e_D is too small; e_D/√(1 − n_D/N) corrects this if segments are
independent. If documents differ in length, the variance of such a sum has fewer than documents − 1 degrees of freedom;
they are Satterthwaite's, under a small correlation within documents.

Sources: Bell & McCaffrey 2002 (Survey Methodology 28); Imbens & Kolesár 2016 (Review of Economics and Statistics 98);
Pustejovsky & Tipton 2018 (Journal of Business & Economic Statistics 36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np

from app.stats.aggregate import Indices
from app.stats.ratings import Floats

CORRELATION = 0.02
"""Correlation of two segments of one document in the working model for degrees of freedom.

With the usual 0, 95 % intervals cover only .92 to .94 of the true values if documents differ much in length and their
segments correlate; with .02 they cover at least .945 (docs/statistics.md, the simulation in the tests). It makes
intervals 5 % wider with 30 documents of lognormal lengths, and no wider if documents are equally long.
"""


@dataclass(frozen=True, slots=True)
class EstimatePrecision:
    """Precision of estimates; arrays of the same shape.

    error: standard error, NaN below two documents. degrees: of freedom of its square, 0 below two documents.
    documents: number behind each estimate. effective: (Σn)²/Σn², the number of equally long documents with the same
    information.
    """

    error: Floats
    degrees: Floats
    documents: Indices
    effective: Floats


def estimate_ratio_precision(sums: Floats, counts: Indices | Floats) -> EstimatePrecision:
    """Estimate the precision of Σsums/Σcounts for new documents of the same kind.

    Parameters
    ----------
    sums : shape (…, D). counts : segments (or weights) behind each sum, shape (…, D), or (D,) if equal for all rows;
        documents with 0 are absent.

    SE² = Σe_D²/(1 − n_D/N)/N². If documents are equally long, this is the linearized ratio, Σe²·D/(D−1)/N², with D − 1
    degrees of freedom.
    """
    shape = np.asarray(sums).shape[:-1]
    counts = np.asarray(counts, dtype=np.float64)
    documents = np.asarray((counts > 0).sum(axis=-1), dtype=np.intp)
    psi = compute_document_influences(sums, counts)
    several = documents > 1
    error = np.where(several, np.sqrt((psi * psi).sum(axis=-1)), np.nan)
    degrees = np.broadcast_to(compute_document_degrees_of_freedom(counts), shape)
    effective = np.broadcast_to(compute_effective_document_count(counts), shape)
    return EstimatePrecision(np.asarray(error), degrees, np.broadcast_to(documents, shape), effective)


def compute_document_influences(sums: Floats, counts: Indices | Floats) -> Floats:
    """Contribution of each document to the estimate's error, corrected for leverage: shape (…, D), 0 if absent.

    It is e_D/√(1 − n_D/N)/N, so the sum of squares is the variance.
    """
    counts = np.asarray(counts, dtype=np.float64)
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        theta = sums.sum(axis=-1, keepdims=True) / total
        return np.asarray((sums - counts * theta) / total * np.sqrt(_factors(counts / total)), dtype=np.float64)


def compute_effective_document_count(counts: Indices | Floats) -> Floats:
    """(Σn)²/Σn² over the last axis (Kish 1965, §11.7): D for equally long documents, near 1 if one dominates."""
    counts = np.asarray(counts, dtype=np.float64)
    squares = (counts * counts).sum(axis=-1)
    total = counts.sum(axis=-1)
    return np.asarray(np.divide(total * total, squares, out=np.zeros_like(total), where=squares > 0), dtype=np.float64)


def compute_largest_document_share(counts: Indices | Floats) -> Floats:
    """Share of the segments that belong to the largest document, shape (…, D) → (…,); 0 without segments."""
    counts = np.asarray(counts, dtype=np.float64)
    total = counts.sum(axis=-1)
    largest = counts.max(axis=-1, initial=0.0)
    return np.asarray(np.divide(largest, total, out=np.zeros_like(total), where=total > 0), dtype=np.float64)


def compute_document_degrees_of_freedom(counts: Indices | Floats, correlation: float = CORRELATION) -> Floats:
    """Satterthwaite's degrees of freedom of the corrected variance; shape (…,), 0 below two documents.

    If Var(X_D) ∝ v_D = (1 − ρ)·n_D + ρ·n_D², the residuals have the covariance G_DE = δ_DE·q_D − p_D·q_E − q_D·p_E
    + p_D·p_E, with p = n/N and q = v/Σv. The degrees of freedom are (Σc·G_DD)²/Σ c_D·c_E·G_DE² with c = 1/(1 − p).
    Counts are divided by the smallest one, because weights, as in means over domains, may be below 1.

    Examples
    --------
    >>> round(float(compute_document_degrees_of_freedom(np.full(8, 5))), 6)
    7.0
    >>> round(float(compute_document_degrees_of_freedom(np.array([60] + [3] * 19))), 2)
    2.47
    """
    model = _WorkingModel.of(counts, correlation)
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = model.trace**2 / _product(model, model)
    return np.asarray(np.where(model.documents > 1, np.maximum(degrees, 1.0), 0.0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _WorkingModel:
    """Shares p and variances q of documents in the working model, their factors c, and own = G_DD; shape (…, D)."""

    p: Floats
    q: Floats
    c: Floats
    own: Floats
    documents: Indices

    @classmethod
    def of(cls, counts: Indices | Floats, correlation: float) -> Self:
        """Make the working model; each row of counts is one estimate."""
        counts = np.asarray(counts, dtype=np.float64)
        held = counts > 0
        least = np.where(held, counts, 1.0).min(axis=-1, keepdims=True, initial=1.0)
        n = counts / least
        v = (1 - correlation) * n + correlation * n * n
        with np.errstate(invalid="ignore", divide="ignore"):
            p, q = n / n.sum(axis=-1, keepdims=True), v / v.sum(axis=-1, keepdims=True)
        own = np.asarray(q - 2 * p * q + p * p, dtype=np.float64)
        return cls(p, q, _factors(p), own, np.asarray(held.sum(axis=-1), dtype=np.intp))

    @property
    def trace(self) -> Floats:
        """Expectation of the corrected variance under the model, in units of Σv/N²."""
        return np.asarray((self.c * self.own).sum(axis=-1), dtype=np.float64)


def _product(first: _WorkingModel, second: _WorkingModel) -> Floats:
    """Σ_DE √(c_D·c_E·c'_D·c'_E)·G_DE·G'_DE of two estimates, computed with single sums over their common documents."""
    r = np.sqrt(first.c * second.c)
    pp, pq, qp, qq = (np.asarray((r * a * b).sum(axis=-1)) for a in (first.p, first.q) for b in (second.p, second.q))
    everywhere = 2 * pp * qq + 2 * pq * qp + pp * pp - 2 * pp * (pq + qp)
    # On its diagonal, G has the additional term δ·q.
    diagonal = first.own * second.own - (first.own - first.q) * (second.own - second.q)
    return np.asarray(everywhere + (r * r * diagonal).sum(axis=-1), dtype=np.float64)


def _factors(share: Floats) -> Floats:
    """1/(1 − p), or 0 if p is 0 or 1, because such a document has no deviation."""
    inside = (share > 0) & (share < 1)
    return np.asarray(np.where(inside, 1.0 / np.where(inside, 1.0 - share, 1.0), 0.0), dtype=np.float64)


def estimate_difference_precision(
    sums: tuple[Floats, Floats], counts: tuple[Indices | Floats, Indices | Floats]
) -> EstimatePrecision:
    """Estimate the precision of the difference of two scores, each over its own segments; shapes (D,) → ().

    Documents common to both are paired. The degrees of freedom combine both variances and account for common documents.
    If every document has the same count in both, the result equals `estimate_ratio_precision` of the differences.
    """
    psi = [compute_document_influences(x, n) for x, n in zip(sums, counts, strict=True)]
    models = [_WorkingModel.of(n, CORRELATION) for n in counts]
    degrees = _degrees_apart([float((x * x).sum()) for x in psi], models)
    error = float(np.sqrt(((psi[0] - psi[1]) ** 2).sum())) if degrees else np.nan
    documents = np.asarray(((models[0].p > 0) | (models[1].p > 0)).sum(), dtype=np.intp)
    effective = compute_effective_document_count(models[0].p + models[1].p)
    return EstimatePrecision(np.asarray(error), np.asarray(degrees), documents, effective)


def stack_estimate_precisions(precisions: Sequence[EstimatePrecision]) -> EstimatePrecision:
    """Stack precisions of shape () into one of shape (len(precisions),)."""
    return EstimatePrecision(
        np.array([float(one.error) for one in precisions]),
        np.array([float(one.degrees) for one in precisions]),
        np.array([int(one.documents) for one in precisions], dtype=np.intp),
        np.array([float(one.effective) for one in precisions]),
    )


def _degrees_apart(variances: Sequence[float], models: Sequence[_WorkingModel]) -> float:
    """Welch–Satterthwaite degrees of freedom for two estimates that may share documents."""
    if min(int(model.documents) for model in models) < 2:
        return 0.0
    if sum(variances) <= 0:
        variances = [1.0, 1.0]
    scaled = [v / float(model.trace) for v, model in zip(variances, models, strict=True)]
    pairs = product(zip(scaled, models, strict=True), repeat=2)
    terms = (a * b * float(_product(one, other)) for (a, one), (b, other) in pairs)
    return max(1.0, float(sum(variances) ** 2 / sum(terms)))
