"""Queries about series: campaigns that are run together."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import campaigns


def load_series_campaign_keys(session: Session, series: str, *, only_campaign: str | None, limit: int) -> list[str]:
    """Return the keys of the campaigns of a series, by key; `only_campaign` keeps the one with that key."""
    key = campaigns.c.key.collate("C")
    query = sa.select(campaigns.c.key).where(campaigns.c.series == series).order_by(key).limit(limit)
    if only_campaign is not None:
        query = query.where(campaigns.c.key == only_campaign)
    return list(session.execute(query).scalars())
