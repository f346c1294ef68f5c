"""Queries about the service as a whole: leases, queues, workers, webhooks and standby servers."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from app.storage.attention_checks import IS_CHECK
from app.storage.db import Session
from app.storage.optional_filters import join_optional_conditions
from app.storage.queue_schema import SCHEMA

StateRecord = sa.Row[Any]

# Each part uses an index or a table with few rows. Only roles with the right to see it learn the lag of standby
# servers.
_STATE = f"""
SELECT 'open_leases' AS what, NULL AS label, count(*)::float8 AS value FROM tasks WHERE state = 'leased'
UNION ALL
SELECT 'expired_leases', NULL, count(*) FROM tasks WHERE state = 'leased' AND leased_until < now()
UNION ALL
SELECT 'campaigns', state, count(*) FROM campaigns GROUP BY state
UNION ALL
SELECT 'jobs', state, count(*) FROM jobs WHERE state IN ('queued', 'running', 'finishing') GROUP BY state
UNION ALL
SELECT 'oldest_job_seconds', NULL, coalesce(extract(epoch FROM now() - min(created_at)), 0)
FROM jobs WHERE state IN ('queued', 'running', 'finishing')
UNION ALL
SELECT 'queue_depth', queue_name, count(*) FROM {SCHEMA}.procrastinate_jobs WHERE status = 'todo' GROUP BY queue_name
UNION ALL
SELECT 'workers', NULL, count(*) FROM {SCHEMA}.procrastinate_workers
WHERE last_heartbeat > now() - make_interval(secs => :heard)
UNION ALL
SELECT 'webhooks', CASE WHEN stopped_at IS NOT NULL THEN 'stopped' WHEN failing_since IS NOT NULL THEN 'failing'
                        ELSE 'working' END, count(*) FROM webhooks GROUP BY 2
UNION ALL
SELECT 'replication_lag_seconds', application_name, extract(epoch FROM replay_lag)
FROM pg_stat_replication WHERE replay_lag IS NOT NULL"""

# Attention checks are not part of a campaign's work.
_TASKS = f"""
SELECT c.key AS campaign, t.state, count(*) AS n FROM campaigns c JOIN tasks t ON t.campaign_id = c.id
WHERE c.state IN ('open', 'paused') AND t.state IN ('free', 'leased', 'handed_in')
  AND NOT {IS_CHECK.format(task="t")} {{condition}}
GROUP BY 1, 2 ORDER BY 1, 2"""


def load_service_gauges(session: Session, *, heartbeat_within: float) -> list[StateRecord]:
    """Return counts, ages and lags of the service, by name and label.

    heartbeat_within: most seconds since a live worker's heartbeat.
    """
    return list(session.execute(sa.text(_STATE), {"heard": heartbeat_within}))


def count_tasks_by_campaign_and_state(session: Session, *, only_campaign: str | None) -> list[StateRecord]:
    """Return the numbers of tasks of campaigns under way, by state; `only_campaign` keeps one campaign."""
    condition = join_optional_conditions({"only": "c.key = :only"}, {"only": only_campaign})
    return list(
        session.execute(sa.text(_TASKS.format(condition=condition)), {"only": only_campaign} if condition else {})
    )
