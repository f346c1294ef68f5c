"""The multiply-rated part of a campaign as dense arrays, with the buckets that its raters make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.design.values import Bools, Codes
from app.domain.errors import Invalid
from app.stats.ratings import Floats, Ratings
from app.stats.selection import DroppedRows

Indices = npt.NDArray[np.int64]
FEWEST_RATERS = 2
MOST_PLACES = 8_000_000
"""Places of the arrays, segments × systems × raters of the largest pool, up to which documents may differ in raters."""


@dataclass(frozen=True, slots=True, eq=False)
class MultiplyRated:
    """Documents whose every output was rated by the same two or more raters.

    systems, documents, raters: labels of the S, D and R codes used here.
    bucket: of each document, shape (D,). pools: rater codes of each bucket, ascending; nth of an array is a place here.
    document: of each segment, shape (G,), never falling.
    score, errors: shape (G, S, M), M the largest pool; 0 beyond a bucket's pool. errors is None where none are marked.
    left_out: documents that cannot be used, by reason.
    """

    systems: tuple[str, ...]
    documents: tuple[str, ...]
    raters: tuple[str, ...]
    bucket: Codes
    pools: tuple[Codes, ...]
    document: Codes
    score: Floats
    errors: Floats | None
    higher_is_better: bool
    left_out: tuple[DroppedRows, ...]

    @property
    def n_segments(self) -> Codes:
        """Segments of each document, shape (D,)."""
        return np.bincount(self.document, minlength=len(self.documents))

    @property
    def pool_size(self) -> Codes:
        """Raters of each document, shape (D,)."""
        return np.array([len(pool) for pool in self.pools], dtype=np.int64)[self.bucket]

    @property
    def starts(self) -> Codes:
        """First segment of each document, shape (D,)."""
        return np.searchsorted(self.document, np.arange(len(self.documents))).astype(np.int64)


class NotMultiplyRated(Invalid):
    """No document has every output rated by the same two or more raters."""


def extract_multiply_rated(ratings: Ratings) -> MultiplyRated:
    """Lay the multiply-rated documents out as dense arrays.

    Several ratings of one output by one rater count as their mean. A document is left out where it had fewer than two
    raters, lacks a system that others have, or was not rated by the same raters throughout.

    Parameters
    ----------
    ratings : segment ratings that an analysis uses, in canonical order.

    Raises
    ------
    NotMultiplyRated
        No document is left, or fewer than two systems.

    Source: decisions, §6 (buckets of an imported campaign); Riley et al. 2024, §2.
    """
    cells = _cells(ratings)
    usable, left_out = _usable(cells)
    if cells.n_systems == 1:
        raise NotMultiplyRated("only one system was rated, so there is nothing to rank")
    if not usable.any():
        reasons = (f"{dropped.n:,} document{'' if dropped.n == 1 else 's'}: {dropped.reason}" for dropped in left_out)
        raise NotMultiplyRated("; ".join(reasons))
    return _dense_arrays(ratings, cells, usable, left_out)


@dataclass(frozen=True, slots=True, eq=False)
class _RatingCells:
    """One row a (segment, system, rater) with dense codes of those that occur; rated: shape (documents, raters)."""

    segment: Indices
    system: Indices
    rater: Indices
    document: Indices
    score: Floats
    errors: Floats
    systems: Indices
    raters: Indices
    documents: Indices
    document_of_segment: Indices
    rated: Bools

    @property
    def n_systems(self) -> int:
        return int(self.systems.size)


def _cells(ratings: Ratings) -> _RatingCells:
    """Average what one rater gave one output several times; number what occurs."""
    n_raters = max(len(ratings.labels.raters), 1)
    key = (ratings.segment.astype(np.int64) * max(ratings.n_systems, 1) + ratings.system) * n_raters + ratings.rater
    keys, row = np.unique(key, return_inverse=True)
    n = np.bincount(row, minlength=keys.size)
    score = np.bincount(row, weights=ratings.score, minlength=keys.size) / np.maximum(n, 1)
    errors = np.bincount(row, weights=ratings.n_errors, minlength=keys.size) / np.maximum(n, 1)
    rest, rater = np.divmod(keys, n_raters)
    segment, system = np.divmod(rest, max(ratings.n_systems, 1))
    segments, segment = np.unique(segment, return_inverse=True)
    document_code = ratings.labels.segment_document[segments].astype(np.int64)
    documents, document_of_segment = np.unique(document_code, return_inverse=True)
    systems, system = np.unique(system, return_inverse=True)
    raters, rater = np.unique(rater, return_inverse=True)
    document = document_of_segment[segment]
    rated = np.zeros((documents.size, raters.size), dtype=np.bool_)
    rated[document, rater] = True
    return _RatingCells(
        segment, system, rater, document, score, errors, systems, raters, documents, document_of_segment, rated
    )


def _usable(cells: _RatingCells) -> tuple[Bools, tuple[DroppedRows, ...]]:
    """Which documents can be used, shape (documents,), and why the others cannot."""
    n = cells.documents.size
    raters = cells.rated.sum(axis=1)
    has = np.zeros((n, cells.n_systems), dtype=np.bool_)
    has[cells.document, cells.system] = True
    segments = np.bincount(cells.document_of_segment, minlength=n)
    full = np.bincount(cells.document, minlength=n) == segments * cells.n_systems * raters
    few = raters < FEWEST_RATERS
    partial = ~few & ~has.all(axis=1)
    uneven = ~few & ~partial & ~full
    crowded = _find_crowded_documents(~(few | partial | uneven), raters, segments * cells.n_systems)
    reasons = (
        ("rated by fewer than two raters", few),
        ("not every system was rated", partial),
        ("not every output was rated by the same raters", uneven),
        ("rated by many more raters than other documents", crowded),
    )
    left_out = tuple(DroppedRows(reason, int(mask.sum())) for reason, mask in reasons if mask.any())
    return ~(few | partial | uneven | crowded), left_out


def _find_crowded_documents(usable: Bools, raters: Indices, outputs: Indices) -> Bools:
    """Documents with so many raters that arrays with as many places for every output would be too large.

    raters, outputs: of each document, shape (documents,).
    """
    kept = usable.copy()
    while kept.any():
        most = raters[kept].max()
        if outputs[kept].sum() * most <= MOST_PLACES or raters[kept].min() == most:
            break
        kept &= raters < most
    return usable & ~kept


def _dense_arrays(
    ratings: Ratings, cells: _RatingCells, usable: Bools, left_out: tuple[DroppedRows, ...]
) -> MultiplyRated:
    rated = cells.rated[usable]
    used = rated.any(axis=0)
    sets, bucket = np.unique(rated[:, used], axis=0, return_inverse=True)
    pools = tuple(np.flatnonzero(row).astype(np.int64) for row in sets)
    place = np.cumsum(sets, axis=1) - 1
    keep = usable[cells.document]
    document = (np.cumsum(usable) - 1)[cells.document[keep]]
    rater = (np.cumsum(used) - 1)[cells.rater[keep]]
    kept_segments = usable[cells.document_of_segment]
    segment = (np.cumsum(kept_segments) - 1)[cells.segment[keep]]
    nth = place[bucket.ravel()[document], rater]
    shape = (int(kept_segments.sum()), cells.n_systems, max(map(len, pools)))
    score, errors = np.zeros(shape), np.zeros(shape)
    score[segment, cells.system[keep], nth] = cells.score[keep]
    errors[segment, cells.system[keep], nth] = cells.errors[keep]
    labels = ratings.labels
    return MultiplyRated(
        systems=tuple(labels.systems[i] for i in cells.systems),
        documents=tuple(labels.documents[i] for i in cells.documents[usable]),
        raters=tuple(labels.raters[i] for i in cells.raters[used]),
        bucket=bucket.ravel().astype(np.int64),
        pools=pools,
        document=(np.cumsum(usable) - 1)[cells.document_of_segment[kept_segments]].astype(np.int64),
        score=score,
        errors=None if (ratings.n_errors < 0).any() else errors,
        higher_is_better=ratings.higher_is_better,
        left_out=left_out,
    )
