"""Further data on ratings (times, positions, revisions, marked errors), each loaded only when a report needs it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from app.stats.rating_metadata import (
    EPOCH_UNKNOWN,
    DocumentTable,
    ErrorTable,
    RaterTable,
    RatingEventTable,
    RepeatAndDegradedLinks,
    TaskTable,
)
from app.stats.ratings import RatingLabels, RatingRole, Ratings
from app.storage.db import Session
from app.storage.packed_columns import (
    load_packed_columns_in_blocks,
    make_packed_columns_select,
    unpack_column,
    unpack_times_as_microseconds,
)
from app.storage.query_planning import execute_full_scan
from app.storage.ratings import NO_IDS, load_scored_judgment_id_range
from app.storage.word_count_sql import WORDS_OF

Ids = npt.NDArray[np.int64]
Row = sa.Row[Any]

DOCUMENTS = f"""
SELECT d.key, d.domain, d.kind, count(g.id) AS segments,
       coalesce(sum({WORDS_OF.format(text="g.source")}), -1) AS words
FROM documents d LEFT JOIN segments g ON g.campaign_id = d.campaign_id AND g.document_id = d.id
WHERE d.campaign_id = :campaign GROUP BY d.id"""
RATERS = """
SELECT r.key, coalesce(p.key, r.key) AS person, r.attributes FROM raters r LEFT JOIN people p ON p.id = r.person_id
WHERE r.campaign_id = :campaign"""
TASKS = """
SELECT t.key, r.key AS rater, t.state, t.meta FROM tasks t
LEFT JOIN raters r ON r.campaign_id = :campaign AND r.id = t.rater_id WHERE t.campaign_id = :campaign"""
_SCORES = {
    "judgment_id": "int8",
    "item_id": "int8",
    "segment_id": "int8",
    "rater_id": "int8",
    "revision": "int4",
    "score": "float8",
}
_JUDGMENTS = {"id": "int8", "item_id": "int8", "started_at": "timestamptz", "submitted_at": "timestamptz"}
_ITEMS = {"id": "int8", "position": "int4"}
_IN_BLOCK = "campaign_id = %(campaign)s AND {} BETWEEN %(first)s AND %(last)s"
_ASKED = {
    "scores": (_SCORES, f"scores WHERE profile_id = %(profile)s AND {_IN_BLOCK.format('judgment_id')}"),
    "judgments": (_JUDGMENTS, f"judgments WHERE {_IN_BLOCK.format('id')}"),
    "items": (_ITEMS, f"items WHERE {_IN_BLOCK.format('id')}"),
}
BLOCK = 1 << 22  # number of ids; a score takes 44 bytes
BLOCK_WITH_ERRORS = 1 << 20  # number of judgment ids; an error takes some 50 bytes
# Texts end with a zero byte, which no text can contain; no category is an empty text, and an empty category is "=".
ERRORS = """
SELECT string_agg(int8send(j.id), ''::bytea) AS id,
       string_agg(boolsend(coalesce(e ->> 'side', 'target') = 'target'), ''::bytea) AS side,
       string_agg(int4send(coalesce((e ->> 'start')::int, -1)), ''::bytea) AS start,
       string_agg(int4send(coalesce((e ->> 'end')::int, -1)), ''::bytea) AS end,
       string_agg(convert_to(e ->> 'severity', 'UTF8') || zero, ''::bytea) AS severity,
       string_agg(convert_to(coalesce('=' || (e ->> 'category'), ''), 'UTF8') || zero, ''::bytea) AS category
