"""What has outlived its use: answers kept for replays, ended sessions and jobs, imports that nobody committed, reports
of former data versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import text

from app.storage.db import Session

LOCK = 7_215_340_913  # any constant: one sweep at a time, however many workers there are


@dataclass(frozen=True, slots=True)
class ReportRetention:
    """Which reports of former data versions stay. newest: so many of each kind of a campaign, until they are too old.

    always: kinds that later reports look back at. What is gone comes out the same, byte by byte, for who asks again.
    """

    newest: int
    age: timedelta
    always: Sequence[str]


# Not those of the present data, nor those of a version that a lock names, nor what somebody may just be waiting for.
# A thousand at a time: the first sweep after an upgrade may find a year's worth.
OLD_REPORTS = """
DELETE FROM reports WHERE id IN (
    SELECT id FROM (
        SELECT r.id, r.created_at,
               row_number() OVER (PARTITION BY r.campaign_id, r.kind ORDER BY r.data_version DESC, r.id DESC) AS place
        FROM reports r JOIN campaigns c ON c.id = r.campaign_id
        WHERE r.data_version < c.data_version AND r.kind <> ALL(:always)
          AND NOT EXISTS (SELECT FROM locks l WHERE l.campaign_id = r.campaign_id AND l.version = r.data_version)) old
    WHERE (place > :newest AND created_at < now() - interval '1 hour') OR created_at < now() - :age
    LIMIT 1000)"""

# Chunks and files of an import go with it (ON DELETE CASCADE). The database clock decides.
EXPIRED = {
    "answers": "DELETE FROM idempotency WHERE created_at < now() - :kept",
    "sessions": "DELETE FROM sessions WHERE expires_at < now()",
    "jobs": "DELETE FROM jobs WHERE finished_at < now() - :kept",
    "webhook events": "DELETE FROM webhook_events WHERE at < now() - :kept",
    "webhook deliveries": "DELETE FROM webhook_deliveries WHERE at < now() - :kept",
    "imports": "DELETE FROM imports WHERE state = 'receiving' AND created_at < now() - :kept",
}


def delete_expired_rows(session: Session, *, kept: timedelta, reports: ReportRetention) -> dict[str, int] | None:
    """Delete what has expired; how many of each, or None where another worker is at it."""
    if not session.execute(text("SELECT pg_try_advisory_xact_lock(:n)"), {"n": LOCK}).scalar():
        return None
    counts = {}
    for what, statement in EXPIRED.items():
        result = session.execute(text(statement), {"kept": kept} if ":kept" in statement else {})
        counts[what] = int(getattr(result, "rowcount", 0))
    old = {"always": list(reports.always), "newest": reports.newest, "age": reports.age}
    counts["reports"] = int(getattr(session.execute(text(OLD_REPORTS), old), "rowcount", 0))
    return counts
