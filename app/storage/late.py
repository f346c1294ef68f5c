"""Answers to a task that was lost: they renew its lease, or are kept. Nobody judges a stretch twice, by any account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.storage import leases
from app.storage.db import driver
from app.storage.leases_handover import copy_now, copy_task
from app.storage.one_person import HAS_ANOTHER
from app.storage.recorder_judgments import LOCK, Answer, Connection, Ledger, Outcome, record

# The task is still theirs to go on with, but for another rating that their person has of it.
GIVEN_UP = f"""
SELECT t.id FROM tasks t JOIN leases l ON l.campaign_id = %(campaign)s AND l.task_id = t.id AND l.n = t.lease
     AND l.rater_id = %(rater)s
WHERE t.campaign_id = %(campaign)s AND t.id = %(task)s AND t.state = 'free' AND coalesce(t.rater_id = %(rater)s, true)
  AND {HAS_ANOTHER.format(campaign="%(campaign)s", task="%(task)s", rater="%(rater)s")}"""
# Whoever it was dealt to, it still is.
DEALT = """
UPDATE tasks copy SET rater_id = was.rater_id, pooled = was.pooled FROM tasks was
WHERE was.campaign_id = %(campaign)s AND was.id = %(task)s AND copy.campaign_id = %(campaign)s AND copy.id = %(copy)s"""


async def judge(
    connection: Connection, ledger: Ledger, answers: Sequence[Answer], asking: leases.Asking
) -> list[Outcome]:
    """Record answers to one task that came after its lease had run out; what became of each, in their order.

    The lease is renewed, unless somebody has the task or the rater has another one. Where the rater's person was given
    another rating of something in it meanwhile, it goes on without them, as an empty copy, and the answers are surplus.
    Nobody leases until all of it is committed, so that of two ratings of one person only one counts.
    """
    task_id = answers[0].task_id
    keys: dict[str, Any] = {**asking.keys, "task": task_id}
    await connection.execute(leases.LOCK, keys)
    await connection.execute(LOCK, keys)
    if (await (await connection.execute(GIVEN_UP, keys)).fetchone()) is not None:
        copy = await copy_task(connection, asking.campaign_id, task_id, actor=asking.actor)
        await connection.execute(DEALT, {**keys, "copy": copy})
    else:
        await leases.renew_lapsed(connection, asking, task_id)
    return await record(connection, ledger, answers, asking.actor)


def give_up(session: Session, campaign_id: int, task_id: int, *, rater_id: int, actor: str) -> None:
    """Let a task that was lost go on without a rater whose person has another rating of something in it.

    The transaction holds what whoever leases holds (`replans.hold`) and then the campaign's row.
    """
    keys: dict[str, Any] = {"campaign": campaign_id, "task": task_id, "rater": rater_id}
    if driver(session).execute(GIVEN_UP, keys).fetchone() is not None:
        copy = copy_now(session, campaign_id, task_id, actor=actor)
        driver(session).execute(DEALT, {**keys, "copy": copy})