FROM (SELECT '\\x00'::bytea AS zero) z, judgments j CROSS JOIN LATERAL jsonb_array_elements(j.payload -> %(field)s) e
WHERE j.campaign_id = %(campaign)s AND j.id BETWEEN %(first)s AND %(last)s
  AND jsonb_typeof(j.payload -> %(field)s) = 'array'"""


def load_document_table(session: Session, campaign_id: int, labels: RatingLabels) -> DocumentTable:
    """Return the data of each document in the labels."""
    rows = _rows_by_key(session, DOCUMENTS, campaign_id)
    document_rows = [rows[key] for key in labels.documents]
    return DocumentTable(
        domain=tuple(row.domain for row in document_rows),
        kind=tuple(row.kind for row in document_rows),
        segments=np.array([row.segments for row in document_rows], dtype=np.int32),
        words=np.array([row.words for row in document_rows], dtype=np.int32),
    )


def load_rater_table(session: Session, campaign_id: int, labels: RatingLabels) -> RaterTable:
    """Return the person behind each rater in the labels, and the attributes of the account."""
    rows = _rows_by_key(session, RATERS, campaign_id)
    rater_rows = [rows[key] for key in labels.raters]
    return RaterTable(
        person=tuple(row.person for row in rater_rows), attributes=tuple(row.attributes for row in rater_rows)
    )


def load_task_table(session: Session, campaign_id: int, labels: RatingLabels) -> TaskTable:
    """Return rater, state and metadata of each task in the labels."""
    rows = _rows_by_key(session, TASKS, campaign_id)
    code = {key: i for i, key in enumerate(labels.raters)}
    task_rows = [rows[key] for key in labels.tasks]
    return TaskTable(
        rater=np.array([code.get(row.rater, -1) for row in task_rows], dtype=np.int32),
        state=tuple(row.state for row in task_rows),
        meta=tuple(row.meta for row in task_rows),
    )


def load_rating_event_table(session: Session, campaign_id: int, profile_id: int, judgment_ids: Ids) -> RatingEventTable:
    """Return when each row was begun and handed in, its position in its task, and how often it was answered."""
    keys = {"campaign": campaign_id, "profile": profile_id}
    # Earlier answers at an address may belong to other judgments than these; existing rows never change.
    scores = _read(session, "scores", keys, load_scored_judgment_id_range(session, profile_id))
    judgments = _read(session, "judgments", keys, _ends(judgment_ids))
    items = _read(session, "items", keys, _ends(judgments["item_id"]))
    said = _index_of_ids(judgments["id"], judgment_ids)
    nth, first = _history(scores)
    scored = _index_of_ids(scores["judgment_id"], judgment_ids)
    return RatingEventTable(
        started=unpack_times_as_microseconds(judgments["started_at"][said], EPOCH_UNKNOWN),
        submitted=unpack_times_as_microseconds(judgments["submitted_at"][said], EPOCH_UNKNOWN),
        position=items["position"][_index_of_ids(items["id"], judgments["item_id"][said])].astype(np.int32),
        revisions=nth[scored].astype(np.int32),
        first_score=first[scored],
    )


def _read(
    session: Session, table: str, keys: Mapping[str, object], ids: tuple[int, int]
) -> dict[str, npt.NDArray[Any]]:
    """Load the columns of a table, for a range of ids."""
    columns, rows = _ASKED[table]
    statement = f"SELECT * FROM {make_packed_columns_select(table, columns, rows)}"
    packed = load_packed_columns_in_blocks(session, statement, keys, ids, BLOCK)
    return {name: unpack_column(packed[f"{table}_{name}"], kind) for name, kind in columns.items()}


def _ends(ids: Ids) -> tuple[int, int]:
    return (int(ids.min()), int(ids.max())) if ids.size else NO_IDS


def _index_of_ids(ids: Ids, wanted: Ids) -> npt.NDArray[np.intp]:
    """Return the index of each wanted id among distinct ids."""
    order = np.argsort(ids)
    return order[np.searchsorted(ids, wanted, sorter=order)]


def _history(scores: Mapping[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Return, for each scored judgment, the number of answers at its address so far, and the first one's score."""
    address = ("rater_id", "segment_id", "item_id")
    order = np.lexsort((scores["revision"], *(scores[name] for name in address)))
    same = np.ones(max(order.size - 1, 0), dtype=np.bool_)
    for name in address:
        same &= scores[name][order][1:] == scores[name][order][:-1]
    at = np.arange(order.size)
    starts = np.maximum.accumulate(np.where(np.append(True, ~same)[: order.size], at, 0)) if order.size else at
    nth, first = np.empty(order.size, dtype=np.intp), np.empty(order.size)
    nth[order], first[order] = at - starts + 1, scores["score"][order][starts]
    return nth, first


