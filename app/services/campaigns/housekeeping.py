"""Housekeeping: delete what is no longer needed."""

from __future__ import annotations

from datetime import timedelta

from app.reports.gate import earlier_looks
from app.storage import housekeeping
from app.storage.db import Database
from app.storage.housekeeping import ReportRetention
from app.storage.leases import leases

KEPT = timedelta(days=7)
# A campaign that is watched has a new ranking after each change. A gate counts earlier looks, so all gates are kept.
REPORTS = ReportRetention(newest=50, age=timedelta(days=30), always=(earlier_looks.KIND,))


def clean_up_expired_data(database: Database) -> dict[str, int] | None:
    """Delete expired answers, sessions, abandoned imports and old reports, and free tasks with expired leases.

    Return the number of each; None if another worker is doing this. Nothing that a rater or a report can see is
    deleted.
    """
    with database.transaction() as session:
        counts = housekeeping.delete_expired_rows(session, kept=KEPT, reports=REPORTS)
        due = leases.find_campaign_ids_with_expired_leases(session) if counts is not None else []
    freed = 0
    for campaign_id in due:
        with database.transaction() as session:
            freed += leases.release_expired_leases(session, campaign_id)
    if counts is None:
        return None
    return {**counts, "leases": freed}
