"""Ratings: one query over the scores, loaded directly into numpy columns.

The server packs each column into one byte string (string_agg of int8send), at a fraction of the cost of fetching rows.
All aggregates of one SELECT see the rows in the same order, so the columns stay parallel. Items, credits and voids come
as columns of the same statement, and so from the same snapshot. They are joined in Python, because they are few, and
because the planner has no statistics on them right after an import. If there are more than `BLOCK` judgments, the
scores come in blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg.rows import dict_row
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.stats.ratings import RatingRole
from app.storage.db import driver_connection
from app.storage.free_memory import require_memory_for_ratings
from app.storage.packed_columns import make_packed_columns_select, unpack_column
from app.storage.rating_codes import (
    CampaignIdLabels,
    Columns,
    Ints,
    LabelledIds,
    RatingsMetadata,
    RatingsWithJudgmentIds,
    filter_rows,
    make_ratings_from_joined_columns,
)

__all__ = ["RatingsMetadata", "RatingsWithJudgmentIds", "load_ratings"]

SCORES = {
    "judgment_id": "int8",
    "item_id": "int8",
    "rater_id": "int8",
    "segment_id": "int8",
    "revision": "int4",
    "n_errors": "int4",
    "at_us": "int8",
    "score": "float8",
}
_ITEMS = {"id": "int8", "document_id": "int8", "task_id": "int8", "role": "int2", "accepted": "bool"}
_CREDITS = {"item_id": "int8", "system_id": "int8"}
_VOIDS = {"judgment_id": "int8"}
_SURPLUS = {"id": "int8"}
_PARTS = {"scores": SCORES, "items": _ITEMS, "credits": _CREDITS, "voids": _VOIDS, "surplus": _SURPLUS}
# Number of judgment ids in a block: a score takes 56 bytes, and Postgres limits a row to 1 GB.
BLOCK = 1 << 22
_COUNTED = """{0}campaign_id = %(campaign)s AND {0}profile_id = %(profile)s AND {0}version <= %(version)s
    AND NOT {0}surplus"""


def _statement(scores: str, items: str, credited: str) -> str:
    """Select all parts at once. scores: the rows of scores; items, credited: conditions on these, with `AND`."""
    return "SELECT * FROM " + ", ".join(
        (
            make_packed_columns_select("scores", SCORES, scores),
            make_packed_columns_select("items", _ITEMS, f"items WHERE campaign_id = %(campaign)s {items}"),
            make_packed_columns_select("credits", _CREDITS, f"credits WHERE campaign_id = %(campaign)s {credited}"),
            make_packed_columns_select(
                "voids", _VOIDS, "voids WHERE campaign_id = %(campaign)s AND version <= %(version)s"
            ),
            make_packed_columns_select(
                "surplus", _SURPLUS, "items WHERE campaign_id = %(campaign)s AND surplus_from <= %(version)s"
            ),
        )
    )


_ITS_ITEMS = "(SELECT {}(id) FROM items WHERE campaign_id = %(campaign)s)"
# The primary key of credits finds this range; the items of a campaign have adjacent ids.
LOAD = _statement(
    f"scores WHERE {_COUNTED.format('')}",
    "",
    f"AND item_id BETWEEN {_ITS_ITEMS.format('min')} AND {_ITS_ITEMS.format('max')}",
)
_IDS = "SELECT min(judgment_id) AS first, max(judgment_id) AS last FROM scores WHERE profile_id = :profile"
SCORES_IN_BLOCK = f"scores WHERE {_COUNTED.format('')} AND judgment_id BETWEEN %(first)s AND %(last)s"
_ITEMS_ALONE = LOAD.replace(f"scores WHERE {_COUNTED.format('')}", "scores WHERE false")
_NEXT_BLOCK = f"SELECT * FROM {make_packed_columns_select('scores', SCORES, SCORES_IN_BLOCK)}"
# Each rater's ratings of those outputs of which they also judged a degraded copy or a repeat.
CONTROLS = f"""
WITH changed AS MATERIALIZED (
    SELECT id, document_id FROM items
    WHERE campaign_id = %(campaign)s AND role IN ({RatingRole.REPEAT.value}, {RatingRole.DEGRADED.value})),
controlled AS MATERIALIZED (
    SELECT DISTINCT s.rater_id, c.document_id, coalesce(s.segment_id, -1) AS segment_id
    FROM changed c JOIN scores s ON s.item_id = c.id AND {_COUNTED.format("s.")}),
around AS MATERIALIZED (
    SELECT i.id, i.document_id FROM items i WHERE i.campaign_id = %(campaign)s
      AND i.document_id IN (SELECT document_id FROM controlled)),
