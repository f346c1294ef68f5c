"""The multiply-rated part of a campaign as dense arrays, with the buckets of documents that share their raters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from app.design.design_inputs import Bools, Codes
from app.domain.errors import Invalid
from app.stats.ratings import Floats, Ratings
from app.stats.selection import DroppedRowCount

Indices = npt.NDArray[np.int64]
FEWEST_RATERS = 2
MOST_PLACES = 8_000_000
"""Largest array, segments × systems × raters of the largest pool, for which documents may have different raters."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DocumentRaterPools:
    """Documents whose every output was rated by the same two or more raters, and their raters.

    systems, documents, raters: labels of the S, D and R codes used here. bucket: of each document, shape (D,). pools:
    rater codes of each bucket, ascending; axes over raters follow this order. left_out: documents that cannot be used,
    by reason.
    """

    systems: tuple[str, ...]
    documents: tuple[str, ...]
    raters: tuple[str, ...]
    bucket: Codes
    pools: tuple[Codes, ...]
    higher_is_better: bool
    left_out: tuple[DroppedRowCount, ...]

    @property
    def n_raters_by_document(self) -> Codes:
        """Number of raters of each document, shape (D,)."""
        return np.array([len(pool) for pool in self.pools], dtype=np.int64)[self.bucket]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MultiplyRatedDocuments(DocumentRaterPools):
    """Multiply-rated documents with their ratings.

    document: of each segment, shape (G,), non-decreasing. score, errors: shape (G, S, M), M the size of the largest
    pool; 0 beyond a bucket's pool. errors is None if no errors are marked.
    """

    document: Codes
    score: Floats
    errors: Floats | None

    @property
    def n_segments(self) -> Codes:
        """Number of segments of each document, shape (D,)."""
        return np.bincount(self.document, minlength=len(self.documents))

    @property
    def document_starts(self) -> Codes:
        """First segment of each document, shape (D,)."""
        return np.searchsorted(self.document, np.arange(len(self.documents))).astype(np.int64)


class NoMultiplyRatedDocuments(Invalid):
    """No document has every output rated by the same two or more raters."""

    published = "NotMultiplyRated"


def extract_multiply_rated_documents(ratings: Ratings) -> MultiplyRatedDocuments:
    """Arrange the multiply-rated documents as dense arrays.

    Several ratings of one output by one rater count as their mean. A document is left out if it had fewer than two
    raters, lacks a system that others have, or was not rated by the same raters throughout.

    Parameters
    ----------
    ratings : segment ratings that an analysis uses, in canonical order.

    Raises
    ------
    NoMultiplyRatedDocuments
        No document is left, or there are fewer than two systems.

    Source: Riley et al. 2024, §2 (buckets); the rule for leaving documents out is our own (docs/stability.md).
    """
    averaged = average_repeated_ratings(ratings, np.unique(ratings.system))
    usable, left_out = averaged.find_unusable_document_reasons().choose_usable_documents()
    require_usable_documents(averaged.n_systems, usable, left_out)
    return arrange_multiply_rated_documents(ratings, averaged, usable, left_out)


def require_usable_documents(n_systems: int, usable: Bools, left_out: tuple[DroppedRowCount, ...]) -> None:
    """Raise NoMultiplyRatedDocuments if no document is left, or if only one system was rated."""
    if n_systems == 1:
        raise NoMultiplyRatedDocuments("only one system was rated, so there is nothing to rank")
    if not usable.any():
        reasons = (f"{dropped.n:,} document{'' if dropped.n == 1 else 's'}: {dropped.reason}" for dropped in left_out)
        raise NoMultiplyRatedDocuments("; ".join(reasons))


@dataclass(frozen=True, slots=True, eq=False)
class UnusableDocumentReasons:
    """Why documents cannot be used, shape (documents,) each.

    raters: of each document. outputs: segments × systems. few: too few raters; partial: a system is missing; uneven:
    the outputs were not all rated by the same raters.
    """

    raters: Indices
    outputs: Indices
    few: Bools
    partial: Bools
    uneven: Bools

    @property
    def usable(self) -> Bools:
        """Documents that can be used, judging each one by itself."""
        return ~(self.few | self.partial | self.uneven)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Concatenate the reasons of several sets of documents."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))

    def choose_usable_documents(self) -> tuple[Bools, tuple[DroppedRowCount, ...]]:
        """Return which documents are used, shape (documents,), and why the others are not."""
        crowded = _find_crowded_documents(self.usable, self.raters, self.outputs)
        reasons = (
            ("rated by fewer than two raters", self.few),
            ("not every system was rated", self.partial),
            ("not every output was rated by the same raters", self.uneven),
            ("rated by many more raters than other documents", crowded),
        )
        left_out = tuple(DroppedRowCount(reason, int(mask.sum())) for reason, mask in reasons if mask.any())
        return self.usable & ~crowded, left_out


