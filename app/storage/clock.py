"""What time it is. The database's clock decides, so that a wrong one on a host of the application changes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session


def database_now(session: Session) -> datetime:
    """The time now, by the clock of the database; not that at which the transaction began."""
    moment: datetime = session.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return moment


def database_time_after(session: Session, days: float) -> datetime:
    """So many days from now."""
    return database_now(session) + timedelta(days=days)
