"""Housekeeping: let go of what has outlived its use."""

from __future__ import annotations

from datetime import timedelta

from app.reports.gate import earlier_looks
from app.storage import housekeeping
from app.storage.db import Database
from app.storage.housekeeping import ReportRetention
from app.storage.leases import leases

KEPT = timedelta(days=7)
# A campaign that is watched has another ranking with each change. A gate counts the looks before it, so all gates stay.
REPORTS = ReportRetention(newest=50, age=timedelta(days=30), always=(earlier_looks.KIND,))


def clean_up_expired_data(database: Database) -> dict[str, int] | None:
    """Delete expired answers, sessions, abandoned imports and old reports, and free tasks whose lease expired.

    How many of each; None where another worker is at it. Nothing that a rater or a report can see is ever deleted.
    """
    with database.transaction() as session:
        counts = housekeeping.delete_expired_rows(session, kept=KEPT, reports=REPORTS)
        due = leases.find_campaigns_with_expired_leases(session) if counts is not None else []
    freed = 0
    for campaign_id in due:
        with database.transaction() as session:
            freed += leases.expire_leases(session, campaign_id)
    if counts is None:
        return None
    return {**counts, "leases": freed}
