"""Queries about tasks: their content, their answers, how they end, and the list for managers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.attention_checks import ROLE as ATTENTION
from app.domain.errors import NotFound
from app.domain.media_elements import OPENING
from app.storage.attention_checks import SHOWN_PREFILL as PREFILL_OF_CHECK
from app.storage.attention_checks import SHOWN_TEXT as OF_CHECK
from app.storage.optional_filters import join_optional_conditions

Row = sa.Row[Any]


class TaskNotFound(NotFound):
    """There is no such task, or it is not yours."""


_TASK = """
SELECT t.id, t.public_id, t.key, t.campaign_id, c.key AS campaign, c.state AS campaign_state, t.state, t.rater_id,
       t.lease, t.pooled, t.leased_until, t.leased_until < clock_timestamp() AS expired, t.presentation, t.words,
       t.completion_code, t.plan, t.chain, t.meta,
       (SELECT max(version) FROM guidelines g WHERE g.campaign_id = c.id AND g.kind = 'guidelines') AS guidelines
FROM tasks t JOIN campaigns c ON c.id = t.campaign_id WHERE t.public_id = :task"""

# A degraded copy replaces the text of the credited system, and spans of another origin may be shown with it. A
# reference can be shown in its place, and an attention check has its own texts. The columns tell whose text it is, and
# this never leaves the query.
_TEXT = f"""CASE WHEN i.reference IS NOT NULL THEN f.text WHEN i.variant IS NOT NULL THEN v.text
            WHEN i.role = {ATTENTION} THEN {OF_CHECK} ELSE o.text END"""
_PREFILL = f"""CASE WHEN i.prefill IS NOT NULL THEN coalesce(
            CASE WHEN i.role = {ATTENTION} THEN {PREFILL_OF_CHECK} WHEN i.reference IS NULL THEN p.spans END,
            '[]'::jsonb) END"""
_SHOWN = """
JOIN segments g ON g.campaign_id = i.campaign_id AND g.document_id = i.document_id
     AND g.position BETWEEN coalesce(i.first_segment, 1) AND coalesce(i.last_segment, 2147483647)
LEFT JOIN LATERAL (
    SELECT o.id, o.text, o.alignment FROM credits c
    JOIN outputs o ON o.campaign_id = i.campaign_id AND o.system_id = c.system_id
           AND o.segment_id = g.id
    WHERE c.campaign_id = i.campaign_id AND c.item_id = i.id ORDER BY o.id LIMIT 1) o ON true
LEFT JOIN variants v ON v.campaign_id = i.campaign_id AND v.output_id = o.id AND v.name = i.variant
     AND v.kind <> 'prefill'
LEFT JOIN variants p ON p.campaign_id = i.campaign_id AND p.output_id = o.id AND p.name = i.prefill
     AND p.kind = 'prefill'
LEFT JOIN reference_texts f ON f.campaign_id = i.campaign_id AND f.segment_id = g.id AND f.name = i.reference"""

_TEXTS = f"""
SELECT i.id AS item_id, i.position AS item, i.screen, i.column_, i.side_order, i.first_segment, g.id AS segment_id,
       g.position, g.source, {_TEXT} AS text, {_PREFILL} AS prefill,
       CASE WHEN i.reference IS NULL AND (v.kind IS NULL OR v.kind = 'degraded') THEN o.alignment END AS alignment,
       o.text AS output,
       coalesce(g.meta ->> 'instructions', (
         SELECT coalesce(d.meta ->> 'instructions', d.meta ->> 'evaluation_instruction') FROM documents d
         WHERE d.campaign_id = g.campaign_id AND d.id = g.document_id)) AS instructions,
       (SELECT jsonb_object_agg(x.name, x.text) FROM reference_texts x
        WHERE x.campaign_id = i.campaign_id AND x.segment_id = g.id) AS refs
