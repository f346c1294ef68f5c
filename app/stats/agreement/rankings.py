"""Kendall's τ between raters' rankings of systems, on single documents and on all documents both rated, vectorized.

`tests/stats/agreement/rater_kendall.py` computes the same pair by pair; this module also accepts document weights.

Source: Riley et al. 2024, §4.3, with Kendall's τ-b because systems can be tied.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from app.stats.aggregate import round_scores
from app.stats.agreement.pairs import ValuePairs, compute_masked_row_means, list_value_pairs
from app.stats.agreement.units import Indices, OfDocuments, ValuesByUnit
from app.stats.plain_values import number_or_none
from app.stats.ratings import Floats

_HELD = 1 << 22  # values held at once


@dataclass(frozen=True, slots=True)
class RaterPairScoreSums:
    """Sums of two raters' scores for one system on one document, over the segments that both rated.

    pair, document, system: codes, sorted. n: segments. first, second: sums. raters: of each pair, shape (pairs, 2).
    n_systems: number of systems.
    """

    pair: Indices
    document: Indices
    system: Indices
    n: Floats
    first: Floats
    second: Floats
    raters: npt.NDArray[np.int64]
    n_systems: int


def sum_rater_pair_scores(units: ValuesByUnit) -> RaterPairScoreSums:
    """Sum the scores of every rater pair by document and system."""
    pairs: ValuePairs = list_value_pairs(units)
    systems = int(units.system.max(initial=-1)) + 1
    documents = max(units.n_documents, 1)
    whose = units.document[pairs.unit].astype(np.int64)
    key = (pairs.pair * documents + whose) * max(systems, 1) + units.system[pairs.unit]
    keys, at = np.unique(key, return_inverse=True)
    rest, system = np.divmod(keys, max(systems, 1))
    pair, document = np.divmod(rest, documents)
    return RaterPairScoreSums(
        *(pair, document, system),
        n=np.bincount(at, minlength=keys.size).astype(np.float64),
        first=np.bincount(at, weights=pairs.first, minlength=keys.size).astype(np.float64),
        second=np.bincount(at, weights=pairs.second, minlength=keys.size).astype(np.float64),
        raters=pairs.raters,
        n_systems=systems,
    )


def kendall_tau_by_row(x: Floats, y: Floats, present: npt.NDArray[np.bool_]) -> Floats:
    """τ-b of each row over the systems present; shapes (B, S) → (B,), NaN if a ranking is constant.

    Source: Kendall 1945.
    """
    first, second = np.triu_indices(x.shape[1], k=1)
    x, y = round_scores(x), round_scores(y)
    both = present[:, first] & present[:, second]
    a, b = np.sign(x[:, first] - x[:, second]) * both, np.sign(y[:, first] - y[:, second]) * both
    untied = np.abs(a).sum(axis=1) * np.abs(b).sum(axis=1)
    return np.where(untied > 0, (a * b).sum(axis=1) / np.sqrt(np.maximum(untied, 1)), np.nan)


def compute_rater_pair_document_taus(pair_cells: RaterPairScoreSums) -> tuple[Indices, Indices, Floats]:
    """Return pair, document and τ for every document that a rater pair shares."""
    key = pair_cells.pair * (int(pair_cells.document.max(initial=0)) + 1) + pair_cells.document
    keys, start, row = np.unique(key, return_index=True, return_inverse=True)
    width = max(pair_cells.n_systems, 1)
    step, bounds, taus = max(1, _HELD // width**2), np.append(start, key.size), [np.empty(0)]
    for first in range(0, keys.size, step):
        last = min(first + step, keys.size)
        some = slice(bounds[first], bounds[last])  # the cells are sorted by pair and document
        x, y, present = (np.zeros((last - first, width)) for _ in range(3))
        at, n = (row[some] - first, pair_cells.system[some]), pair_cells.n[some]
        x[at], y[at], present[at] = pair_cells.first[some] / n, pair_cells.second[some] / n, 1.0
        taus.append(kendall_tau_by_row(x, y, present > 0))
    pair, document = np.divmod(keys, int(pair_cells.document.max(initial=0)) + 1)
    return pair, document, np.concatenate(taus)


def mean_tau_within_documents(units: ValuesByUnit) -> OfDocuments:
    """Mean τ over the documents for which it is defined, averaged over rater pairs."""
    pair_cells = sum_rater_pair_scores(units)
    pair, document, tau = compute_rater_pair_document_taus(pair_cells)
    known, shape = np.isfinite(tau), (units.n_documents, max(len(pair_cells.raters), 1))
    taus, ones = (
        _by_document(values[known], document[known], pair[known], shape) for values in (tau, np.ones(tau.size))
    )

    def value(weights: Floats) -> Floats:
        n = weights @ ones
        return compute_masked_row_means(weights @ taus / np.maximum(n, 1), n > 0)

    return value


def _by_document(
    values: Floats, document: Indices, pair: Indices, shape: tuple[int, int]
) -> Floats | scipy.sparse.csr_array:
    """Values by document and rater pair; sparse if a dense table would take too much memory."""
    table = scipy.sparse.csr_array((values, (document, pair)), shape=shape)
    return table if shape[0] * shape[1] > _HELD else np.asarray(table.toarray(), dtype=np.float64)


def mean_tau_of_overall_rankings(units: ValuesByUnit) -> OfDocuments:
    """τ between two raters' rankings from all documents that both rated, averaged over rater pairs."""
    pair_cells = sum_rater_pair_scores(units)
    bounds = np.searchsorted(pair_cells.pair, np.arange(len(pair_cells.raters) + 1))

    def value(weights: Floats) -> Floats:
        taus = [_tau_in_draws(pair_cells, slice(a, b), weights) for a, b in itertools.pairwise(bounds)]
        stacked = np.column_stack(taus) if taus else np.empty((len(weights), 0))
        return compute_masked_row_means(stacked, np.isfinite(stacked))

    return value


