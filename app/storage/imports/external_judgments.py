"""Queries about judgments that arrive by name from elsewhere: the objects they name, and those already known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import documents, raters, segments, systems

RoleName = Literal["rating", "calibration"]


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """An item that a plan assigned to a rater. systems: all credited ones. payload: the rater's latest answer to it."""

    public_id: str
    task: str
    state: str
    rater_id: int
    item: str
    role: RoleName
    systems: tuple[str, ...]
    payload: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class StoredExternalJudgment:
    """A stored judgment with a name from its sender. systems: all that are credited with it."""

    rater: str
    document: str
    segment: int | None
    systems: frozenset[str]
    payload: Mapping[str, object]


# The judgments with these names. If a name has several revisions, any one with the same content counts as the same.
_NAMED = """
SELECT j.external_id, r.key AS rater, d.key AS document, g.position AS segment, j.payload,
       (SELECT array_agg(s.key) FROM credits c JOIN systems s ON s.id = c.system_id WHERE c.item_id = i.id) AS systems
FROM judgments j JOIN items i ON i.id = j.item_id JOIN documents d ON d.id = i.document_id
JOIN raters r ON r.id = j.rater_id LEFT JOIN segments g ON g.campaign_id = j.campaign_id AND g.id = j.segment_id
WHERE j.campaign_id = :campaign AND j.external_id = ANY(:names)"""

# The parts of documents that raters were assigned. Python picks the rows for each question: in a join with thousands of
# questions, the planner, without statistics on them, read all items for each question. Items are looked up task by
# task, by the task's campaign; with statistics that do not know the campaign, all items would be read for each task.
_GIVEN = """
SELECT r.key AS rater, r.id AS rater_id, d.key AS document, t.public_id, t.key AS task, t.state, i.id AS item_id,
       i.key AS item, CASE i.role WHEN 0 THEN 'rating' ELSE 'calibration' END AS role,
       coalesce(i.first_segment, 1) AS first, coalesce(i.last_segment, 2147483647) AS last,
       (SELECT array_agg(s.key ORDER BY s.key COLLATE "C") FROM credits k
        JOIN systems s ON s.campaign_id = :campaign AND s.id = k.system_id
        WHERE k.campaign_id = :campaign AND k.item_id = i.id) AS systems
FROM raters r JOIN tasks t ON t.campaign_id = :campaign AND t.rater_id = r.id AND t.plan IS NOT NULL
     AND t.state IN ('free', 'leased', 'handed_in')
JOIN LATERAL (SELECT x.* FROM items x WHERE x.campaign_id = t.campaign_id AND x.task_id = t.id AND x.role IN (0, 4)
              AND x.surplus_from IS NULL OFFSET 0) i ON true
JOIN documents d ON d.campaign_id = :campaign AND d.id = i.document_id
WHERE r.campaign_id = :campaign AND r.key = ANY(:raters) AND d.key = ANY(:documents)
ORDER BY t.queue, t.id, i.position"""
_SAID = """
SELECT DISTINCT ON (j.item_id, j.segment_id) j.item_id, g.position, j.payload
FROM judgments j JOIN items i ON i.id = j.item_id JOIN tasks t ON t.id = i.task_id AND t.rater_id = j.rater_id
LEFT JOIN segments g ON g.campaign_id = j.campaign_id AND g.id = j.segment_id
WHERE j.campaign_id = :campaign AND j.item_id = ANY(:items) ORDER BY j.item_id, j.segment_id, j.revision DESC"""
Question = tuple[str, str, int | None, str]


