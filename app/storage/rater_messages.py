"""Queries about messages to raters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import rater_messages

MessageRecord = sa.Row[Any]


def insert_message_for_raters(
    session: Session, campaign_id: int, rater_ids: Sequence[int], *, text: str, actor: str
) -> None:
    """Store the same message for several raters."""
    values = [{"campaign_id": campaign_id, "rater_id": one, "text": text, "actor": actor} for one in rater_ids]
    session.execute(sa.insert(rater_messages), values)


def load_messages(
    session: Session,
    campaign_id: int,
    rater_id: int,
    *,
    limit: int,
    before: int | None = None,
    read: bool | None = None,
) -> list[MessageRecord]:
    """Return the newest messages to a rater, newest first, below an id. read: only read ones, or only the others."""
    c = rater_messages.c
    query = sa.select(rater_messages).where(c.campaign_id == campaign_id, c.rater_id == rater_id)
    if before is not None:
        query = query.where(c.id < before)
    if read is not None:
        query = query.where(c.read_at.is_not(None) if read else c.read_at.is_(None))
    return list(session.execute(query.order_by(c.id.desc()).limit(limit)))


def mark_message_read(session: Session, campaign_id: int, rater_id: int, message: int) -> bool:
    """Note when a rater first read a message; return whether the message exists."""
    c = rater_messages.c
    here = (c.campaign_id == campaign_id) & (c.rater_id == rater_id) & (c.id == message)
    values = {"read_at": sa.func.coalesce(c.read_at, sa.func.now())}
    changed = session.execute(sa.update(rater_messages).where(here).values(values).returning(c.id))
    return changed.one_or_none() is not None