def load_marked_error_table(
    session: Session, campaign_id: int, judgment_ids: Ids, *, field: str, weigh: Mapping[tuple[str, str | None], float]
) -> ErrorTable:
    """Return all errors marked in the rows, from the list `field` of their payloads.

    weigh: weight of (severity, category); a missing pair weighs 0.
    """
    keys = {"campaign": campaign_id, "field": field}
    columns = load_packed_columns_in_blocks(session, ERRORS, keys, _ends(judgment_ids), BLOCK_WITH_ERRORS)
    ids = unpack_column(columns["id"], "int8")
    # The errors of a judgment are adjacent and in marking order, but the judgments are in any order.
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    first = np.searchsorted(ids, judgment_ids)
    times = np.searchsorted(ids, judgment_ids, side="right") - first
    # A judgment of several systems has several rows.
    row = np.repeat(np.arange(judgment_ids.size), times)
    at = order[np.arange(row.size) - np.repeat(np.cumsum(times) - times, times) + np.repeat(first, times)]
    return _errors(row, at, columns, weigh)


def _errors(
    row: npt.NDArray[np.intp],
    at: npt.NDArray[np.intp],
    columns: Mapping[str, bytes],
    weigh: Mapping[tuple[str, str | None], float],
) -> ErrorTable:
    """Decode errors from their packed columns; at: their positions in these."""
    severity, severities = _encode_texts(columns["severity"], at)
    category, marked = _encode_texts(columns["category"], at)
    kinds = [None if not kind else kind[1:] for kind in marked]
    weights = np.array([[weigh.get((name, kind), 0.0) for kind in kinds] for name in severities])
    none = int(None in kinds)  # the empty text sorts first
    return ErrorTable(
        row=row.astype(np.int32),
        side=unpack_column(columns["side"], "bool")[at].astype(np.int8),
        start=unpack_column(columns["start"], "int4")[at].astype(np.int32),
        end=unpack_column(columns["end"], "int4")[at].astype(np.int32),
        severity=severity,
        category=category - none,
        weight=weights[severity, category] if at.size else np.empty(0),
        severities=severities,
        categories=tuple(kind for kind in kinds if kind is not None),
    )


def _encode_texts(content: bytes, at: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """Encode the packed texts at some positions as codes of the sorted texts found there; return both."""
    # Each new text gets the next number; numbers become codes once all texts are known.
    number: defaultdict[bytes, int] = defaultdict()
    number.default_factory = number.__len__
    numbers = np.array([number[text] for text in content.split(b"\0")[:-1]], dtype=np.int32)[at]
    texts = [text.decode() for text in number]
    there = sorted(np.unique(numbers).tolist(), key=texts.__getitem__)
    code = np.zeros(len(texts), dtype=np.int32)
    code[there] = np.arange(len(there))
    return code[numbers], tuple(texts[n] for n in there)


def link_repeats_to_originals(ratings: Ratings) -> RepeatAndDegradedLinks:
    """Link each repeat or degraded row to its original: the same rater's plain rating of the same output."""
    names = (ratings.system, ratings.segment, ratings.rater)
    later = ratings.role != RatingRole.RATING
    order = np.lexsort((np.arange(len(ratings)), later, *names))
    same = np.ones(max(order.size - 1, 0), dtype=np.bool_)
    for codes in names:
        same &= codes[order][1:] == codes[order][:-1]
    at = np.arange(order.size)
    starts = np.maximum.accumulate(np.where(np.append(True, ~same)[: order.size], at, 0)) if order.size else at
    # The first row of each address is its first plain rating, if it has one.
    first = np.empty(order.size, dtype=np.int64)
    first[order] = order[starts]
    linked = np.isin(ratings.role, (RatingRole.REPEAT, RatingRole.DEGRADED)) & ~later[first]
    return RepeatAndDegradedLinks(np.where(linked, first, -1).astype(np.int32))


def _rows_by_key(session: Session, query: str, campaign_id: int) -> dict[str, Row]:
    return {row.key: row for row in execute_full_scan(session, query, {"campaign": campaign_id})}