rated AS MATERIALIZED (
    SELECT s.* FROM scores s JOIN around i ON i.id = s.item_id JOIN controlled c ON c.rater_id = s.rater_id
         AND c.document_id = i.document_id AND c.segment_id = coalesce(s.segment_id, -1)
    WHERE {_COUNTED.format("s.")})
""" + _statement("rated", "AND id IN (SELECT item_id FROM rated)", "AND item_id IN (SELECT item_id FROM rated)")
_SEGMENTS_SCORED = """
SELECT EXISTS (
    SELECT FROM scores s JOIN items i ON i.campaign_id = :campaign AND i.id = s.item_id
    WHERE s.campaign_id = :campaign AND s.profile_id = :profile AND s.version <= :version AND NOT s.surplus
      AND s.segment_id IS NOT NULL AND (i.surplus_from <= :version) IS NOT TRUE
      AND NOT EXISTS (SELECT FROM voids v WHERE v.campaign_id = :campaign AND v.judgment_id = s.judgment_id
                      AND v.version <= :version))"""


def has_segment_ratings(session: Session, *, campaign_id: int, profile_id: int, version: int) -> bool:
    """Tell whether any rating of a campaign, as of a data version, is of a segment."""
    keys = {"campaign": campaign_id, "profile": profile_id, "version": version}
    return bool(session.execute(text(_SEGMENTS_SCORED), keys).scalar_one())


NO_IDS = (1, 0)


def load_scored_judgment_id_range(session: Session, profile_id: int) -> tuple[int, int]:
    """Return the lowest and the highest id of judgments with a score under a profile; `NO_IDS` if there are none."""
    ids = session.execute(text(_IDS), {"profile": profile_id}).one()
    return NO_IDS if ids.first is None else (ids.first, ids.last)


def load_ratings(
    session: Session,
    *,
    campaign_id: int,
    profile_id: int,
    version: int,
    metadata: RatingsMetadata,
    statement: str = LOAD,
) -> RatingsWithJudgmentIds:
    """Return all ratings of a campaign as of a data version, in canonical order.

    If an address has several revisions, the latest counts; surplus and void judgments are not ratings. statement:
    `CONTROLS` loads only the ratings that tests of control items use.

    Raises MemoryTooSmall.
    """
    require_memory_for_ratings(session, campaign_id)
    keys = {"campaign": campaign_id, "profile": profile_id, "version": version}
    scores, items, credited, voids, surplus = _read(session, statement, keys)
    if surplus["id"].size:
        scores = filter_rows(scores, ~np.isin(scores["item_id"], surplus["id"]))
    if voids["judgment_id"].size:
        scores = filter_rows(scores, ~np.isin(scores["judgment_id"], voids["judgment_id"]))
    keep = _latest(scores)
    if keep is not None:
        scores = filter_rows(scores, keep)
    labels = load_id_labels_of_campaign(session, campaign_id)
    _code_items(items, credited, labels)
    return make_ratings_from_joined_columns(ItemDataJoiner(items, credited).join_scores(scores), labels, metadata)


def load_rated_items_and_omitted_ids(
    session: Session, keys: Mapping[str, object], labels: CampaignIdLabels
) -> tuple[ItemDataJoiner, Ints, Ints]:
    """Return the items to join with scores, the ids of void judgments, and the ids of surplus items."""
    _, items, credited, voids, surplus = _read(session, _ITEMS_ALONE, keys)
    _code_items(items, credited, labels)
    return ItemDataJoiner(items, credited), voids["judgment_id"], surplus["id"]


def _code_items(
    items: dict[str, npt.NDArray[Any]], credited: dict[str, npt.NDArray[Any]], labels: CampaignIdLabels
) -> None:
    items["document"] = labels.documents.find_codes(items["document_id"])
    items["task"] = labels.tasks.find_codes(items["task_id"])
    credited["system"] = labels.systems.find_codes(credited["system_id"])


def _read(session: Session, statement: str, keys: Mapping[str, object]) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the columns of each of `_PARTS`, with the scores in blocks if there may be too many for one row.

    Scores of a data version never change, and their items existed before them, so the blocks need no common snapshot.
    """
    blocks: dict[str, list[npt.NDArray[Any]]] = defaultdict(list)
    kinds = {f"{alias}_{name}": kind for alias, columns in _PARTS.items() for name, kind in columns.items()}
    with driver_connection(session).cursor(binary=True, row_factory=dict_row) as cursor:
        for part, block in _statements(session, statement, keys):
            row = cursor.execute(part, {**keys, **block}).fetchone() or {}
            for name, content in row.items():
                blocks[name].append(unpack_column(content, kinds[name]))
    for alias, columns in _PARTS.items():
        yield {name: _concatenate_blocks(blocks.pop(f"{alias}_{name}")) for name in columns}


