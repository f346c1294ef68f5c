"""Queries about what is judged: systems, documents, segments and outputs."""

from __future__ import annotations

import sqlalchemy as sa

from app.storage.db import Session
from app.storage.tables import systems


def system_kinds(session: Session, campaign_id: int) -> dict[str, str]:
    """Kind (mt or human) of each system by key."""
    query = sa.select(systems.c.key, systems.c.kind).where(systems.c.campaign_id == campaign_id)
    return {row.key: row.kind for row in session.execute(query)}
