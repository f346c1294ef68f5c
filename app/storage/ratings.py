"""Ratings: one query over the scores, straight into numpy columns.

The server packs each column into one byte string (string_agg of int8send), which costs a small part of fetching rows.
All aggregates of one SELECT see the rows in one order, so the columns stay parallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.stats.ratings import Kind, Labels, Ratings, Scale

Ints = npt.NDArray[np.int64]

_INTS = (
    "judgment_id",
    "item_id",
    "rater_id",
    "segment_id",
    "revision",
    "n_errors",
    "at_us",
    "system_id",
    "document_id",
    "task_id",
)
_COLUMNS = {
    "judgment_id": "s.judgment_id",
    "item_id": "s.item_id",
    "rater_id": "s.rater_id",
    "segment_id": "coalesce(s.segment_id, -1)",
    "revision": "s.revision::bigint",
    "n_errors": "s.n_errors::bigint",
    "at_us": "s.at_us",
    "system_id": "c.system_id",
    "document_id": "i.document_id",
    "task_id": "i.task_id",
}
LOAD = f"""
SELECT {", ".join(f"string_agg(int8send({sql}), ''::bytea) AS {name}" for name, sql in _COLUMNS.items())},
       string_agg(float8send(s.score), ''::bytea) AS score,
       string_agg(int2send(i.role), ''::bytea) AS role,
       string_agg(boolsend(i.accepted), ''::bytea) AS accepted
FROM scores s
JOIN items i ON i.id = s.item_id AND i.campaign_id = s.campaign_id
JOIN credits c ON c.item_id = s.item_id
WHERE s.campaign_id = :campaign AND s.profile_id = :profile AND s.version <= :version AND NOT s.surplus
  AND NOT EXISTS (SELECT FROM voids v WHERE v.judgment_id = s.judgment_id AND v.version <= :version)"""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is true of all ratings of a campaign."""

    higher_is_better: bool
    scale: Scale | None
    criterion: str | None
    documents_known: bool


@dataclass(frozen=True, slots=True)
class Loaded:
    """Ratings in canonical order, and the id of the judgment behind each row."""

    ratings: Ratings
    judgment_ids: Ints


def load(session: Session, *, campaign_id: int, profile_id: int, version: int, frame: Frame) -> Loaded:
    """All ratings of a campaign as they stood at a data version, in canonical order.

    Of several revisions at one address the latest counts; surplus and void judgments are no ratings.
    """
    # Hash joins whatever the statistics say: right after an import there are none, and nested loops take minutes.
    session.execute(text("SET LOCAL enable_nestloop = off"))
    row = (
        session.execute(text(LOAD), {"campaign": campaign_id, "profile": profile_id, "version": version}).one()._mapping
    )
    columns = {name: _ints(row[name]) for name in _INTS}
    score = np.frombuffer(row["score"] or b"", dtype=">f8").astype(np.float64)
    role = np.frombuffer(row["role"] or b"", dtype=">i2").astype(np.int8)
    accepted = np.frombuffer(row["accepted"] or b"", dtype=np.bool_)
    labels = _labels(session, campaign_id)
    keep = _latest(columns)
    if keep is not None:
        columns = {name: values[keep] for name, values in columns.items()}
        score, role, accepted = score[keep], role[keep], accepted[keep]
    return _ratings(columns, score, role, accepted, labels, frame)


def _ints(packed: bytes | None) -> Ints:
    return np.frombuffer(packed or b"", dtype=">i8").astype(np.int64)


def _latest(columns: Mapping[str, Ints]) -> npt.NDArray[np.bool_] | None:
    """Rows of the last revision at their address; None where nothing was ever revised."""
    revision = columns["revision"]
    if not revision.size or revision.max() == 1:
        return None
    order = np.lexsort((revision, columns["rater_id"], columns["segment_id"], columns["item_id"]))
    address = np.stack([columns[name][order] for name in ("item_id", "segment_id", "rater_id")])
    ends = np.append((address[:, 1:] != address[:, :-1]).any(axis=0), True)
    # Rows of one judgment (one for each credited system) share the last revision of their address.
    group = np.concatenate(([0], np.cumsum(ends[:-1])))
    last = revision[order][ends]
    keep = np.empty(revision.size, dtype=np.bool_)
    keep[order] = revision[order] == last[group]
    return keep


@dataclass(frozen=True, slots=True)
class _Names:
    """Database ids beside the labels they stand for, both sorted by label."""

    ids: Ints
    keys: tuple[str, ...]

    def codes(self, ids: Ints) -> npt.NDArray[np.int32]:
        order = np.argsort(self.ids)
        return order[np.searchsorted(self.ids[order], ids)].astype(np.int32)