def _tau_in_draws(pair_cells: RaterPairScoreSums, rows: slice, weights: Floats) -> Floats:
    """τ of one pair of raters in every draw, shape (B,)."""
    drawn = weights[:, pair_cells.document[rows]]
    of_system = np.eye(pair_cells.n_systems)[pair_cells.system[rows]]
    n, x, y = ((drawn * part[rows]) @ of_system for part in (pair_cells.n, pair_cells.first, pair_cells.second))
    return kendall_tau_by_row(x / np.maximum(n, 1), y / np.maximum(n, 1), n > 0)


@dataclass(frozen=True, slots=True)
class RaterPairKendallTau:
    """τ of two raters. single: mean over the documents for which it is defined; undefined: number of other documents.
    shared: over all documents that both rated. n_documents: number of shared documents."""

    single: float | None
    undefined: int
    shared: float | None
    n_documents: int


def compare_rater_rankings(units: ValuesByUnit) -> dict[tuple[str, str], RaterPairKendallTau]:
    """Compare the rankings of all raters who share a unit; the keys are their names in code order."""
    pair_cells = sum_rater_pair_scores(units)
    pair, _, tau = compute_rater_pair_document_taus(pair_cells)
    bounds = np.searchsorted(pair_cells.pair, np.arange(len(pair_cells.raters) + 1))
    once = units.equal_document_weights()
    out = {}
    for g, (a, b) in enumerate(pair_cells.raters.tolist()):
        taus = tau[pair == g]
        known = taus[np.isfinite(taus)]
        out[units.raters[a], units.raters[b]] = RaterPairKendallTau(
            single=float(known.mean()) if known.size else None,
            undefined=int(taus.size - known.size),
            shared=number_or_none(float(_tau_in_draws(pair_cells, slice(bounds[g], bounds[g + 1]), once)[0])),
            n_documents=int(taus.size),
        )
    return out
