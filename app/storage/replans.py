"""Queries for replanning: tasks are kept, withdrawn, or deleted as if they had never existed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text

from app.storage.db import Session
from app.storage.leases.person_clashes import LOCKED
from app.storage.query_planning import execute_full_scan

Row = sa.Row[Any]

# number: of the task in the plan in force. begun: leased, or with answers. invited: the rater has an invitation seat,
# for which plans know no name; seated: and is still active; gone: and will not return.
IN_FORCE = """
SELECT t.id, (t.meta ->> 'number')::int AS number, t.state, r.key AS rater, t.pooled,
       EXISTS (SELECT FROM enrolments e WHERE e.rater_id = t.rater_id AND e.invitation_id IS NOT NULL) AS invited,
       EXISTS (SELECT FROM enrolments e WHERE e.rater_id = t.rater_id AND e.invitation_id IS NOT NULL
               AND e.state = 'active') AS seated,
       EXISTS (SELECT FROM enrolments e WHERE e.rater_id = t.rater_id AND e.invitation_id IS NOT NULL
               AND e.state NOT IN ('active', 'paused')) AS gone,
       t.state = 'leased' OR EXISTS (SELECT FROM items i JOIN judgments j ON j.item_id = i.id
                                     WHERE i.campaign_id = t.campaign_id AND i.task_id = t.id) AS begun
FROM tasks t LEFT JOIN raters r ON r.id = t.rater_id
WHERE t.campaign_id = :campaign AND t.plan = :plan AND t.state IN ('free', 'leased', 'handed_in')
ORDER BY t.id"""
GROUPS = """
SELECT DISTINCT (t.meta ->> 'number')::int AS task, i.position, i.group_id FROM items i
JOIN tasks t ON t.campaign_id = :campaign AND t.id = i.task_id
WHERE i.campaign_id = :campaign AND t.plan = :plan AND i.group_id IS NOT NULL"""
# By the task's campaign, not by a constant: with statistics that do not know the campaign, the query would read all of
# its items for each task. For the same reason, the deletions use arrays of ids, not joins.
TOUCHED = """
EXISTS (SELECT FROM leases l WHERE l.campaign_id = t.campaign_id AND l.task_id = t.id)
OR EXISTS (SELECT FROM items i JOIN judgments j ON j.item_id = i.id
           WHERE i.campaign_id = t.campaign_id AND i.task_id = t.id)"""
_GONE = "ARRAY(SELECT id FROM tasks WHERE campaign_id = :campaign AND id = ANY(:tasks) AND state <> 'withdrawn')"
_THEIRS = f"ARRAY(SELECT id FROM items WHERE campaign_id = :campaign AND task_id = ANY({_GONE}))"
WITHDRAW = (
    f"""UPDATE tasks t SET state = 'withdrawn', leased_until = NULL
        WHERE t.campaign_id = :campaign AND t.id = ANY(:tasks) AND ({TOUCHED})""",
    """UPDATE leases SET ended_at = statement_timestamp(), ended_how = 'withdrawn'
       WHERE campaign_id = :campaign AND task_id = ANY(:tasks) AND ended_at IS NULL""",
    f"DELETE FROM credits WHERE campaign_id = :campaign AND item_id = ANY({_THEIRS})",
    f"UPDATE items SET of_item_id = NULL WHERE campaign_id = :campaign AND of_item_id = ANY({_THEIRS})",
    f"DELETE FROM items WHERE campaign_id = :campaign AND task_id = ANY({_GONE})",
    """DELETE FROM tasks WHERE campaign_id = :campaign AND id = ANY(:tasks) AND state <> 'withdrawn'""",
)
KEEP = """
UPDATE tasks t SET plan = :version, meta = t.meta || jsonb_build_object('number', k.number)
FROM unnest(CAST(:ids AS bigint[]), CAST(:numbers AS int[])) AS k(id, number)
WHERE t.campaign_id = :campaign AND t.id = k.id"""
KEEP_GROUPS = """
UPDATE groups g SET plan = :version FROM items i JOIN tasks t ON t.campaign_id = :campaign AND t.id = i.task_id
WHERE g.campaign_id = :campaign AND i.campaign_id = :campaign AND i.group_id = g.id AND t.plan = :version
  AND g.plan <> :version"""
FORGET_GROUPS = """
DELETE FROM groups g WHERE g.campaign_id = :campaign AND g.plan < :version
  AND NOT EXISTS (SELECT FROM items i WHERE i.campaign_id = :campaign AND i.group_id = g.id)"""
SURPLUS = """
UPDATE items SET surplus_from = :data_version
WHERE campaign_id = :campaign AND group_id = ANY(:groups) AND surplus_from IS NULL
  AND EXISTS (SELECT FROM judgments j WHERE j.item_id = items.id)"""
CREDIT = """
INSERT INTO credits (campaign_id, item_id, system_id)
SELECT DISTINCT :campaign, i.id, s.id FROM items i
JOIN systems s ON s.campaign_id = :campaign AND s.key = :system
JOIN credits c ON c.campaign_id = :campaign AND c.item_id = i.id
WHERE i.campaign_id = :campaign AND i.group_id = :group AND i.role IN (0, 1) AND NOT EXISTS (
    SELECT FROM segments g
    LEFT JOIN outputs a ON a.campaign_id = :campaign AND a.segment_id = g.id AND a.system_id = c.system_id
    LEFT JOIN outputs b ON b.campaign_id = :campaign AND b.segment_id = g.id AND b.system_id = s.id
    WHERE g.campaign_id = :campaign AND g.document_id = i.document_id
      AND g.position BETWEEN i.first_segment AND i.last_segment AND a.sha256 IS DISTINCT FROM b.sha256)
