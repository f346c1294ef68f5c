"""Housekeeping: let go of what has outlived its use."""

from __future__ import annotations

from datetime import timedelta

from app.storage import housekeeping
from app.storage.db import Database

KEPT = timedelta(days=7)


def sweep(database: Database) -> dict[str, int] | None:
    """Delete expired answers, sessions and abandoned imports; how many of each, None where another worker is at it.

    Nothing that a rater or a report can see is ever deleted.
    """
    with database.transaction() as session:
        return housekeeping.sweep(session, kept=KEPT)