FROM items i {_SHOWN}
WHERE i.campaign_id = :campaign AND i.task_id = :task ORDER BY i.position, g.position"""

# One row per item. Texts come as lengths, unless they are wanted or are media. A length of 0 and a missing text differ.
_ADDRESSES = f"""
SELECT t.id AS task_id, t.presentation, i.id AS item_id, i.position AS item, i.screen,
       array_agg(g.id ORDER BY g.position) AS segments,
       array_agg(length(g.source) ORDER BY g.position) AS source_lengths,
       array_agg(length({_TEXT}) ORDER BY g.position) AS text_lengths,
       array_agg(CASE WHEN g.source ~* '{OPENING}' THEN g.source END ORDER BY g.position) AS source_elements,
       array_agg(CASE WHEN {_TEXT} ~* '{OPENING}' THEN {_TEXT} END ORDER BY g.position) AS text_elements,
       CASE WHEN :texts THEN array_agg({_TEXT} ORDER BY g.position) END AS texts,
       CASE WHEN i.prefill IS NOT NULL THEN jsonb_agg({_PREFILL} ORDER BY g.position) END AS prefills
FROM tasks t
JOIN items i ON i.campaign_id = t.campaign_id AND i.task_id = t.id {_SHOWN}
WHERE t.public_id = :task AND t.campaign_id = :campaign AND t.state <> 'imported'
  AND EXISTS (SELECT FROM leases l WHERE l.campaign_id = t.campaign_id AND l.task_id = t.id AND l.rater_id = :rater)
GROUP BY t.id, i.id ORDER BY i.position"""

_CONTEXT = """
SELECT i.position AS item, g.position < i.first_segment AS before, g.source
FROM items i JOIN segments g ON g.campaign_id = i.campaign_id AND g.document_id = i.document_id
     AND (g.position BETWEEN i.first_segment - :around AND i.first_segment - 1
          OR g.position BETWEEN i.last_segment + 1 AND i.last_segment + :around)
WHERE i.campaign_id = :campaign AND i.task_id = :task AND g.source IS NOT NULL ORDER BY i.position, g.position"""

# again: the answer was voided, and the task reopened; otherwise raters must not see that an answer was voided.
_ANSWERS = """
SELECT DISTINCT ON (j.item_id, j.segment_id) j.item_id, j.segment_id, j.revision, j.payload, j.recorded_at,
       v.judgment_id IS NOT NULL AND t.state <> 'handed_in' AND EXISTS (
           SELECT FROM leases l WHERE l.campaign_id = :campaign AND l.task_id = :task AND l.rater_id = :rater
             AND l.ended_how = 'handed_in') AS again
FROM tasks t JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id
JOIN judgments j ON j.item_id = i.id AND j.rater_id = :rater
LEFT JOIN voids v ON v.campaign_id = :campaign AND v.judgment_id = j.id
WHERE t.campaign_id = :campaign AND t.id = :task ORDER BY j.item_id, j.segment_id, j.revision DESC"""
_SCREENS = """
SELECT DISTINCT ON (screen) screen, revision, payload, recorded_at FROM screen_judgments
WHERE campaign_id = :campaign AND task_id = :task AND rater_id = :rater ORDER BY screen, revision DESC"""


def load_task(session: Session, public_id: str, *, lock: bool = False) -> Row:
    """Return a task by its public id; `lock` locks it. Raises TaskNotFound, also for imported tasks."""
    suffix = " FOR NO KEY UPDATE OF t" if lock else ""
    row = session.execute(text(f"{_TASK} AND t.state <> 'imported'{suffix}"), {"task": public_id}).one_or_none()
    if row is None:
        raise TaskNotFound
    return row


def load_task_public_id(session: Session, campaign_id: int, task_id: int) -> str:
    """Return the public id of a task."""
    query = text("SELECT public_id FROM tasks WHERE campaign_id = :campaign AND id = :task")
    return str(session.execute(query, {"campaign": campaign_id, "task": task_id}).scalar_one())


def load_task_texts(session: Session, campaign_id: int, task_id: int) -> list[Row]:
    """Return the content of a task: one row for each segment of each item, in the order of the screen."""
    return list(session.execute(text(_TEXTS), {"campaign": campaign_id, "task": task_id}))


def load_answerable_items(
    session: Session, campaign_id: int, public_id: str, rater_id: int, *, texts: bool
) -> list[Row]:
    """Return the items to answer in a task that a rater has or had, one row each. Raises TaskNotFound."""
    keys = {"campaign": campaign_id, "task": public_id, "rater": rater_id, "texts": texts}
    rows = list(session.execute(text(_ADDRESSES), keys))
    if not rows:
        raise TaskNotFound
    return rows


def load_surrounding_sources(session: Session, campaign_id: int, task_id: int, around: int) -> list[Row]:
    """Return the sources before and after the stretch of each item, at most `around` on each side."""
    return list(session.execute(text(_CONTEXT), {"campaign": campaign_id, "task": task_id, "around": around}))


def load_rater_task_answers(session: Session, campaign_id: int, task_id: int, rater_id: int) -> list[Row]:
    """Return a rater's latest answer at each address of a task; `again` if it must be given once more."""
    keys = {"campaign": campaign_id, "task": task_id, "rater": rater_id}
    return list(session.execute(text(_ANSWERS), keys))


