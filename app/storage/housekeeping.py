"""Delete data that are no longer needed.

These are stored responses, ended sessions and jobs, uncommitted imports, and reports of former data versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import text

from app.storage.db import Session

LOCK = 7_215_340_913  # any constant: one sweep at a time, however many workers there are


@dataclass(frozen=True, slots=True)
class ReportRetention:
    """Which reports of former data versions to keep. newest: how many of each kind in a campaign, until `age`.

    always: kinds that later reports refer to. If a deleted report is requested again, it comes out the same, byte by
    byte.
    """

    newest: int
    age: timedelta
    always: Sequence[str]


# Keep reports of the current data, of a version that a lock names, and reports that a user may be waiting for. Delete a
# thousand at a time: the first sweep after an upgrade may find a year's worth.
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

# The chunks and files of an import are deleted with it (ON DELETE CASCADE). Times are by the database clock.
EXPIRED = {
    "answers": "DELETE FROM idempotency WHERE created_at < now() - :kept",
    "sessions": "DELETE FROM sessions WHERE expires_at < now()",
    "jobs": "DELETE FROM jobs WHERE finished_at < now() - :kept",
    "webhook events": "DELETE FROM webhook_events WHERE at < now() - :kept",
    "webhook deliveries": "DELETE FROM webhook_deliveries WHERE at < now() - :kept",
    "imports": "DELETE FROM imports WHERE state = 'receiving' AND created_at < now() - :kept",
}


def delete_expired_rows(session: Session, *, kept: timedelta, reports: ReportRetention) -> dict[str, int] | None:
    """Delete what has expired; return the numbers by kind, or None if another worker is doing it."""
    if not session.execute(text("SELECT pg_try_advisory_xact_lock(:n)"), {"n": LOCK}).scalar():
        return None
    counts = {}
    for what, statement in EXPIRED.items():
        result = session.execute(text(statement), {"kept": kept} if ":kept" in statement else {})
        counts[what] = int(getattr(result, "rowcount", 0))
    old = {"always": list(reports.always), "newest": reports.newest, "age": reports.age}
    counts["reports"] = int(getattr(session.execute(text(OLD_REPORTS), old), "rowcount", 0))
    return counts
