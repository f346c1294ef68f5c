"""Leases: choose the task that a rater gets, and free tasks whose lease has expired, by the database clock.

Code that leases holds the campaign's advisory lock, so two raters never look for a task at the same time. Judgments
wait for this lock only if their task was lost. Order of locks: first the advisory lock, then the campaign's row, then
tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.attention_checks import LAST
from app.storage.db import driver_connection
from app.storage.leases.attention import AttentionCheckSampling, insert_due_attention_check
from app.storage.leases.handover import replace_begun_task_with_empty_copy
from app.storage.leases.person_clashes import HAS_ANOTHER, LOCKED
from app.storage.recorder.judgments import LIVE, LOCK_CAMPAIGN_ROW, Connection

MOST_DUE = 500
TRIES = 5
Why = Literal["finished", "nothing_planned", "wait", "paused", "capacity", "not_enrolled"]
SOONEST, LATEST = 5, 300  # seconds after which it is worth asking again

LOCK_LEASING = "SELECT pg_advisory_xact_lock(%(lock)s)"
RATER = f"""
SELECT c.state, e.state, e.capacity, e.capacity_unit, r.person_id,
       {LIVE.format(credential="%(token)s", rater="%(rater)s", session="%(session)s::bigint")}
FROM campaigns c JOIN raters r ON r.campaign_id = c.id AND r.id = %(rater)s
LEFT JOIN enrolments e ON e.campaign_id = c.id AND e.rater_id = r.id WHERE c.id = %(campaign)s"""

RENEW = """
UPDATE tasks SET leased_until = statement_timestamp() + %(lasts)s
WHERE campaign_id = %(campaign)s AND rater_id = %(rater)s AND state = 'leased'
RETURNING id, public_id, leased_until"""

# An expired task is free again: for its rater if the plan says so, else for the bucket, with the rest of its chain. If
# part of a chain has been handed in, the chain stays with its rater, since nobody else can finish the group.
EXPIRE = """
WITH due AS (
    SELECT t.id, t.plan, t.chain, t.lease, t.pooled AND NOT EXISTS (
               SELECT FROM tasks x WHERE x.campaign_id = %(campaign)s AND x.plan = t.plan AND x.chain = t.chain
                 AND x.chain IS NOT NULL AND x.rater_id = t.rater_id AND x.state = 'handed_in') AS back
    FROM tasks t WHERE t.campaign_id = %(campaign)s AND t.state = 'leased' AND t.leased_until < clock_timestamp()
    ORDER BY t.leased_until LIMIT %(most)s FOR NO KEY UPDATE OF t SKIP LOCKED),
freed AS (
    UPDATE tasks t SET state = 'free', leased_until = NULL,
           rater_id = CASE WHEN d.back THEN NULL ELSE t.rater_id END, pooled = t.pooled AND NOT d.back
    FROM due d WHERE t.campaign_id = %(campaign)s AND t.id = d.id),
siblings AS (
    UPDATE tasks t SET rater_id = NULL, pooled = false
    FROM due d WHERE d.back AND d.chain IS NOT NULL AND t.campaign_id = %(campaign)s AND t.plan = d.plan
      AND t.chain = d.chain AND t.state = 'free' AND t.pooled),
ended AS (
    UPDATE leases l SET ended_at = statement_timestamp(), ended_how = 'expired'
    FROM due d WHERE l.campaign_id = %(campaign)s AND l.task_id = d.id AND l.n = d.lease)
SELECT count(*) FROM due"""

ANY_DUE = """
SELECT FROM tasks WHERE campaign_id = %(campaign)s AND state = 'leased' AND leased_until < clock_timestamp() LIMIT 1"""

# What a person has been given of each stretch, under any of their accounts, and in which task.
_TAKEN = """
SELECT g.plan, g.unit, t.id AS task_id, t.chain, m.id AS account
FROM mine m JOIN tasks t ON t.campaign_id = %(campaign)s AND t.rater_id = m.id AND t.plan IS NOT NULL
     AND t.state <> 'withdrawn'
