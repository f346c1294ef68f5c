"""Answers to a task that was lost: they renew its lease, or are kept. Nobody judges a stretch twice, by any account."""

from __future__ import annotations

from typing import Any

from app.storage.leases import leases
from app.storage.leases.handover import withdraw_and_copy_begun_task
from app.storage.leases.one_person import HAS_ANOTHER
from app.storage.recorder.judgments import LOCK, Connection

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


async def renew_or_hand_over_expired_task(connection: Connection, task_id: int, asking: leases.LeaseRequest) -> None:
    """Take a task up again for answers that came after its lease had expired, and are recorded after this.

    The lease is renewed, unless somebody has the task or the rater has another one. Where the rater's person was given
    another rating of something in it meanwhile, it goes on without them, as an empty copy, and the answers are surplus.
    Nobody leases until all of it is committed, so that of two ratings of one person only one counts.
    """
    keys: dict[str, Any] = {**asking.query_parameters, "task": task_id}
    await connection.execute(leases.LOCK, keys)
    await connection.execute(LOCK, keys)
    if (await (await connection.execute(GIVEN_UP, keys)).fetchone()) is not None:
        copy = await withdraw_and_copy_begun_task(connection, asking.campaign_id, task_id, actor=asking.actor)
        await connection.execute(DEALT, {**keys, "copy": copy})
    else:
        await leases.renew_lapsed_lease(connection, asking, task_id)
