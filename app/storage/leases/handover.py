"""Hand a begun task to another rater as a copy; the work done stays with the original, as surplus."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.db import driver_connection
from app.storage.recorder.judgments import Connection
from app.storage.seals import NOTHING, version_seal_insert_sql

_BUMP = (
    """bumped AS (
    UPDATE campaigns SET data_version = data_version + 1 WHERE id = %(campaign)s AND EXISTS (SELECT FROM was)
    RETURNING data_version),
noted AS (
    INSERT INTO versions (campaign_id, n, at, actor, what)
    SELECT %(campaign)s, data_version, clock_timestamp(), %(actor)s, 'surplus' FROM bumped
    RETURNING n, at, actor, what),
sealed AS ("""
    + version_seal_insert_sql("noted", NOTHING, campaign="CAST(%(campaign)s AS bigint)")
    + ")"
)
# A half-done group is judged again from the start, so the copy begins empty. Its public id is new: the previous holder
# still writes to the original and sees nothing of the copy.
COPY = f"""
WITH was AS (
    UPDATE tasks SET state = 'withdrawn', leased_until = NULL
    WHERE campaign_id = %(campaign)s AND id = %(task)s AND state IN ('free', 'leased') RETURNING *),
{_BUMP},
copy AS (
    INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, meta, plan, arm, bucket, chain, queue, words,
                       segments, presentation, lease, pooled)
    SELECT campaign_id,
           't_' || encode(substring(sha256((gen_random_uuid()::text || gen_random_uuid())::bytea) FOR 16), 'hex'),
           left(regexp_replace(key, '~again[0-9]+$', ''), 108) || '~again' || id, NULL, 'free', meta, plan, arm, bucket,
           chain, queue, words, segments, presentation, lease, false FROM was RETURNING id),
gone AS (
    UPDATE items SET surplus_from = data_version FROM bumped
    WHERE campaign_id = %(campaign)s AND task_id = %(task)s AND surplus_from IS NULL),
renewed AS (
    INSERT INTO items (campaign_id, task_id, key, position, document_id, first_segment, last_segment, role, accepted,
                       meta, screen, column_, group_id, of_item_id, variant, prefill, reference, side_order, propensity)
    SELECT i.campaign_id, copy.id, i.key, i.position, i.document_id, i.first_segment, i.last_segment, i.role,
           i.accepted, i.meta, i.screen, i.column_, i.group_id, i.of_item_id, i.variant, i.prefill, i.reference,
           i.side_order, i.propensity
    FROM items i CROSS JOIN copy WHERE i.campaign_id = %(campaign)s AND i.task_id = %(task)s
    RETURNING id, position),
credited AS (
    INSERT INTO credits (campaign_id, item_id, system_id)
    SELECT c.campaign_id, r.id, c.system_id FROM renewed r
    JOIN items i ON i.campaign_id = %(campaign)s AND i.task_id = %(task)s AND i.position = r.position
    JOIN credits c ON c.campaign_id = %(campaign)s AND c.item_id = i.id)
SELECT id FROM copy"""
# The target of a repeat or a degraded copy is in the same task, and therefore also in the copy of the task.
RELINK = """
UPDATE items n SET of_item_id = target.id
FROM items was JOIN items target ON target.campaign_id = %(campaign)s AND target.task_id = %(copy)s
     AND target.position = was.position
WHERE was.campaign_id = %(campaign)s AND was.task_id = %(task)s AND n.campaign_id = %(campaign)s
  AND n.task_id = %(copy)s AND n.of_item_id = was.id"""


async def replace_begun_task_with_empty_copy(
    connection: Connection, campaign_id: int, task_id: int, *, actor: str
) -> int | None:
    """Withdraw a begun task, under the campaign's next data version; return the id of its free, empty copy.

    The result is None if the task is no longer free or leased.
    """
    keys: dict[str, Any] = {"campaign": campaign_id, "task": task_id, "actor": actor}
    row = await (await connection.execute(COPY, keys)).fetchone()
    if row is None:
        return None
    await connection.execute(RELINK, {**keys, "copy": row[0]})
    return int(row[0])


def replace_locked_task_with_empty_copy(session: Session, campaign_id: int, task_id: int, *, actor: str) -> int:
    """Do the same as `replace_begun_task_with_empty_copy` for a task that this transaction has locked."""
    keys: dict[str, Any] = {"campaign": campaign_id, "task": task_id, "actor": actor}
    row = driver_connection(session).execute(COPY, keys).fetchone()
    assert row is not None  # noqa: S101  (it is locked)
    copy = int(str(row[0]))
    driver_connection(session).execute(RELINK, {**keys, "copy": copy})
    return copy


def has_judgments_not_counting_for_rater(
    session: Session, campaign_id: int, task_id: int, *, rater_id: int | None
) -> bool:
    """Tell whether a task has judgments or comparisons of others that are not surplus, or surplus ones of the rater."""
    query = text(
        """SELECT EXISTS (SELECT FROM items i
           JOIN judgments j ON j.item_id = i.id AND (j.rater_id IS NOT DISTINCT FROM :besides) = j.surplus
           WHERE i.campaign_id = :campaign AND i.task_id = :task)
           OR EXISTS (SELECT FROM screen_judgments s WHERE s.campaign_id = :campaign AND s.task_id = :task
                      AND (s.rater_id IS NOT DISTINCT FROM :besides) = s.surplus)"""
    )
    return bool(session.execute(query, {"campaign": campaign_id, "task": task_id, "besides": rater_id}).scalar())


CLASHES = """
SELECT EXISTS (
    SELECT FROM items i JOIN groups g ON g.campaign_id = i.campaign_id AND g.id = i.group_id
    JOIN groups o ON o.campaign_id = g.campaign_id AND o.plan = g.plan AND o.unit = g.unit
    JOIN items x ON x.campaign_id = g.campaign_id AND x.group_id = o.id
    JOIN tasks t ON t.campaign_id = g.campaign_id AND t.id = x.task_id AND t.id <> i.task_id
    JOIN raters r ON r.id = t.rater_id
    JOIN raters me ON me.campaign_id = i.campaign_id AND me.id = :rater
    JOIN tasks mine ON mine.id = i.task_id
    WHERE i.campaign_id = :campaign AND i.task_id = :task AND t.state IN ('free', 'leased', 'handed_in')
      AND (r.id = me.id OR r.person_id = me.person_id) AND (t.chain = mine.chain) IS NOT TRUE)"""


def has_person_rating_clash(session: Session, campaign_id: int, task_id: int, rater_id: int) -> bool:
    """Tell whether the rater's person has another rating of something in a task."""
    keys = {"campaign": campaign_id, "task": task_id, "rater": rater_id}
    return bool(session.execute(text(CLASHES), keys).scalar())