JOIN items i ON i.campaign_id = %(campaign)s AND i.task_id = t.id
JOIN groups g ON g.campaign_id = %(campaign)s AND g.id = i.group_id
UNION
SELECT g.plan, g.unit, t.id, t.chain, m.id
FROM mine m JOIN leases l ON l.campaign_id = %(campaign)s AND l.rater_id = m.id
JOIN tasks t ON t.campaign_id = %(campaign)s AND t.id = l.task_id
JOIN items i ON i.campaign_id = %(campaign)s AND i.task_id = t.id
     AND EXISTS (SELECT FROM judgments j WHERE j.item_id = i.id AND j.rater_id = m.id)
JOIN groups g ON g.campaign_id = %(campaign)s AND g.id = i.group_id"""
# What other accounts of the same person hold or did. Tasks that are only dealt to them do not count: if one person was
# dealt two ratings before the accounts were linked, the rating that is begun first is the one that is done.
_ELSEWHERE = """
SELECT g.plan, g.unit, t.id AS task_id, t.chain
FROM others m JOIN tasks t ON t.campaign_id = %(campaign)s AND t.rater_id = m.id AND t.plan IS NOT NULL
     AND t.state IN ('leased', 'handed_in')
JOIN items i ON i.campaign_id = %(campaign)s AND i.task_id = t.id
JOIN groups g ON g.campaign_id = %(campaign)s AND g.id = i.group_id
UNION
SELECT g.plan, g.unit, t.id, t.chain
FROM others m JOIN leases l ON l.campaign_id = %(campaign)s AND l.rater_id = m.id
JOIN tasks t ON t.campaign_id = %(campaign)s AND t.id = l.task_id
JOIN items i ON i.campaign_id = %(campaign)s AND i.task_id = t.id
     AND EXISTS (SELECT FROM judgments j WHERE j.item_id = i.id AND j.rater_id = m.id)
JOIN groups g ON g.campaign_id = %(campaign)s AND g.id = i.group_id"""
_OTHERS = """others AS MATERIALIZED (SELECT id FROM raters WHERE campaign_id = %(campaign)s
    AND person_id = %(person)s AND id <> %(rater)s)"""
_CLASH = """EXISTS (SELECT FROM items i JOIN groups g ON g.campaign_id = %(campaign)s AND g.id = i.group_id
    JOIN taken k ON k.plan = g.plan AND k.unit = g.unit
    WHERE i.campaign_id = %(campaign)s AND i.task_id = {task} AND k.task_id <> {task}
      AND (k.chain = t.chain) IS NOT TRUE)"""
# Another account of the same person began the task or its chain and lost it. Only that account may get it back.
_BEGUN_ELSEWHERE = """EXISTS (SELECT FROM taken k WHERE k.account <> %(rater)s
    AND (k.task_id = t.id OR k.plan = t.plan AND k.chain = t.chain))"""
# An attention check uses up none of a rater's capacity.
_FITS = """(t.plan IS NULL OR %(room)s::bigint IS NULL
    OR %(room)s >= CASE %(unit)s WHEN 'words' THEN coalesce(t.words, 0)
    WHEN 'segments' THEN coalesce(t.segments, 0)
    ELSE (SELECT count(*) FROM items i WHERE i.campaign_id = %(campaign)s AND i.task_id = t.id) END)"""
_MINE = """mine AS MATERIALIZED (SELECT id FROM raters WHERE campaign_id = %(campaign)s
    AND (id = %(rater)s OR person_id = %(person)s))"""

ROOM = """
SELECT sum(CASE %(unit)s WHEN 'words' THEN coalesce(t.words, 0) WHEN 'segments' THEN coalesce(t.segments, 0)
           ELSE (SELECT count(*) FROM items i WHERE i.campaign_id = %(campaign)s AND i.task_id = t.id) END)
FROM tasks t WHERE t.campaign_id = %(campaign)s AND t.rater_id = %(rater)s AND t.plan IS NOT NULL
  AND t.state IN ('leased', 'handed_in')"""

# First the rater's own queue, without what another account of the same person has. Then tasks that the rater began and
# lost, unless the person has another rating of them by now. Then the first task in the rater's buckets without a clash.
OWN = f"""
WITH {_OTHERS}, taken AS MATERIALIZED ({_ELSEWHERE})
SELECT t.id, {_FITS}, t.queue FROM tasks t
WHERE t.campaign_id = %(campaign)s AND t.rater_id = %(rater)s AND t.state = 'free'
  AND (%(person)s::bigint IS NULL OR NOT {_CLASH.format(task="t.id")})
