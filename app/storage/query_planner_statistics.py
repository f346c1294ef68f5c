"""ANALYZE after bulk writes: the query planner's statistics are refreshed, so that nobody waits for autovacuum.

Until then, the planner expects about one row of a campaign that the statistics do not know, and may look for each row
of it by the campaign alone.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from app.storage.db import Session

MANY: Final = 5_000
"""The number of new rows in a table that may make the planner choose bad plans."""

_REFRESH = "SELECT {0}() WHERE NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"


def refresh_query_planner_statistics(session: Session) -> None:
    """Refresh the statistics of the large tables, including the rows of this transaction.

    Tables whose statistics another transaction refreshes are skipped, because it locks them until it ends. With Citus,
    nothing is refreshed, because there only the owner may do it.
    """
    session.execute(text(_REFRESH.format("refresh_statistics")))


def refresh_query_planner_task_statistics(session: Session) -> None:
    """Refresh only the statistics of tasks and of what plans store with them, in the same way."""
    session.execute(text(_REFRESH.format("refresh_task_statistics")))
