"""The stored items of the plan in force, with everything that the plan says about each."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import text

from app.storage.db import Session

Row = sa.Row[Any]

# Select tasks first, each with at least one item, so that a page costs the same however long the plan is.
PAGE = """
WITH nearest AS MATERIALIZED (
    SELECT * FROM tasks WHERE campaign_id = :campaign AND plan = :plan AND state <> 'withdrawn' AND id >= :task
    ORDER BY id LIMIT :most),
picked AS MATERIALIZED (
    SELECT i.*, t.public_id, t.meta AS told, t.rater_id, t.state, t.queue, t.bucket, t.arm, t.chain, t.presentation,
           t.plan
    FROM nearest t CROSS JOIN LATERAL (
        SELECT * FROM items WHERE campaign_id = :campaign AND task_id = t.id
          AND (t.id > :task OR position > :position) ORDER BY position LIMIT :most) i
    ORDER BY t.id, i.position LIMIT :most)
SELECT p.task_id, p.public_id AS task, (p.told ->> 'number')::int AS number, r.key AS rater, p.state, p.queue,
       nullif(p.bucket, 0) AS bucket, a.name AS arm, p.chain, p.presentation, p.plan,
       p.position AS item, p.screen, p.column_, d.key AS document, p.first_segment AS first, p.last_segment AS last,
       p.role, p.group_id AS "group", g.unit, g.nth, p.variant, p.reference, p.prefill, p.side_order, p.propensity,
       p.surplus_from IS NOT NULL AS surplus, x.public_id AS of_task,
       (x.meta ->> 'number')::int AS of_number, o.position AS of_item,
       ARRAY(SELECT s.key FROM credits c JOIN systems s ON s.campaign_id = :campaign AND s.id = c.system_id
             WHERE c.campaign_id = :campaign AND c.item_id = p.id ORDER BY s.key COLLATE "C") AS systems
FROM picked p JOIN documents d ON d.campaign_id = :campaign AND d.id = p.document_id
LEFT JOIN raters r ON r.campaign_id = :campaign AND r.id = p.rater_id
LEFT JOIN arms a ON a.campaign_id = :campaign AND a.plan = p.plan AND a.n = p.arm
LEFT JOIN groups g ON g.campaign_id = :campaign AND g.id = p.group_id
LEFT JOIN items o ON o.campaign_id = :campaign AND o.id = p.of_item_id
LEFT JOIN tasks x ON x.campaign_id = :campaign AND x.id = o.task_id
ORDER BY p.task_id, p.position"""


def load_plan_items_page(
    session: Session, campaign_id: int, plan: int, *, after: tuple[int, int], limit: int
) -> list[Row]:
    """Return items by task and position after `after` (task_id, position)."""
    task, position = after
    keys = {"campaign": campaign_id, "plan": plan, "task": task, "position": position, "most": limit}
    return list(session.execute(text(PAGE), keys))