ORDER BY t.queue, t.id LIMIT 1"""
BEGUN = f"""
WITH {_MINE}, taken AS MATERIALIZED ({_TAKEN})
SELECT t.id FROM leases l JOIN tasks t ON t.campaign_id = %(campaign)s AND t.id = l.task_id AND t.lease = l.n
WHERE l.campaign_id = %(campaign)s AND l.rater_id = %(rater)s AND l.ended_how = 'expired' AND t.state = 'free'
  AND t.rater_id IS NULL AND EXISTS (SELECT FROM bucket_raters b WHERE b.campaign_id = %(campaign)s
      AND b.plan = t.plan AND b.bucket = t.bucket AND b.rater_id = %(rater)s)
  AND NOT {_CLASH.format(task="t.id")}
ORDER BY t.queue, t.id LIMIT 1"""
POOL = f"""
WITH {_MINE}, taken AS MATERIALIZED ({_TAKEN})
SELECT f.id, f.fits FROM bucket_raters b CROSS JOIN LATERAL (
    SELECT t.id, t.queue, {_FITS} AS fits FROM tasks t
    WHERE t.campaign_id = %(campaign)s AND t.bucket = b.bucket AND t.state = 'free' AND t.rater_id IS NULL
      AND t.plan = b.plan AND (%(again)s OR NOT EXISTS (
          SELECT FROM leases l WHERE l.campaign_id = %(campaign)s AND l.task_id = t.id AND l.rater_id = %(rater)s
            AND l.ended_how = 'released'))
      AND NOT {_BEGUN_ELSEWHERE} AND NOT {_CLASH.format(task="t.id")}
      AND (t.chain IS NULL OR NOT EXISTS (
          SELECT FROM tasks c WHERE c.campaign_id = %(campaign)s AND c.plan = t.plan AND c.chain = t.chain
            AND {_CLASH.format(task="c.id")}))
    ORDER BY t.queue LIMIT 1) f
WHERE b.campaign_id = %(campaign)s AND b.rater_id = %(rater)s ORDER BY f.queue, f.id LIMIT 1"""

TAKE = """
WITH taken AS (
    UPDATE tasks SET state = 'leased', rater_id = %(rater)s, pooled = pooled OR rater_id IS NULL, lease = lease + 1,
           leased_until = statement_timestamp() + %(lasts)s
    WHERE campaign_id = %(campaign)s AND id = %(task)s AND state = 'free' AND coalesce(rater_id = %(rater)s, true)
    RETURNING id, public_id, leased_until, lease, plan, chain),
chained AS (
    UPDATE tasks t SET rater_id = %(rater)s, pooled = true FROM taken k
    WHERE k.chain IS NOT NULL AND t.campaign_id = %(campaign)s AND t.plan = k.plan AND t.chain = k.chain
      AND t.id <> k.id AND t.state = 'free' AND t.rater_id IS NULL),
noted AS (
    INSERT INTO leases (campaign_id, task_id, n, rater_id, leased_at)
    SELECT %(campaign)s, id, lease, %(rater)s, clock_timestamp() FROM taken)
SELECT id, public_id, leased_until FROM taken"""
# Judgments in a task by others, or by this rater while another rater had it, do not count for the work done now.
BEGUN_IN_VAIN = """
SELECT t.id FROM tasks x JOIN tasks t ON t.campaign_id = %(campaign)s AND (t.id = x.id
    OR t.plan = x.plan AND t.chain = x.chain AND t.state = 'free' AND t.rater_id IS NULL)
WHERE x.campaign_id = %(campaign)s AND x.id = %(task)s AND (EXISTS (
    SELECT FROM items i JOIN judgments j ON j.item_id = i.id AND (j.rater_id = %(rater)s) = j.surplus
    WHERE i.campaign_id = %(campaign)s AND i.task_id = t.id)
OR EXISTS (
    SELECT FROM screen_judgments s WHERE s.campaign_id = %(campaign)s AND s.task_id = t.id
      AND (s.rater_id = %(rater)s) = s.surplus)) ORDER BY t.id"""

# Whether tasks that others hold may come back to the rater's buckets, and when the first one does.
TO_COME = """
SELECT extract(epoch FROM t.leased_until - clock_timestamp()) FROM tasks t
JOIN bucket_raters b ON b.campaign_id = %(campaign)s AND b.plan = t.plan AND b.bucket = t.bucket
     AND b.rater_id = %(rater)s
