"""Queries about the lock of a campaign: what was registered, and every amendment since."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import judgments, locks

LockRecord = sa.Row[Any]


def insert_analysis_lock_entry(session: Session, campaign_id: int, values: Mapping[str, object]) -> None:
    """Store the next entry; the campaign's row must be locked, so that entries count up."""
    session.execute(sa.insert(locks).values(campaign_id=campaign_id, **values))


def load_analysis_lock_chain(session: Session, campaign_id: int, version: int) -> list[LockRecord]:
    """The entries that there were at a data version, in their order."""
    query = sa.select(locks).where(locks.c.campaign_id == campaign_id, locks.c.version <= version)
    return list(session.execute(query.order_by(locks.c.n)))


def has_any_judgment(session: Session, campaign_id: int) -> bool:
    """Whether the campaign has a judgment, void ones included."""
    query = sa.select(sa.exists().where(judgments.c.campaign_id == campaign_id))
    return bool(session.execute(query).scalar())


def read_database_clock(session: Session) -> datetime:
    """The time by the database's clock."""
    now: datetime = session.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return now