def _statements(
    session: Session, statement: str, keys: Mapping[str, object]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the statements to run one after another, each with its range of judgments."""
    lowest, highest = load_scored_judgment_id_range(session, int(str(keys["profile"])))
    if statement != LOAD or highest - lowest < BLOCK:
        yield statement, {}
        return
    yield _ITEMS_ALONE, {}
    for first in range(lowest, highest + 1, BLOCK):
        yield _NEXT_BLOCK, {"first": first, "last": first + BLOCK - 1}


def _concatenate_blocks(blocks: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


class ItemDataJoiner:
    """The data on a campaign's items, sorted once so that any scores can be joined with them."""

    def __init__(self, items: Columns, credited: Columns) -> None:
        by_id, by_item = np.argsort(items["id"]), np.argsort(credited["item_id"], kind="stable")
        self._items = {name: values[by_id] for name, values in items.items()}
        self._system = credited["system"][by_item]
        item_id = credited["item_id"][by_item]
        self._first = np.searchsorted(item_id, self._items["id"])
        self._n_systems = np.searchsorted(item_id, self._items["id"], side="right") - self._first

    def join_scores(self, scores: Columns) -> dict[str, npt.NDArray[Any]]:
        """Return one row per (judgment, system): scores with the data of their items, once for each credited system.

        `judgment` numbers the rows of `scores`.
        """
        item = np.searchsorted(self._items["id"], scores["item_id"])
        times = self._n_systems[item]
        row = np.repeat(np.arange(item.size), times)
        item = item[row]
        among = np.arange(row.size) - np.repeat(np.cumsum(times) - times, times)
        columns = {name: values[row] for name, values in scores.items()}
        columns |= {name: self._items[name][item] for name in ("document", "task", "role", "accepted")}
        return columns | {"system": self._system[self._first[item] + among], "judgment": row}


def _latest(columns: Columns) -> npt.NDArray[np.bool_] | None:
    """Select the latest answer at each address; return None if no answer was ever revised.

    If all answers at an address have a time (`at_us` is not 0), the latest is the last by (time, revision), so that an
    older answer that is imported later does not win. Otherwise it is the answer with the highest revision.
    """
    revision = columns["revision"]
    if not revision.size or revision.max() == 1:
        return None
    names = ("item_id", "segment_id", "rater_id")
    by_address = np.lexsort([columns[name] for name in names])
    address = np.stack([columns[name][by_address] for name in names])
    starts = np.append(True, (address[:, 1:] != address[:, :-1]).any(axis=0))
    group = np.empty(revision.size, dtype=np.int64)
    group[by_address] = np.cumsum(starts) - 1
    timed = np.ones(int(starts.sum()), dtype=np.bool_)
    timed[group[columns["at_us"] == 0]] = False
    order = np.lexsort((revision, np.where(timed[group], columns["at_us"], 0), group))
    last = order[np.append(np.flatnonzero(starts)[1:], revision.size) - 1]
    keep = np.zeros(revision.size, dtype=np.bool_)
    keep[last] = True
    return keep


def load_id_labels_of_campaign(session: Session, campaign_id: int) -> CampaignIdLabels:
    """Return the labels of a campaign's ids."""
    keys = {"campaign": campaign_id}
    columns = session.execute(
        text(
            """SELECT string_agg(int8send(id), ''::bytea), string_agg(int8send(document_id), ''::bytea),
                      string_agg(int8send(position), ''::bytea) FROM segments WHERE campaign_id = :campaign"""
        ),
        keys,
    ).one()
    segment_ids, segment_document, segment_position = (unpack_column(part, "int8") for part in columns)
    return CampaignIdLabels(
        systems=_names(session, campaign_id, "systems"),
        documents=_names(session, campaign_id, "documents"),
        raters=_names(session, campaign_id, "raters"),
        tasks=_names(session, campaign_id, "tasks"),
        segment_ids=segment_ids,
        segment_document=segment_document,
        segment_position=segment_position,
    )


def _names(session: Session, campaign_id: int, table: str) -> LabelledIds:
    query = text(f"SELECT key, id FROM {table} WHERE campaign_id = :campaign")
    rows = sorted(tuple(row) for row in session.execute(query, {"campaign": campaign_id}))
    return LabelledIds(np.array([row[1] for row in rows], dtype=np.int64), tuple(row[0] for row in rows))
