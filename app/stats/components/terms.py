"""The random terms of the model, and which of them a design identifies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import scipy

from app.stats.aggregate import Indices
from app.stats.components.observations import ModelObservations
from app.stats.ratings import Floats

RESIDUAL = "residual"
TERMS: Final = (
    "rater",
    "doc",
    "segment",
    "doc_system",
    "segment_system",
    "rater_system",
    "rater_doc",
    "rater_segment",
    "rater_doc_system",
)
"""Terms in order of priority: the first of several confounded terms is kept."""

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "system": "system",
        "rater": "rater",
        "doc": "document",
        "segment": "segment",
        "doc_system": "document × system",
        "segment_system": "segment × system",
        "rater_system": "rater × system",
        "rater_doc": "rater × document",
        "rater_segment": "rater × segment",
        "rater_doc_system": "rater × document × system",
        RESIDUAL: "residual",
    }
)
_OF_DOCUMENTS = frozenset(term for term in TERMS if "doc" in term)
_TOLERANCE = 1e-8
MOST_CELLS = 2_000
"""Most combinations of rater and system for which their interaction is estimated, because its equations are dense."""


@dataclass(frozen=True, slots=True)
class OmittedTerm:
    """A term that is not in the model, and why. within: terms of the model with which it is confounded."""

    term: str
    why: str
    within: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IdentifiableTerms:
    """Terms whose variances a design identifies.

    terms: of the model, in the order of TERMS. left_out: the others. start: initial variances of the terms and, last,
    the residual; they are unbiased quadratic estimates, truncated at 0.
    """

    terms: tuple[str, ...]
    left_out: tuple[OmittedTerm, ...]
    start: Floats


def encode_term_levels(rows: ModelObservations, term: str) -> Indices:
    """Return the level of a term for each row: dense codes, shape (N,)."""
    columns = {"system": rows.system, "rater": rows.rater, "doc": rows.document, "segment": rows.segment}
    code = np.zeros(len(rows), dtype=np.int64)
    for part in term.split("_"):
        code = code * (int(columns[part].max(initial=0)) + 1) + columns[part]
    return np.unique(code, return_inverse=True)[1]


def select_identifiable_terms(rows: ModelObservations) -> IdentifiableTerms:
    """Select the terms whose variances the design identifies, given fixed systems.

    The components of a mixed model are identifiable exactly if the matrices M Z_k Z_k' M (and M for the residual) are
    linearly independent, where M removes the fixed effects (Rao 1971, MINQUE). Their inner products are sums over joint
    counts, so no N × N matrix is built.
    """
    left_out: list[OmittedTerm] = []
    kept = [RESIDUAL]
    incidence = {RESIDUAL: scipy.sparse.identity(len(rows), format="csr")}
    for term in TERMS:
        why = _reason_unfit(rows, term)
        if why is None:
            incidence[term] = _incidence(encode_term_levels(rows, term))
        else:
            left_out.append(OmittedTerm(term, why))
    fixed = _incidence(rows.system)
    gram = _gram(incidence, fixed)
    names = list(incidence)
    for term in names[1:]:
        at, others = names.index(term), [names.index(name) for name in kept]
        within = _dependent(gram, at, others, names)
        if within is None:
            kept.append(term)
        else:
            same = [NAMES[name] for name in within] or ["the systems"]
            left_out.append(OmittedTerm(term, f"confounded with {' and '.join(same)}", within))
    chosen = [*kept[1:], RESIDUAL]
    order = sorted(left_out, key=lambda one: TERMS.index(one.term))
    return IdentifiableTerms(tuple(kept[1:]), tuple(order), _start(rows, fixed, incidence, gram, chosen))


def _reason_unfit(rows: ModelObservations, term: str) -> str | None:
    """Return why a term is ruled out beforehand; None if it is not."""
    if term in _OF_DOCUMENTS and not rows.documents_known:
        return "the documents of the segments are unknown"
    n = int(encode_term_levels(rows, term).max(initial=0)) + 1
    if n < 2:
        return "fewer than two levels"
    if term == "rater_system" and n > MOST_CELLS:
        return f"{n:,} combinations of rater and system; at most {MOST_CELLS:,} are estimated"
    return None


def _incidence(level: Indices) -> scipy.sparse.csr_matrix:
    n = level.size
    return scipy.sparse.csr_matrix((np.ones(n), (np.arange(n), level)), shape=(n, int(level.max(initial=0)) + 1))


def _gram(incidence: Mapping[str, scipy.sparse.csr_matrix], fixed: scipy.sparse.csr_matrix) -> Floats:
    """Compute the inner products tr(M Z_j Z_j' M Z_k Z_k') with M = I − X(X'X)⁻¹X'."""
    zs = list(incidence.values())
    weight = 1 / np.asarray(fixed.sum(axis=0)).ravel()
    seen = [fixed.T @ z for z in zs]
    within = [weight[:, None] * (f @ f.T).toarray() for f in seen]
    gram = np.zeros((len(zs), len(zs)))
    for j, a in enumerate(zs):
        for k in range(j, len(zs)):
            joint = a.T @ zs[k]
            mixed = float(weight @ np.asarray((seen[j] @ joint).multiply(seen[k]).sum(axis=1)).ravel())
            gram[j, k] = gram[k, j] = (
                float(joint.multiply(joint).sum()) - 2 * mixed + float((within[j] * within[k].T).sum())
            )
    return gram


def _dependent(gram: Floats, at: int, others: list[int], names: list[str]) -> tuple[str, ...] | None:
    """Return the terms with which a term is confounded, () for the systems; None if it is identifiable."""
    plain = gram[at, at]
    if plain <= _TOLERANCE * max(gram[0, 0], 1.0):
        return ()
    scale = np.sqrt(np.diag(gram)[others])
    matrix = gram[np.ix_(others, others)] / np.outer(scale, scale)
    weights = np.linalg.solve(matrix, gram[others, at] / scale)
    if plain - float(weights @ (gram[others, at] / scale)) > _TOLERANCE * plain:
        return None
    share = np.abs(weights)
    return tuple(names[other] for other, w in zip(others, share, strict=True) if w > 1e-6 * share.max())


def _start(
    rows: ModelObservations,
    fixed: scipy.sparse.csr_matrix,
    incidence: Mapping[str, scipy.sparse.csr_matrix],
    gram: Floats,
    chosen: list[str],
) -> Floats:
    """MINQUE(0): solve gram · σ² = (|Z_k' M y|²)."""
    names = list(incidence)
    count = np.asarray(fixed.sum(axis=0)).ravel()
    residual = rows.score - fixed @ ((fixed.T @ rows.score) / count)
    sums = np.array([float(((incidence[name].T @ residual) ** 2).sum()) for name in chosen])
    at = [names.index(name) for name in chosen]
    scale = np.sqrt(np.diag(gram)[at])
    solution = np.linalg.solve(gram[np.ix_(at, at)] / np.outer(scale, scale), sums / scale) / scale
    return np.maximum(solution, 0.0)
