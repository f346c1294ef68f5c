"""Queries about the analysis lock of a campaign: what was registered, and all later amendments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import locks

LockRecord = sa.Row[Any]


def insert_analysis_lock_entry(session: Session, campaign_id: int, values: Mapping[str, object]) -> None:
    """Store the next entry; the caller must have locked the campaign's row, so that entries are numbered in order."""
    session.execute(sa.insert(locks).values(campaign_id=campaign_id, **values))


def load_analysis_lock_chain(session: Session, campaign_id: int, version: int) -> list[LockRecord]:
    """Return the entries that existed at a data version, in order."""
    query = sa.select(locks).where(locks.c.campaign_id == campaign_id, locks.c.version <= version)
    return list(session.execute(query.order_by(locks.c.n)))