def load_planned_items_for_judgments(
    session: Session, campaign_id: int, asked: Sequence[Question]
) -> dict[int, PlannedItem]:
    """Find the planned items for questions (rater, document, segment, system), by the question's number from 0.

    A text shared by several systems is one item, under the first of them by key. An item that covers a stretch counts
    for a question about the whole document only if it is all that the rater has of the document.
    """
    keys = {"raters": sorted({one[0] for one in asked}), "documents": sorted({one[1] for one in asked})}
    given: dict[tuple[str, str, str], list[sa.Row[Any]]] = {}
    for row in session.execute(sa.text(_GIVEN), {"campaign": campaign_id, **keys}):
        if row.systems:
            given.setdefault((row.rater, row.document, row.systems[0]), []).append(row)
    row_of_question: dict[int, sa.Row[Any]] = {}
    for n, (rater, document, segment, system) in enumerate(asked):
        rows = given.get((rater, document, system), [])
        fitting = [row for row in rows if segment is None or row.first <= segment <= row.last]
        if fitting and (segment is not None or len(fitting) == 1):
            row_of_question[n] = fitting[0]
    items = sorted({row.item_id for row in row_of_question.values()})
    said = session.execute(sa.text(_SAID), {"campaign": campaign_id, "items": items})
    payloads = {(row.item_id, row.position): row.payload for row in said}
    return {n: _make_planned_item(row, payloads.get((row.item_id, asked[n][2]))) for n, row in row_of_question.items()}


def _make_planned_item(row: sa.Row[Any], payload: Mapping[str, object] | None) -> PlannedItem:
    named = (row.public_id, row.task, row.state, row.rater_id, row.item, row.role)
    return PlannedItem(*named, tuple(row.systems), payload)


_HOLD = """
WITH taken AS (
    UPDATE tasks SET lease = lease + 1 WHERE campaign_id = :campaign AND id = :task AND state = 'free' RETURNING lease)
INSERT INTO leases (campaign_id, task_id, n, rater_id) SELECT :campaign, :task, lease, :rater FROM taken"""


def record_task_holder(session: Session, campaign_id: int, task_id: int, rater_id: int) -> None:
    """Note the rater as the holder of a free task, so that they may write to it when it is reopened."""
    session.execute(sa.text(_HOLD), {"campaign": campaign_id, "task": task_id, "rater": rater_id})


def find_judgments_by_external_name(
    session: Session, campaign_id: int, names: Sequence[str]
) -> dict[str, list[StoredExternalJudgment]]:
    """Return stored judgments by the name that their sender gave them."""
    stored: dict[str, list[StoredExternalJudgment]] = {}
    for row in session.execute(sa.text(_NAMED), {"campaign": campaign_id, "names": list(names)}):
        known = StoredExternalJudgment(row.rater, row.document, row.segment, frozenset(row.systems or ()), row.payload)
        stored.setdefault(row.external_id, []).append(known)
    return stored


def find_known_rater_keys(session: Session, campaign_id: int, keys: Sequence[str]) -> set[str]:
    """Return the keys that belong to raters of the campaign."""
    return _find_existing_keys(session, raters, campaign_id, keys)


def find_known_system_keys(session: Session, campaign_id: int, keys: Sequence[str]) -> set[str]:
    """Return the keys that belong to systems of the campaign."""
    return _find_existing_keys(session, systems, campaign_id, keys)


def find_known_document_keys(session: Session, campaign_id: int, keys: Sequence[str]) -> set[str]:
    """Return the keys that belong to documents of the campaign."""
    return _find_existing_keys(session, documents, campaign_id, keys)


def load_segment_positions(session: Session, campaign_id: int, keys: Sequence[str]) -> set[tuple[str, int]]:
    """Return document and position of all segments of the documents with these keys."""
    query = (
        sa.select(documents.c.key, segments.c.position)
        .join(documents, (documents.c.id == segments.c.document_id) & (documents.c.campaign_id == campaign_id))
        .where(segments.c.campaign_id == campaign_id, documents.c.key.in_(keys))
    )
    return {(row.key, row.position) for row in session.execute(query)}


def _find_existing_keys(session: Session, table: sa.Table, campaign_id: int, keys: Sequence[str]) -> set[str]:
    query = sa.select(table.c.key).where(table.c.campaign_id == campaign_id, table.c.key.in_(keys))
    return set(session.execute(query).scalars())
