"""Queries about links to public archives."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import archive_links, campaigns, raters

ArchiveLinkRecord = sa.Row[Any]
_OPEN = archive_links.c.revoked_at.is_(None)


def find_archive_link_of_campaign(session: Session, campaign_id: int) -> ArchiveLinkRecord | None:
    """Return the campaign's archive link that is not revoked."""
    return session.execute(
        sa.select(archive_links).where(archive_links.c.campaign_id == campaign_id, _OPEN)
    ).one_or_none()


def insert_archive_link(session: Session, campaign_id: int, *, address: str, actor: str) -> None:
    """Store a new link; the campaign must have no other link that is not revoked."""
    session.execute(sa.insert(archive_links).values(campaign_id=campaign_id, address=address, actor=actor))


def revoke_archive_link(session: Session, campaign_id: int) -> bool:
    """Revoke the link; return False if there was none."""
    here = (archive_links.c.campaign_id == campaign_id) & _OPEN
    revoked = sa.update(archive_links).where(here).values(revoked_at=sa.func.now()).returning(archive_links.c.id)
    return session.execute(revoked).one_or_none() is not None


def find_campaign_key_of_archive_link(session: Session, address: str) -> str | None:
    """Return the key of the closed campaign of this address; None if it is unknown, revoked, or not closed."""
    query = (
        sa.select(campaigns.c.key)
        .join(archive_links, archive_links.c.campaign_id == campaigns.c.id)
        .where(archive_links.c.address == address, _OPEN, campaigns.c.state == "closed")
    )
    return session.execute(query).scalar()


def list_rater_keys_of_campaign(session: Session, campaign_id: int) -> list[str]:
    """Return the keys of all raters of a campaign."""
    return list(session.execute(sa.select(raters.c.key).where(raters.c.campaign_id == campaign_id)).scalars())