def load_rater_screen_answers(session: Session, campaign_id: int, task_id: int, rater_id: int) -> list[Row]:
    """Return a rater's latest answer about each screen of a task."""
    keys = {"campaign": campaign_id, "task": task_id, "rater": rater_id}
    return list(session.execute(text(_SCREENS), keys))


def was_ever_leased_by(session: Session, campaign_id: int, task_id: int, rater_id: int) -> bool:
    """Tell whether a rater ever leased a task."""
    query = text(
        "SELECT EXISTS (SELECT FROM leases WHERE campaign_id = :campaign AND task_id = :task AND rater_id = :rater)"
    )
    return bool(session.execute(query, {"campaign": campaign_id, "task": task_id, "rater": rater_id}).scalar())


def find_holder_of_nth_lease(session: Session, campaign_id: int, task_id: int, n: int) -> int | None:
    """Return the rater who had the n-th lease of a task."""
    query = text("SELECT rater_id FROM leases WHERE campaign_id = :campaign AND task_id = :task AND n = :n")
    rater_id: int | None = session.execute(query, {"campaign": campaign_id, "task": task_id, "n": n}).scalar()
    return rater_id


def mark_task_handed_in(session: Session, campaign_id: int, task_id: int, *, rater_id: int, code: str | None) -> None:
    """End a task's lease as handed in; without a code if the code is assigned later."""
    keys = {"campaign": campaign_id, "task": task_id, "rater": rater_id, "code": code}
    session.execute(
        text(
            """UPDATE tasks SET state = 'handed_in', rater_id = :rater, handed_in_at = statement_timestamp(),
                      leased_until = NULL, completion_code = coalesce(completion_code, :code)
               WHERE campaign_id = :campaign AND id = :task"""
        ),
        keys,
    )
    session.execute(
        text(
            """UPDATE tasks t SET rater_id = :rater, pooled = true FROM tasks k
               WHERE k.campaign_id = :campaign AND k.id = :task AND t.campaign_id = :campaign AND t.plan = k.plan
                 AND t.chain = k.chain AND t.state = 'free' AND t.rater_id IS NULL"""
        ),
        keys,
    )
    record_how_lease_ended(session, campaign_id, task_id, "handed_in")


def record_how_lease_ended(session: Session, campaign_id: int, task_id: int, how: str) -> None:
    """Note how the last lease of a task ended."""
    session.execute(
        text(
            """UPDATE leases l SET ended_at = statement_timestamp(), ended_how = :how FROM tasks t
               WHERE t.campaign_id = :campaign AND t.id = :task AND l.campaign_id = :campaign AND l.task_id = t.id
                 AND l.n = t.lease AND (l.ended_how IS NULL OR l.ended_how = 'expired' OR :how = 'reassigned')"""
        ),
        {"campaign": campaign_id, "task": task_id, "how": how},
    )


def free_task(session: Session, campaign_id: int, task_id: int, values: Mapping[str, object]) -> None:
    """Make a task free again, for a rater or for its bucket, as `values` determine."""
    names = "".join(f", {name} = :{name}" for name in values)
    session.execute(
        text(
            f"""UPDATE tasks SET state = 'free', leased_until = NULL, handed_in_at = NULL{names}
                WHERE campaign_id = :campaign AND id = :task"""
        ),
        {"campaign": campaign_id, "task": task_id, **values},
    )


def return_task_chain_to_bucket(session: Session, campaign_id: int, plan: int | None, chain: int | None) -> bool:
    """Return the free rest of a chain to its bucket; return False if a part of the chain is handed in."""
    if chain is None:
        return True
    keys = {"campaign": campaign_id, "plan": plan, "chain": chain}
    here = "campaign_id = :campaign AND plan = :plan AND chain = :chain"
    if session.execute(text(f"SELECT FROM tasks WHERE {here} AND state = 'handed_in' LIMIT 1"), keys).first():
        return False
    session.execute(text(f"UPDATE tasks SET rater_id = NULL, pooled = false WHERE {here} AND pooled"), keys)
    return True


