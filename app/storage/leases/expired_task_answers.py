"""Late answers to a lost task: they renew its lease or are kept; no person rates the same stretch twice."""

from __future__ import annotations

from typing import Any

from app.storage.leases import leases
from app.storage.leases.handover import replace_begun_task_with_empty_copy
from app.storage.leases.person_clashes import HAS_ANOTHER
from app.storage.recorder.judgments import LOCK_CAMPAIGN_ROW, Connection

# The rater could still continue the task, but their person now has another rating of something in it.
GIVEN_UP = f"""
SELECT t.id FROM tasks t JOIN leases l ON l.campaign_id = %(campaign)s AND l.task_id = t.id AND l.n = t.lease
     AND l.rater_id = %(rater)s
WHERE t.campaign_id = %(campaign)s AND t.id = %(task)s AND t.state = 'free' AND coalesce(t.rater_id = %(rater)s, true)
  AND {HAS_ANOTHER.format(campaign="%(campaign)s", task="%(task)s", rater="%(rater)s")}"""
# The copy stays with the rater to whom the task was dealt.
DEALT = """
UPDATE tasks copy SET rater_id = was.rater_id, pooled = was.pooled FROM tasks was
WHERE was.campaign_id = %(campaign)s AND was.id = %(task)s AND copy.campaign_id = %(campaign)s AND copy.id = %(copy)s"""


async def renew_or_hand_over_expired_task(connection: Connection, task_id: int, request: leases.LeaseRequest) -> None:
    """Take up a task again for answers that came after its lease had expired; the caller then records them.

    The lease is renewed, unless another rater has the task or this rater holds another task. If the rater's person has
    meanwhile been given another rating of something in the task, the task goes on without them as an empty copy, and
    the answers are surplus. No other lease happens until all of this is committed, so only one of two ratings by the
    same person counts.
    """
    keys: dict[str, Any] = {**request.sql_parameters, "task": task_id}
    await connection.execute(leases.LOCK_LEASING, keys)
    await connection.execute(LOCK_CAMPAIGN_ROW, keys)
    if (await (await connection.execute(GIVEN_UP, keys)).fetchone()) is not None:
        copy = await replace_begun_task_with_empty_copy(connection, request.campaign_id, task_id, actor=request.actor)
        await connection.execute(DEALT, {**keys, "copy": copy})
    else:
        await leases.renew_lapsed_lease(connection, request, task_id)
