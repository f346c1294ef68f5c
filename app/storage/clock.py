"""The current time, by the database's clock, so that a wrong clock on an application host has no effect."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session


def get_database_time(session: Session) -> datetime:
    """Return the current time by the clock of the database, not the start of the transaction."""
    moment: datetime = session.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return moment


def get_database_time_after_days(session: Session, days: float) -> datetime:
    """Return the time this many days from now."""
    return get_database_time(session) + timedelta(days=days)