@dataclass(frozen=True, slots=True, eq=False)
class AveragedRatings:
    """One row per segment, system and rater, with dense codes; rated: shape (documents, raters)."""

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
        """Number of systems, S."""
        return int(self.systems.size)

    def find_unusable_document_reasons(self) -> UnusableDocumentReasons:
        """Return the reasons against each document."""
        n = self.documents.size
        raters = self.rated.sum(axis=1)
        has = np.zeros((n, self.n_systems), dtype=np.bool_)
        has[self.document, self.system] = True
        segments = np.bincount(self.document_of_segment, minlength=n)
        full = np.bincount(self.document, minlength=n) == segments * self.n_systems * raters
        few = raters < FEWEST_RATERS
        partial = ~few & ~has.all(axis=1)
        return UnusableDocumentReasons(raters, segments * self.n_systems, few, partial, ~few & ~partial & ~full)


def average_repeated_ratings(ratings: Ratings, systems: Codes) -> AveragedRatings:
    """Average repeated ratings of an output by one rater and number segments, raters and documents.

    systems : codes of all systems that were rated, ascending; the ratings need not contain every one.
    """
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
    system = np.asarray(np.searchsorted(systems, system), dtype=np.int64)
    raters, rater = np.unique(rater, return_inverse=True)
    document = document_of_segment[segment]
    rated = np.zeros((documents.size, raters.size), dtype=np.bool_)
    rated[document, rater] = True
    systems = systems.astype(np.int64)
    return AveragedRatings(
        segment, system, rater, document, score, errors, systems, raters, documents, document_of_segment, rated
    )


def _find_crowded_documents(usable: Bools, raters: Indices, outputs: Indices) -> Bools:
    """Find documents with so many raters that arrays with as many places for every output would be too large.

    raters, outputs: of each document, shape (documents,).
    """
    kept = usable.copy()
    while kept.any():
        most = raters[kept].max()
        if outputs[kept].sum() * most <= MOST_PLACES or raters[kept].min() == most:
            break
        kept &= raters < most
    return usable & ~kept


def arrange_multiply_rated_documents(
    ratings: Ratings, averaged: AveragedRatings, usable: Bools, left_out: tuple[DroppedRowCount, ...]
) -> MultiplyRatedDocuments:
    """Return the documents in use, at least one, as dense arrays."""
    rated = averaged.rated[usable]
    used = rated.any(axis=0)
    sets, bucket = np.unique(rated[:, used], axis=0, return_inverse=True)
    pools = tuple(np.flatnonzero(row).astype(np.int64) for row in sets)
    place = np.cumsum(sets, axis=1) - 1
    keep = usable[averaged.document]
    document = (np.cumsum(usable) - 1)[averaged.document[keep]]
    rater = (np.cumsum(used) - 1)[averaged.rater[keep]]
    kept_segments = usable[averaged.document_of_segment]
    segment = (np.cumsum(kept_segments) - 1)[averaged.segment[keep]]
    nth = place[bucket.ravel()[document], rater]
    shape = (int(kept_segments.sum()), averaged.n_systems, max(map(len, pools)))
    score, errors = np.zeros(shape), np.zeros(shape)
    score[segment, averaged.system[keep], nth] = averaged.score[keep]
    errors[segment, averaged.system[keep], nth] = averaged.errors[keep]
    labels = ratings.labels
    return MultiplyRatedDocuments(
        systems=tuple(labels.systems[i] for i in averaged.systems),
        documents=tuple(labels.documents[i] for i in averaged.documents[usable]),
        raters=tuple(labels.raters[i] for i in averaged.raters[used]),
        bucket=bucket.ravel().astype(np.int64),
        pools=pools,
        document=(np.cumsum(usable) - 1)[averaged.document_of_segment[kept_segments]].astype(np.int64),
        score=score,
        errors=None if (ratings.n_errors < 0).any() else errors,
        higher_is_better=ratings.higher_is_better,
        left_out=left_out,
    )
