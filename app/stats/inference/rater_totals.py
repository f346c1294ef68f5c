"""Standard errors for new raters from sums by document, rater and system; `inference.by_rater` uses single ratings.

Each rating has the weight 1/(raters of its output × its rater's ratings of that output), so a system's weights sum to
its number of segments. Sums of weights and of weighted scores suffice to compute the pull of every rater and of every
visit (a rater on a document).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from app.stats.aggregate import Indices
from app.stats.inference.by_document import EstimatePrecision, compute_document_degrees_of_freedom
from app.stats.inference.by_rater import WITHIN_RATERS
from app.stats.ratings import Codes, Floats, Ratings

_TABLE = 16
"""A table renumbers codes if it has at most this many entries per code; even then sorting is slower."""


@dataclass(frozen=True, slots=True)
class RaterDocumentTotals:
    """Sums over the ratings of a block of documents, one entry per (visit, system).

    visit: number of the (document, rater) within the block. rater: code. system: position among the ranked systems.
    weight: Σ weight. weighted: Σ weight·score.
    """

    visit: Indices
    rater: Codes
    system: Indices
    weight: Floats
    weighted: Floats


def sum_ratings_by_rater_and_document(ratings: Ratings, systems: Codes) -> RaterDocumentTotals:
    """Sum the ratings of a block of documents.

    Parameters
    ----------
    ratings : in canonical order, only of these systems. systems : codes of the ranked systems, ascending.
    """
    place = np.zeros(max(ratings.n_systems, 1), dtype=np.intp)
    place[systems] = np.arange(systems.size)
    system, n_raters = place[ratings.system], len(ratings.labels.raters)
    visits, visit = _distinct((ratings.document - ratings.document.min(initial=0)) * np.int64(n_raters) + ratings.rater)
    weight = _weights(ratings)
    entry = visit * systems.size + system
    sums = _sum_by_entry(weight, entry, visits.size * systems.size)
    there = np.flatnonzero(sums)
    return RaterDocumentTotals(
        visit=there // systems.size,
        rater=(visits[there // systems.size] % n_raters).astype(np.int32),
        system=there % systems.size,
        weight=sums[there],
        weighted=_sum_by_entry(weight * ratings.score, entry, sums.size)[there],
    )


def _weights(ratings: Ratings) -> Floats:
    """1/(raters of the output × the rater's ratings of it) for each rating; an output's ratings are adjacent."""
    output = np.concatenate(
        ([True], (ratings.segment[1:] != ratings.segment[:-1]) | (ratings.system[1:] != ratings.system[:-1]))
    )
    by_rater = output.copy()
    by_rater[1:] |= ratings.rater[1:] != ratings.rater[:-1]
    starts, of_raters = np.flatnonzero(output), np.flatnonzero(by_rater)
    n = np.diff(starts, append=output.size)
    if of_raters.size == output.size:
        return np.repeat(1.0 / n, n)
    raters = np.repeat(np.add.reduceat(by_rater.astype(np.intp), starts), n)
    own = np.diff(of_raters, append=output.size)
    return np.asarray(1.0 / (raters * np.repeat(own, own)), dtype=np.float64)


def _sum_by_entry(values: Floats, entry: Indices, size: int) -> Floats:
    return np.asarray(np.bincount(entry, weights=values, minlength=size), dtype=np.float64)


def _distinct(codes: Indices) -> tuple[Indices, Indices]:
    """Return ascending distinct codes and the index of each code; use a table unless it would be far too long."""
    size = int(codes.max(initial=-1)) + 1
    if size > _TABLE * codes.size:
        distinct, numbers = np.unique(codes, return_inverse=True)
        return distinct, numbers.astype(np.intp)
    there = np.zeros(size, dtype=np.bool_)
    there[codes] = True
    distinct = np.flatnonzero(there)
    number = np.empty(size, dtype=np.intp)
    number[distinct] = np.arange(distinct.size)
    return distinct, number[codes]


def estimate_precision_from_rater_totals(
    blocks: Sequence[RaterDocumentTotals],
    n_ratings: int,
    precision: EstimatePrecision,
    first: Indices,
    second: Indices,
    order: Indices,
) -> EstimatePrecision | None:
    """Compute the same as `estimate_precision_for_new_raters` from totals; None with fewer than two raters.

    Parameters
    ----------
    n_ratings : number of ratings in the blocks. precision : of each pair by document. order : ranking order of the
        systems. first, second : positions in `order`, shape (pairs,).
    """
    n_systems = order.size
    n_raters = max((int(block.rater.max(initial=-1)) for block in blocks), default=-1) + 1
    total, scored = np.zeros(n_systems), np.zeros(n_systems)
    for block in blocks:
        total += np.bincount(block.system, weights=block.weight, minlength=n_systems)
        scored += np.bincount(block.system, weights=block.weighted, minlength=n_systems)
    mean = scored / total
    share, pull = np.zeros(n_raters * n_systems), np.zeros(n_raters * n_systems)
    by_both = np.zeros((n_systems, n_systems))
    for block in blocks:
        weight = block.weight / total[block.system]
        pulls = (block.weighted - mean[block.system] * block.weight) / total[block.system]
        at = block.rater.astype(np.int64) * n_systems + block.system
        share += np.bincount(at, weights=weight, minlength=share.size)
        pull += np.bincount(at, weights=pulls, minlength=pull.size)
        shape = (int(block.visit.max(initial=-1)) + 1, n_systems)
        visits = scipy.sparse.csr_matrix((_correct_leverage(pulls, weight), (block.visit, block.system)), shape=shape)
        by_both += (visits.T @ visits).toarray()
    shares = share.reshape(n_raters, n_systems)
    if np.count_nonzero(shares.any(axis=1)) < 2:
        return None
    raters = _correct_leverage(pull, share).reshape(n_raters, n_systems)
    variances = (_of_pairs(gram, order[first], order[second]) for gram in (raters.T @ raters, by_both))
    by_rater, by_visit = variances
    with np.errstate(invalid="ignore"):
        variance = precision.error**2 + np.maximum(by_rater - by_visit, 0.0)
    counts = (shares[:, order[first]] + shares[:, order[second]]).T * n_ratings
    degrees = np.minimum(precision.degrees, compute_document_degrees_of_freedom(counts, WITHIN_RATERS))
    return EstimatePrecision(np.sqrt(variance), degrees, precision.documents, precision.effective)


def _correct_leverage(pull: Floats, share: Floats) -> Floats:
    left = 1.0 - share
    return np.asarray(pull / np.sqrt(np.where(left > 1e-12, left, 1.0)), dtype=np.float64)


def _of_pairs(gram: Floats, first: Indices, second: Indices) -> Floats:
    own = np.diag(gram)
    return np.asarray(own[first] + own[second] - 2 * gram[first, second], dtype=np.float64)
