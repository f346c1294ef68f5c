"""The scores of many studies at once from who rated what: rater moments, normalization, sums by document.

Normalization follows assignment, starts from raw ratings, and is per rater over the study (Riley et al. 2024, §6.1.3).
Every method but `none` is x ↦ a_r·x + b_r, so sums by item suffice: segments are read once, not in every study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from app.design.design_inputs import Codes
from app.stats.normalize import Method
from app.stats.ratings import Bools, Floats
from app.stats.stability.multiply_rated_documents import DocumentRaterPools, MultiplyRatedDocuments

_DIGITS = 10
_SUSPICIOUS = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RaterDocumentSums:
    """Ratings summed over the segments of each item: all that a study needs.

    total, square, errors, low, high: shape (D, S, M + 1), the last place empty, for items with fewer raters than
    others. Scores have `centre` subtracted, so that squares lose no digits. place: index of a rater in a bucket's pool,
    shape (buckets, R + 1), M if the rater is not in it.
    """

    data: DocumentRaterPools
    centre: float
    total: Floats
    square: Floats
    errors: Floats
    low: Floats
    high: Floats
    place: npt.NDArray[np.unsignedinteger[Any]]
    n_segments: Codes

    @property
    def n_raters(self) -> int:
        """Number of raters of the data set, R; in arrays of rater codes, R itself means no rater."""
        return len(self.data.raters)


def sum_ratings_over_segments(data: MultiplyRatedDocuments, centre: float | None = None) -> RaterDocumentSums:
    """Sum each item's ratings over its segments. centre: None for the mean of all scores."""
    pool = data.n_raters_by_document
    there = np.arange(data.score.shape[2]) < pool[data.document][:, None, None]
    weight = np.broadcast_to(there, data.score.shape)
    centre = float(data.score[weight].mean()) if centre is None else centre
    shifted = np.where(there, data.score - centre, 0.0)
    errors = np.zeros_like(shifted) if data.errors is None else data.errors
    return RaterDocumentSums(
        data=data,
        centre=centre,
        total=_by_document(data, shifted),
        square=_by_document(data, shifted * shifted),
        errors=_by_document(data, errors),
        low=_by_document(data, np.where(there, data.score, np.inf), np.minimum, np.inf),
        high=_by_document(data, np.where(there, data.score, -np.inf), np.maximum, -np.inf),
        place=find_rater_positions_in_pools(data.pools, len(data.raters)),
        n_segments=data.n_segments.astype(np.int64),
    )


