"""Raters without work in the plan in force: if they ask for a task, the reason is `nothing_planned`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from app.storage.db import Session

# Each part is read once, however many raters there are.
_IDLE = """
SELECT r.key FROM enrolments e JOIN raters r ON r.campaign_id = :campaign AND r.id = e.rater_id
WHERE e.campaign_id = :campaign AND e.state = 'active' AND (r.key = ANY(:keys) OR CAST(:keys AS text[]) IS NULL)
  AND EXISTS (SELECT FROM plans WHERE campaign_id = :campaign)
  AND e.rater_id NOT IN (SELECT rater_id FROM leases WHERE campaign_id = :campaign)
  AND e.rater_id NOT IN (
    SELECT rater_id FROM tasks WHERE campaign_id = :campaign AND rater_id IS NOT NULL AND state <> 'withdrawn')
  AND e.rater_id NOT IN (
    SELECT b.rater_id FROM bucket_raters b JOIN (
        SELECT DISTINCT plan, bucket FROM tasks WHERE campaign_id = :campaign AND (rater_id IS NULL OR pooled)
          AND state <> 'withdrawn') t ON t.plan = b.plan AND t.bucket = b.bucket
    WHERE b.campaign_id = :campaign)
ORDER BY r.key COLLATE "C" """
# The seats for which the plan has tasks.
_SEATS = """
SELECT count(*) FROM plans p CROSS JOIN LATERAL jsonb_array_elements(p.report -> 'raters') load
WHERE p.campaign_id = :campaign AND p.version = (SELECT max(version) FROM plans WHERE campaign_id = :campaign)
  AND (load ->> 'seat')::boolean AND (load ->> 'tasks')::int > 0"""


def load_unassigned_rater_keys(session: Session, campaign_id: int, among: Sequence[str] | None = None) -> list[str]:
    """Return active raters who never had a task and have none in the plan in force; empty if there is no plan.

    among: only these raters; None means all.
    """
    named = None if among is None else list(among)
    return list(session.execute(text(_IDLE), {"campaign": campaign_id, "keys": named}).scalars())


def count_invitation_seats_with_tasks(session: Session, campaign_id: int) -> int:
    """Count the invitation seats that have tasks in the plan in force."""
    return int(session.execute(text(_SEATS), {"campaign": campaign_id}).scalar_one())