ON CONFLICT DO NOTHING"""


@dataclass(frozen=True, slots=True)
class RetainedTasks:
    """Tasks that stay: their database ids, and their numbers in the new plan."""

    ids: Sequence[int]
    numbers: Sequence[int]


def block_new_leases(session: Session, campaign_id: int) -> None:
    """Block leases until the transaction ends."""
    session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCKED | campaign_id})


def load_plan_tasks_not_withdrawn(session: Session, campaign_id: int, plan: int) -> list[Row]:
    """Return the tasks of a plan that are free, leased or handed in."""
    return list(session.execute(text(IN_FORCE), {"campaign": campaign_id, "plan": plan}))


def load_group_ids_of_items(session: Session, campaign_id: int, plan: int) -> dict[tuple[int, int], int]:
    """Return the stored group of each item, by (number of the task, position)."""
    rows = execute_full_scan(session, GROUPS, {"campaign": campaign_id, "plan": plan})
    return {(row.task, row.position): row.group_id for row in rows}


def withdraw_or_delete_tasks(session: Session, campaign_id: int, tasks: Sequence[int]) -> None:
    """Remove tasks from a plan: tasks that a rater touched stay as withdrawn, the others are deleted."""
    for statement in WITHDRAW:
        session.execute(text(statement), {"campaign": campaign_id, "tasks": list(tasks)})


def move_tasks_to_plan(session: Session, campaign_id: int, version: int, kept: RetainedTasks) -> None:
    """Move tasks and their groups to the new plan."""
    keys: Mapping[str, object] = {"campaign": campaign_id, "version": version}
    execute_full_scan(session, KEEP, {**keys, "ids": list(kept.ids), "numbers": list(kept.numbers)})
    execute_full_scan(session, KEEP_GROUPS, keys)
    execute_full_scan(session, FORGET_GROUPS, keys)


def mark_judged_items_surplus(session: Session, campaign_id: int, groups: Sequence[int], data_version: int) -> None:
    """Mark the judged items of these groups: from a data version on, no ranking counts their judgments."""
    keys = {"campaign": campaign_id, "groups": list(groups), "data_version": data_version}
    session.execute(text(SURPLUS), keys)


def credit_group_items_to_system(session: Session, campaign_id: int, group: int, system: str) -> None:
    """Also credit a system with the items of a group whose texts it gave as well."""
    session.execute(text(CREDIT), {"campaign": campaign_id, "group": group, "system": system})