_PARTS = """
SELECT p.id, p.public_id, p.state, p.rater_id, p.pooled FROM tasks t
JOIN tasks p ON p.campaign_id = :campaign AND (p.id = t.id OR p.plan = t.plan AND p.chain = t.chain)
WHERE t.campaign_id = :campaign AND t.id = :task AND p.state IN ('free', 'leased', 'handed_in')
ORDER BY p.id FOR NO KEY UPDATE OF p"""


def lock_tasks_of_chain(session: Session, campaign_id: int, task_id: int) -> list[Row]:
    """Return all tasks that share groups with a task, including the task itself, locked; omit withdrawn ones."""
    return list(session.execute(text(_PARTS), {"campaign": campaign_id, "task": task_id}))


# Select the page first, and add its details afterwards. Documents come by id, so that each is named once for all items.
# The systems of all items are looked up together, because their credits are adjacent.
_LISTED = """
WITH page AS MATERIALIZED (
    SELECT t.id FROM tasks t WHERE t.campaign_id = :campaign AND t.state <> 'imported' AND t.id > :after {conditions}
    ORDER BY t.id LIMIT :limit)
SELECT t.id, t.public_id, t.key, t.state, r.key AS rater, t.bucket, t.plan, t.chain, t.queue, t.presentation, t.words,
       t.segments, t.lease, t.leased_until, t.handed_in_at, t.completion_code,
       (SELECT jsonb_agg(jsonb_build_object('id', i.id, 'item', i.position, 'document', i.document_id,
               'first', i.first_segment, 'last', i.last_segment, 'role', i.role, 'screen', i.screen,
               'column', i.column_, 'surplus', i.surplus_from IS NOT NULL) ORDER BY i.position)
        FROM items i WHERE i.campaign_id = t.campaign_id AND i.task_id = t.id) AS items
FROM page p JOIN tasks t ON t.id = p.id LEFT JOIN raters r ON r.id = t.rater_id ORDER BY t.id"""
_LISTED_BY = {
    "state": "t.state = :state",
    "rater": "t.rater_id = (SELECT id FROM raters WHERE campaign_id = :campaign AND key = :rater)",
    "bucket": "t.bucket = :bucket",
    "task": "t.public_id = :task",
}


def load_tasks_page(
    session: Session,
    campaign_id: int,
    *,
    after: int = 0,
    limit: int = 1,
    state: str | None = None,
    rater: str | None = None,
    bucket: int | None = None,
    task: str | None = None,
) -> list[Row]:
    """Return tasks as managers see them, by id after `after`; their items refer to documents by id."""
    only = {"state": state, "rater": rater, "bucket": bucket, "task": task}
    query = text(_LISTED.format(conditions=join_optional_conditions(_LISTED_BY, only)))
    return list(session.execute(query, {**only, "campaign": campaign_id, "after": after, "limit": limit}))


_CREDITED = text("SELECT item_id, system_id FROM credits WHERE campaign_id = :campaign AND item_id = ANY(:ids)")


def load_system_ids_by_item(session: Session, campaign_id: int, ids: Collection[int]) -> Mapping[int, list[int]]:
    """Return the ids of the systems whose outputs the items show, by item."""
    systems: dict[int, list[int]] = {item: [] for item in ids}
    for row in session.execute(_CREDITED, {"campaign": campaign_id, "ids": sorted(ids)}):
        systems[row.item_id].append(row.system_id)
    return systems


_KEYS = {
    table: text(f"SELECT id, key FROM {table} WHERE campaign_id = :campaign AND id = ANY(:ids)")
    for table in ("documents", "systems")
}


def load_document_or_system_keys_by_id(
    session: Session, campaign_id: int, table: Literal["documents", "systems"], ids: Collection[int]
) -> dict[int, str]:
    """Return the keys of documents or systems, by id."""
    rows = session.execute(_KEYS[table], {"campaign": campaign_id, "ids": sorted(ids)})
    return {row.id: row.key for row in rows}
