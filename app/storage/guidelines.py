"""Queries about guidelines and consent texts, in versions, and about which version each rater agreed to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.errors import NotFound
from app.storage.tables import consents, guidelines

TextsRecord = sa.Row[Any]
Kind = Literal["guidelines", "consent"]


class GuidelinesNotFound(NotFound):
    """There is no such text."""

    published = "NoTexts"


def find_guidelines(session: Session, campaign_id: int, kind: Kind, version: int | None = None) -> TextsRecord | None:
    """Return a version of the texts, by default the latest."""
    g = guidelines.c
    query = sa.select(guidelines).where(g.campaign_id == campaign_id, g.kind == kind)
    if version is not None:
        query = query.where(g.version == version)
    return session.execute(query.order_by(g.version.desc()).limit(1)).one_or_none()


def insert_guidelines(
    session: Session, campaign_id: int, kind: Kind, *, version: int, texts: Mapping[str, str], actor: str
) -> None:
    """Store a version, which never changes."""
    values = {"campaign_id": campaign_id, "kind": kind, "version": version, "texts": dict(texts), "actor": actor}
    session.execute(sa.insert(guidelines).values(**values))


def insert_rater_consent(session: Session, campaign_id: int, rater_id: int, *, version: int, language: str) -> bool:
    """Store a rater's consent; return False, and change nothing, if they had already agreed."""
    values = {"campaign_id": campaign_id, "rater_id": rater_id, "version": version, "language": language}
    made = insert(consents).values(**values).on_conflict_do_nothing().returning(consents.c.version)
    return session.execute(made).one_or_none() is not None


def load_latest_rater_consent(session: Session, rater_id: int) -> TextsRecord | None:
    """Return the latest version that a rater agreed to, with the language and the time."""
    c = consents.c
    query: sa.Select[Any] = sa.select(c.version, c.language, c.at).where(c.rater_id == rater_id)
    return session.execute(query.order_by(c.version.desc()).limit(1)).one_or_none()