def find_rater_positions_in_pools(pools: Sequence[Codes], n_raters: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return `RaterDocumentSums.place` with the smallest integer type; there may be as many pools as documents."""
    sizes = np.array([len(pool) for pool in pools], dtype=np.int64)
    wide = int(sizes.max())
    place = np.full((len(pools), n_raters + 1), wide, dtype=np.min_scalar_type(wide))
    nth = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    place[np.repeat(np.arange(len(pools)), sizes), np.concatenate(pools)] = nth
    return place


def _by_document(data: MultiplyRatedDocuments, values: Floats, how: np.ufunc = np.add, empty: float = 0.0) -> Floats:
    """Reduce over the segments of each document and append an empty place."""
    sums = how.reduceat(values, data.document_starts, axis=0)
    return np.concatenate([sums, np.full((*sums.shape[:2], 1), empty)], axis=2)


@dataclass(frozen=True, eq=False)
class StudyBatch:
    """Ratings of n studies of the same documents; sums are computed only when they are used.

    at: which item and rater each rating is of, as an index into the flat sums of the items, shape (n, D, S, k). who:
    index of (study, rater) of each rating in arrays flattened from (n, R + 1). n_segments: of each document, shape
    (D,). ratings: of each item of a document, shape (D,).
    """

    items: RaterDocumentSums
    at: Codes
    who: Codes
    n_segments: Codes
    ratings: Floats

    @cached_property
    def centred_rating_sums(self) -> Floats:
        """Centred sums of each rating of each item, shape (n, D, S, k)."""
        return np.asarray(np.take(self.items.total, self.at), dtype=np.float64)

    def _sum_by_rater(self, values: Floats) -> Floats:
        """Sum by rater of a study, shape (n, R + 1), the last for no rater."""
        shape = len(self.at), self.items.n_raters + 1
        sums = np.bincount(self.who.reshape(-1), weights=values.reshape(-1), minlength=shape[0] * shape[1])
        return np.asarray(sums.reshape(shape), dtype=np.float64)

    @cached_property
    def ratings_per_rater(self) -> Floats:
        """Number of segment ratings of each rater, shape (n, R + 1); 0 for no rater."""
        weights = np.broadcast_to(self.n_segments[None, :, None, None].astype(np.float64), self.at.shape)
        count = self._sum_by_rater(weights)
        count[:, -1] = 0.0
        return count

    @cached_property
    def rater_means(self) -> Floats:
        """Mean of each rater (centred), shape (n, R + 1)."""
        return self._by_count(self._sum_by_rater(self.centred_rating_sums))

    def _by_count(self, sums: Floats) -> Floats:
        return np.divide(
            sums, self.ratings_per_rater, out=np.zeros_like(self.ratings_per_rater), where=self.ratings_per_rater > 0
        )

    @cached_property
    def _square(self) -> Floats:
        return self._sum_by_rater(np.take(self.items.square, self.at))

    @cached_property
    def _variance(self) -> Floats:
        squares = np.maximum(self._square - self.ratings_per_rater * self.rater_means * self.rater_means, 0.0)
        return np.asarray(squares / np.maximum(self.ratings_per_rater - 1.0, 1.0), dtype=np.float64)

    @property
    def rater_sds(self) -> Floats:
        """Standard deviation of each rater, with ddof 1, shape (n, R + 1)."""
        return np.sqrt(self._variance)

    @property
    def marked_errors_per_rater(self) -> Floats:
        """Number of errors that each rater marked, shape (n, R + 1)."""
        return self._sum_by_rater(np.take(self.items.errors, self.at))

    @cached_property
    def constant_score_rater_mask(self) -> Bools:
        """Raters whose scores do not vary, or who gave fewer than two: shape (n, R + 1).

        A variance near zero may be due to rounding, so the lowest and highest scores of these few raters are compared.
        """
        constant = np.asarray(self.ratings_per_rater < 2, dtype=np.bool_)
        typical = np.maximum(1.0, self._square / np.maximum(self.ratings_per_rater, 1.0))
        near = ~constant & (self._variance <= _SUSPICIOUS * typical)
        for study, rater in zip(*np.nonzero(near), strict=True):
            theirs = self.at[study][self.who[study] == study * self.ratings_per_rater.shape[1] + rater]
            spread = np.take(self.items.high, theirs).max() - np.take(self.items.low, theirs).min()
            constant[study, rater] = round(float(spread), _DIGITS) == 0
        return constant


def gather_study_ratings(items: RaterDocumentSums, documents: Codes, raters: Codes) -> StudyBatch:
    """Look up the ratings that the raters of each study gave.

    Parameters
    ----------
    documents : codes of the documents of these studies, shape (D',). raters : shape (n, D', S, k), R for no rater; each
        must be in the pool of the document's bucket.

    Returns
    -------
    Sums of the n studies; S systems, k ratings of an item, R raters in the data.
    """
    size = items.n_raters + 1
    n_systems, wide = items.total.shape[1:]
    of_rater = items.place[items.data.bucket[documents]] + documents[:, None] * (n_systems * wide)  # (D', R + 1)
    at = np.take(of_rater, raters + (np.arange(len(documents)) * size)[:, None, None])
    at += (np.arange(n_systems) * wide)[:, None]
    here = raters[0, :, 0, :] < items.n_raters
    return StudyBatch(
        items=items,
        at=at,
        who=raters + (np.arange(len(raters)) * size)[:, None, None, None],
        n_segments=items.n_segments[documents],
        ratings=here.sum(axis=1).astype(np.float64),
    )


def compute_normalized_document_sums(studies: StudyBatch, method: Method) -> Floats:
    """Normalize each rating within its study, average the ratings of an item, and sum by document.

    Returns
    -------
    Sums over the segments of each document, in the unit of the method, shape (n, D, S).

    `mean`: x·M/m_r, unchanged if m_r = 0. `center`: x − m_r + M. `error`: c·x'·E_r with the study mean kept,
    `error_rate` with E_r/n_r; if no rater marked an error, these are the mean-normalized scores. `z`: (x − m_r)/s_r
    with ddof 1, and 0 for raters whose scores do not vary.

    Source: Riley et al. 2024, §6.1.3; z = 0 for constant raters as in WMT22.
    """
    slope, shift = _coefficients(studies, method)
    segments = studies.n_segments[None, :, None, None]
    shape = studies.centred_rating_sums.shape
    scored = studies.centred_rating_sums * np.take(slope, studies.who)
    scored += np.take(shift, studies.who) * segments
    if shape[3] == 1:
        return scored[..., 0]
    return np.asarray(scored.sum(axis=3) / studies.ratings[None, :, None], dtype=np.float64)


def _coefficients(studies: StudyBatch, method: Method) -> tuple[Floats, Floats]:
    """Return a_r and b_r that turn a centred score x of rater r into a_r·x + b_r; 0 for no rater, shape (n, R + 1)."""
    centre, count = studies.items.centre, studies.ratings_per_rater
    anybody = (count > 0).astype(np.float64)
    mean = studies.rater_means + centre  # m_r
    overall = (count * mean).sum(axis=1, keepdims=True) / count.sum(axis=1, keepdims=True)  # M
    if method == "none":
        return anybody, anybody * centre
    if method == "center":
        return anybody, anybody * (overall - studies.rater_means)
    if method == "z":
        slope = np.divide(
            anybody, studies.rater_sds, out=np.zeros_like(count), where=~studies.constant_score_rater_mask
        )
        return slope, -slope * studies.rater_means
    usable = (count > 0) & (np.round(mean, _DIGITS) != 0)
    factor = np.divide(overall, mean, out=anybody.copy(), where=usable)
    if method != "mean":
        factor *= _error_factor(studies, method, overall, usable)
    return factor, factor * centre


def _error_factor(studies: StudyBatch, method: Method, overall: Floats, usable: Bools) -> Floats:
    """c·E_r, or c·E_r/n_r, shape (n, R + 1); 1 in studies where it is undefined."""
    weight = studies.marked_errors_per_rater
    if method == "error_rate":
        weight = np.divide(
            weight, studies.ratings_per_rater, out=np.zeros_like(weight), where=studies.ratings_per_rater > 0
        )
    scaled = np.where(usable, studies.ratings_per_rater * overall, 0.0)  # Σ x' of a rater
    total = (scaled * weight).sum(axis=1, keepdims=True)
    whole = (studies.ratings_per_rater * (studies.rater_means + studies.items.centre)).sum(axis=1, keepdims=True)
    constant = np.divide(whole, total, out=np.zeros_like(total), where=total > 0)
    return np.where(total > 0, constant * weight, 1.0)


def make_full_data_study(items: RaterDocumentSums) -> StudyBatch:
    """Return all ratings as one study: the full data with which simulated studies are compared."""
    wide = items.total.shape[2] - 1
    nobody = items.n_raters
    pools = np.full((len(items.data.pools), wide), nobody, dtype=np.int64)
    for row, raters in enumerate(items.data.pools):
        pools[row, : len(raters)] = raters
    documents = np.arange(len(items.data.documents))
    raters = pools[items.data.bucket][None, :, None, :]
    shape = (1, documents.size, len(items.data.systems), wide)
    return gather_study_ratings(items, documents, np.ascontiguousarray(np.broadcast_to(raters, shape)))