@dataclass(frozen=True, slots=True)
class _AllNames:
    systems: _Names
    documents: _Names
    raters: _Names
    tasks: _Names
    segment_ids: Ints
    segment_document: Ints
    segment_position: Ints


def _labels(session: Session, campaign_id: int) -> _AllNames:
    keys = {"campaign": campaign_id}
    packed = session.execute(
        text(
            """SELECT string_agg(int8send(id), ''::bytea), string_agg(int8send(document_id), ''::bytea),
                      string_agg(int8send(position), ''::bytea) FROM segments WHERE campaign_id = :campaign"""
        ),
        keys,
    ).one()
    segment_ids, segment_document, segment_position = map(_ints, packed)
    return _AllNames(
        systems=_names(session, campaign_id, "systems"),
        documents=_names(session, campaign_id, "documents"),
        raters=_names(session, campaign_id, "raters"),
        tasks=_names(session, campaign_id, "tasks"),
        segment_ids=segment_ids,
        segment_document=segment_document,
        segment_position=segment_position,
    )


def _names(session: Session, campaign_id: int, table: str) -> _Names:
    query = text(f"SELECT key, id FROM {table} WHERE campaign_id = :campaign")
    rows = sorted(tuple(row) for row in session.execute(query, {"campaign": campaign_id}))
    return _Names(np.array([row[1] for row in rows], dtype=np.int64), tuple(row[0] for row in rows))


def _ratings(
    columns: Mapping[str, Ints],
    score: npt.NDArray[np.float64],
    role: npt.NDArray[np.int8],
    accepted: npt.NDArray[np.bool_],
    names: _AllNames,
    frame: Frame,
) -> Loaded:
    segment, segment_document, segment_position = _segments(columns["segment_id"], names)
    whole = columns["segment_id"] < 0
    system = names.systems.codes(columns["system_id"])
    rater = names.raters.codes(columns["rater_id"])
    task = names.tasks.codes(columns["task_id"])
    document = names.documents.codes(columns["document_id"])
    _, judgment = np.unique(columns["judgment_id"], return_inverse=True)
    ties = (columns["judgment_id"], accepted, columns["n_errors"], score, role)
    nth = _nth((system, document, segment, rater), columns["at_us"], task, ties)
    ratings = Ratings(
        system=system,
        document=document,
        segment=segment,
        rater=rater,
        task=task,
        judgment=judgment.astype(np.int32),
        nth=nth,
        score=score,
        n_errors=columns["n_errors"].astype(np.int32),
        kind=np.where(whole, Kind.DOCUMENT, Kind.SEGMENT).astype(np.int8),
        role=role,
        accepted=accepted,
        labels=Labels(
            names.systems.keys,
            names.documents.keys,
            names.raters.keys,
            names.tasks.keys,
            segment_document,
            segment_position,
        ),
        higher_is_better=frame.higher_is_better,
        scale=frame.scale,
        criterion=frame.criterion,
        documents_known=frame.documents_known,
    )
    order = ratings.canonical_order()
    return Loaded(ratings.canonical(order), columns["judgment_id"][order])


def _segments(
    ids: Ints, names: _AllNames
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Segment codes in the order of (document key, position); −1 for judgments of whole documents."""
    document = names.documents.codes(names.segment_document)
    order = np.lexsort((names.segment_position, document))
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    by_id = np.argsort(names.segment_ids)
    codes = np.full(ids.size, -1, dtype=np.int32)
    shown = ids >= 0
    codes[shown] = rank[by_id[np.searchsorted(names.segment_ids[by_id], ids[shown])]]
    return codes, document[order], names.segment_position[order].astype(np.int32)


def _nth(
    address: tuple[npt.NDArray[np.int32], ...],
    at_us: Ints,
    task: npt.NDArray[np.int32],
    ties: tuple[npt.NDArray[Any], ...],
) -> npt.NDArray[np.int32]:
    """Which rating of this output by this rater each row is, from 1, by time, then by task, then by what was said.

    ties: what still tells rows apart, the most telling last; rows alike in all but the first are interchangeable.
    """
    system, document, segment, rater = address
    order = np.lexsort((*ties, task, at_us, rater, segment, document, system))
    rows = np.stack([column[order] for column in address])
    starts = np.concatenate(([True], (rows[:, 1:] != rows[:, :-1]).any(axis=0)))[: order.size]
    index = np.arange(order.size)
    first = np.maximum.accumulate(np.where(starts, index, 0)) if order.size else index
    nth = np.empty(order.size, dtype=np.int32)
    nth[order] = index - first + 1
    return nth
