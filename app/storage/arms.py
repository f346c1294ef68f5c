"""The condition under which each task was done: the arm of its plan, and how its screens present their items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import text

from app.storage.attention_checks import IS_CHECK
from app.storage.db import Session
from app.storage.query_planning import execute_full_scan
from app.storage.tables import arms, tasks

OUTPUTS = """
SELECT d.key AS document, g.position, y.key AS system, encode(o.sha256, 'hex') AS digest
FROM outputs o JOIN segments g ON g.campaign_id = o.campaign_id AND g.id = o.segment_id
JOIN documents d ON d.campaign_id = g.campaign_id AND d.id = g.document_id
JOIN systems y ON y.campaign_id = o.campaign_id AND y.id = o.system_id
WHERE o.campaign_id = :campaign AND o.text IS NOT NULL"""

UNFINISHED = f"""
SELECT DISTINCT r.key FROM tasks t JOIN raters r ON r.campaign_id = :campaign AND r.id = t.rater_id
WHERE t.campaign_id = :campaign AND t.state IN ('free', 'leased') AND NOT {IS_CHECK.format(task="t")}"""

NOT_DONE = f"""
SELECT encode(sha256(convert_to(coalesce(string_agg(key, E'\\n' ORDER BY id), ''), 'UTF8')), 'hex')
FROM tasks WHERE campaign_id = :campaign AND NOT state = ANY(:done) AND NOT {IS_CHECK.format(task="tasks")}"""

DONE = ("imported", "handed_in")
"""States of a task in which all its work is done."""


@dataclass(frozen=True, slots=True)
class TaskArm:
    """The condition of a task. done: the whole task is judged.

    arm: name, None if the plan has none. n: its number in the plan. presentation: None if unknown.
    """

    arm: str | None
    n: int
    presentation: str | None
    done: bool


def load_task_arms(session: Session, campaign_id: int, keys: Sequence[str]) -> list[TaskArm]:
    """Return the condition of each task with these keys, in their order."""
    joined = tasks.outerjoin(
        arms, (arms.c.campaign_id == tasks.c.campaign_id) & (arms.c.plan == tasks.c.plan) & (arms.c.n == tasks.c.arm)
    )
    query = (
        sa.select(
            tasks.c.key, tasks.c.state, arms.c.name, arms.c.n, arms.c.presentation, tasks.c.presentation.label("own")
        )
        .select_from(joined)
        .where(tasks.c.campaign_id == campaign_id)
    )
    arm_of_task = {
        row.key: TaskArm(row.name, row.n or 0, row.presentation or row.own, row.state in DONE)
        for row in session.execute(query)
    }
    return [arm_of_task[key] for key in keys]


def load_raters_with_unfinished_tasks(session: Session, campaign_id: int) -> frozenset[str]:
    """Return the keys of raters who have unfinished tasks, either dealt to them or leased by them."""
    return frozenset(session.execute(text(UNFINISHED), {"campaign": campaign_id}).scalars())


def hash_unfinished_task_keys(session: Session, campaign_id: int) -> str:
    """Return a digest of the keys of all unfinished tasks."""
    return str(session.execute(text(NOT_DONE), {"campaign": campaign_id, "done": list(DONE)}).scalar_one())


def load_output_digests(session: Session, campaign_id: int) -> dict[tuple[str, int, str], str]:
    """Return the digest of each known output by document, position and system, to compare two campaigns."""
    rows = execute_full_scan(session, OUTPUTS, {"campaign": campaign_id})
    return {(row.document, row.position, row.system): row.digest for row in rows}
