"""Convert columns of database ids to `Ratings`: ids become codes, and rows are put into canonical order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.stats.ratings import RatingLabels, RatingLevel, Ratings, ScoreScale

Ints = npt.NDArray[np.int64]
Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class RatingsMetadata:
    """Properties shared by all ratings of a campaign."""

    higher_is_better: bool
    scale: ScoreScale | None
    criterion: str | None
    documents_known: bool
    standardised: bool = False


@dataclass(frozen=True, slots=True)
class RatingsWithJudgmentIds:
    """Ratings in canonical order, and the id of the judgment behind each row."""

    ratings: Ratings
    judgment_ids: Ints


def filter_rows(columns: Columns, keep: npt.NDArray[np.bool_]) -> dict[str, npt.NDArray[Any]]:
    """Return the rows where `keep` is true."""
    return {name: values[keep] for name, values in columns.items()}


@dataclass(frozen=True, slots=True)
class LabelledIds:
    """Database ids with their labels, both sorted by label."""

    ids: Ints
    keys: tuple[str, ...]

    def find_codes(self, ids: Ints) -> npt.NDArray[np.int32]:
        """Return the code of each id, which is the position of its label."""
        order = np.argsort(self.ids)
        return order[np.searchsorted(self.ids[order], ids)].astype(np.int32)


@dataclass(frozen=True, slots=True)
class CampaignIdLabels:
    """The labels of a campaign's ids; the columns of its segments are parallel."""

    systems: LabelledIds
    documents: LabelledIds
    raters: LabelledIds
    tasks: LabelledIds
    segment_ids: Ints
    segment_document: Ints
    segment_position: Ints


def make_ratings_from_joined_columns(
    columns: dict[str, npt.NDArray[Any]], labels: CampaignIdLabels, metadata: RatingsMetadata
) -> RatingsWithJudgmentIds:
    """Make ratings from joined columns, in canonical order.

    columns: by name, the codes `system`, `document` and `task`; the ids `judgment_id`, `segment_id` (−1 for a whole
    item) and `rater_id`; the number `judgment`; and `at_us`, `score`, `n_errors`, `role`, `accepted`.
    """
    segments = SegmentCodes(labels)
    columns["segment"] = segments.find_codes(columns["segment_id"])
    columns["rater"] = labels.raters.find_codes(columns["rater_id"])
    order = _order_of_addresses(columns, labels)
    if order is None:
        columns["nth"] = _number_repeats(columns)
    else:
        columns = {name: values[order] for name, values in columns.items()}
        columns["nth"] = np.ones(order.size, dtype=np.int32)
    plain: dict[str, Any] = {name: columns[name].astype(kind, copy=False) for name, kind in _KINDS.items()}
    ratings = Ratings(
        **plain,
        judgment=_by_first_appearance(columns["judgment"]),
        kind=np.where(columns["segment"] < 0, RatingLevel.DOCUMENT, RatingLevel.SEGMENT).astype(np.int8),
        labels=RatingLabels(
            labels.systems.keys,
            labels.documents.keys,
            labels.raters.keys,
            labels.tasks.keys,
            segments.document,
            segments.position,
        ),
        higher_is_better=metadata.higher_is_better,
        scale=metadata.scale,
        criterion=metadata.criterion,
        documents_known=metadata.documents_known,
        standardised=metadata.standardised,
    )
    if order is not None:
        return RatingsWithJudgmentIds(ratings, columns["judgment_id"])
    order = ratings.canonical_order_indices()
    return RatingsWithJudgmentIds(ratings.in_canonical_order(order), columns["judgment_id"][order])


_KINDS: Mapping[str, type[np.generic]] = {
    "system": np.int32,
    "document": np.int32,
    "segment": np.int32,
    "rater": np.int32,
    "task": np.int32,
    "nth": np.int32,
    "score": np.float64,
    "n_errors": np.int32,
    "role": np.int8,
    "accepted": np.bool_,
}


def _order_of_addresses(columns: Columns, labels: CampaignIdLabels) -> npt.NDArray[np.intp] | None:
    """Return the canonical order by sorting one number per row, if no rater rated an output twice; else None."""
    sizes = (len(labels.documents.keys), len(labels.segment_ids) + 1, len(labels.raters.keys))
    if len(labels.systems.keys) * sizes[0] * sizes[1] * sizes[2] >= 1 << 63:
        return None
    address = columns["system"].astype(np.int64)
    for code, size in zip((columns["document"], columns["segment"] + 1, columns["rater"]), sizes, strict=True):
        address = address * size + code
    order = np.argsort(address)
    address = address[order]
    return None if (address[1:] == address[:-1]).any() else order


def _by_first_appearance(judgment: npt.NDArray[np.intp]) -> npt.NDArray[np.int32]:
    """Number judgments again, in the order in which they first appear."""
    rows = np.arange(judgment.size)
    first = np.zeros(int(judgment.max(initial=-1)) + 1, dtype=np.intp)
    first[judgment[::-1]] = rows[::-1]
    number = np.cumsum(first[judgment] == rows) - 1
    return number[first[judgment]].astype(np.int32)


class SegmentCodes:
    """Segments in the order of (document key, position): `document` and `position` of each code."""

    def __init__(self, labels: CampaignIdLabels) -> None:
        document = labels.documents.find_codes(labels.segment_document)
        order = np.lexsort((labels.segment_position, document))
        self.document = document[order]
        self.position = labels.segment_position[order].astype(np.int32)
        rank = np.empty(order.size, dtype=np.int32)
        rank[order] = np.arange(order.size, dtype=np.int32)
        by_id = np.argsort(labels.segment_ids)
        self._ids, self._codes = labels.segment_ids[by_id], rank[by_id]

    def find_codes(self, ids: Ints) -> npt.NDArray[np.int32]:
        """Return the code of each id; −1 for judgments of whole documents."""
        codes = np.full(ids.size, -1, dtype=np.int32)
        shown = ids >= 0
        codes[shown] = self._codes[np.searchsorted(self._ids, ids[shown])]
        return codes


def _number_repeats(columns: Columns) -> npt.NDArray[np.int32]:
    """Number each rater's ratings of the same output from 1: by time, then by task, then by content.

    Rows that differ only in the id of their judgment are interchangeable.
    """
    address = ("rater", "segment", "document", "system")
    keys = ("judgment_id", "accepted", "n_errors", "score", "role", "task", "at_us", *address)
    order = np.lexsort(tuple(columns[name] for name in keys))
    rows = np.stack([columns[name][order] for name in address])
    starts = np.concatenate(([True], (rows[:, 1:] != rows[:, :-1]).any(axis=0)))[: order.size]
    index = np.arange(order.size)
    first = np.maximum.accumulate(np.where(starts, index, 0)) if order.size else index
    nth = np.empty(order.size, dtype=np.int32)
    nth[order] = index - first + 1
    return nth