WHERE t.campaign_id = %(campaign)s AND t.state = 'leased' AND t.pooled AND t.rater_id <> %(rater)s
ORDER BY t.leased_until LIMIT 1"""
# Whether the rater ever had a task, or their buckets hold tasks that are open to all.
PLANNED = """
SELECT WHERE EXISTS (SELECT FROM leases WHERE campaign_id = %(campaign)s AND rater_id = %(rater)s)
  OR EXISTS (SELECT FROM tasks WHERE campaign_id = %(campaign)s AND rater_id = %(rater)s AND state <> 'withdrawn')
  OR EXISTS (SELECT FROM bucket_raters b JOIN tasks t ON t.campaign_id = %(campaign)s AND t.plan = b.plan
             AND t.bucket = b.bucket AND (t.rater_id IS NULL OR t.pooled) AND t.state <> 'withdrawn'
             WHERE b.campaign_id = %(campaign)s AND b.rater_id = %(rater)s)"""


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A rater's request for a task.

    lease_duration: how long a lease lasts. session_id: of the browser, None for a token. checks: how attention checks
    are drawn, None if there are none.
    """

    campaign_id: int
    rater_id: int
    token_id: int
    lease_duration: timedelta
    actor: str
    session_id: int | None = None
    checks: AttentionCheckSampling | None = None

    @property
    def sql_parameters(self) -> dict[str, Any]:
        """The request under the parameter names of the statements."""
        lock = LOCKED | self.campaign_id
        return {
            "campaign": self.campaign_id,
            "rater": self.rater_id,
            "token": self.token_id,
            "session": self.session_id,
            "lasts": self.lease_duration,
            "lock": lock,
            "most": MOST_DUE,
        }


@dataclass(frozen=True, slots=True)
class Lease:
    """A task that a rater holds."""

    task_id: int
    public_id: str
    leased_until: datetime


@dataclass(frozen=True, slots=True)
class NoTaskReason:
    """The reason why there is no task now, and the seconds to wait before asking again; None: there will be none."""

    why: Why
    retry_after: int | None = None


class RaterCredentialEnded:
    """The credential has ended."""


async def lease_held_or_next_task(
    connection: Connection, request: LeaseRequest
) -> Lease | NoTaskReason | RaterCredentialEnded:
    """Return the task that the rater holds, renewed, or the next task, or the reason why there is none."""
    keys = request.sql_parameters
    await connection.execute(LOCK_LEASING, keys)
    enrolment_row = await (await connection.execute(RATER, keys)).fetchone()
    if enrolment_row is None or not enrolment_row[5]:
        return (
            RaterCredentialEnded()
            if enrolment_row is not None and enrolment_row[1] not in (None, "erased")
            else NoTaskReason("not_enrolled")
        )
    campaign, enrolment, capacity, unit, person, _ = enrolment_row
    refusal = _reason_to_refuse(campaign, enrolment)
    if refusal is not None:
        return refusal
    held = await (await connection.execute(RENEW, keys)).fetchone()
    if held is not None:
        return Lease(*held)
    if (await (await connection.execute(ANY_DUE, keys)).fetchone()) is not None:
        await connection.execute(LOCK_CAMPAIGN_ROW, keys)
        await connection.execute(EXPIRE, keys)
    keys |= {"unit": unit, "person": person, "room": await _room(connection, keys, capacity, unit)}
    for _ in range(TRIES):  # the task found may be handed in late, or given to another rater, at this very moment
        task_id, fits = await _find_next_task(connection, keys)
        if task_id is None:
            return await _explain_no_task(connection, keys)
        if not fits:
            return NoTaskReason("capacity")
        if request.checks is not None:
            task_id = await insert_due_attention_check(connection, keys, request.checks, task_id) or task_id
        taken = await _take_task(connection, request, task_id)
        if taken is not None:
            return taken
    return NoTaskReason("wait", SOONEST)


def _reason_to_refuse(campaign: str, enrolment: str | None) -> NoTaskReason | None:
    """Return the reason, if any, why the states of the campaign and of the enrolment rule out a lease."""
    if enrolment not in {"active", "paused"}:
        return NoTaskReason("not_enrolled")
    if campaign == "closed":
        return NoTaskReason("finished")
    if campaign == "open":
        return NoTaskReason("paused", LATEST) if enrolment == "paused" else None
    return NoTaskReason("paused" if campaign == "paused" else "wait", LATEST)


async def _room(connection: Connection, keys: Mapping[str, Any], capacity: int | None, unit: str) -> int | None:
    """Return what is left of a rater's capacity."""
    if capacity is None:
        return None
    row = await (await connection.execute(ROOM, {**keys, "unit": unit})).fetchone()
    return int(capacity - (row[0] or 0)) if row else capacity


async def _find_next_task(connection: Connection, keys: Mapping[str, Any]) -> tuple[int | None, bool]:
    """Return a rater's next task, and whether it fits the rest of their capacity."""
    own = await (await connection.execute(OWN, keys)).fetchone()
    if own is not None and own[2] != LAST:
        return own[0], own[1]
    begun = await (await connection.execute(BEGUN, keys)).fetchone()
    if begun is not None:
        return begun[0], True
    for again in (False, True):  # tasks that the rater gave back come last
        if again and own is not None:
            return own[0], own[1]
        pooled = await (await connection.execute(POOL, {**keys, "again": again})).fetchone()
        if pooled is not None:
            return pooled[0], pooled[1]
    return None, False


async def _take_task(connection: Connection, request: LeaseRequest, task_id: int) -> Lease | None:
    """Lease a free task. If its judgments would not count, lease a copy, and leave them with the original.

    Returns None if the task is no longer free.
    """
    keys = {**request.sql_parameters, "task": task_id}
    in_vain = await (await connection.execute(BEGUN_IN_VAIN, keys)).fetchall()
    if in_vain:
        await connection.execute(LOCK_CAMPAIGN_ROW, keys)
    for (begun,) in in_vain:
        copy = await replace_begun_task_with_empty_copy(connection, request.campaign_id, begun, actor=request.actor)
        if copy is None:
            return None
        keys["task"] = copy if begun == task_id else keys["task"]
    taken = await (await connection.execute(TAKE, keys)).fetchone()
    return Lease(*taken) if taken is not None else None


async def _explain_no_task(connection: Connection, keys: Mapping[str, Any]) -> NoTaskReason:
    row = await (await connection.execute(TO_COME, keys)).fetchone()
    if row is None:
        planned = await (await connection.execute(PLANNED, keys)).fetchone()
        return NoTaskReason("finished") if planned is not None else NoTaskReason("nothing_planned", LATEST)
    return NoTaskReason("wait", max(SOONEST, min(LATEST, int(row[0]) + 1)))


RELEASED = f"""
SELECT id FROM tasks WHERE campaign_id = %(campaign)s AND id = %(task)s AND state = 'free' AND lease = (
    SELECT max(n) FROM leases WHERE campaign_id = %(campaign)s AND task_id = %(task)s AND rater_id = %(rater)s
      AND ended_how = 'expired')
  AND coalesce(rater_id = %(rater)s, true)
  AND NOT EXISTS (SELECT FROM tasks WHERE campaign_id = %(campaign)s AND rater_id = %(rater)s AND state = 'leased')
  AND NOT {HAS_ANOTHER.format(campaign="%(campaign)s", task="%(task)s", rater="%(rater)s")}"""


async def renew_lapsed_lease(connection: Connection, request: LeaseRequest, task_id: int) -> Lease | None:
    """Lease a task again after its lease has expired, for a late write; return None if this is impossible."""
    keys = {**request.sql_parameters, "task": task_id}
    await connection.execute(LOCK_LEASING, keys)
    if await (await connection.execute(RELEASED, keys)).fetchone() is None:
        return None
    return await _take_task(connection, request, task_id)


DUE = """
SELECT DISTINCT campaign_id FROM tasks WHERE state = 'leased' AND leased_until < clock_timestamp() ORDER BY 1"""


def find_campaign_ids_with_expired_leases(session: Session) -> list[int]:
    """Return the campaigns in which a lease has expired."""
    return list(session.execute(text(DUE)).scalars())


def release_expired_leases(session: Session, campaign_id: int) -> int:
    """Free the tasks of a campaign whose leases have expired, and return their number. Leasing does so as well."""
    keys = {"campaign": campaign_id, "lock": LOCKED | campaign_id, "most": MOST_DUE}
    connection = driver_connection(session)
    connection.execute(LOCK_LEASING, keys)
    row = connection.execute(EXPIRE, keys).fetchone()
    return int(str(row[0])) if row else 0
