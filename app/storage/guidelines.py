"""Queries about guidelines and texts of consent, by version, and about who agreed to which."""

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
    """A version of the texts, the latest where none is named."""
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
    """Keep that a rater agreed; False where they had already, which stands as it was."""
    values = {"campaign_id": campaign_id, "rater_id": rater_id, "version": version, "language": language}
    made = insert(consents).values(**values).on_conflict_do_nothing().returning(consents.c.version)
    return session.execute(made).one_or_none() is not None


def load_latest_consent(session: Session, rater_id: int) -> TextsRecord | None:
    """The latest version that a rater agreed to, in which language and when."""
    c = consents.c
    query: sa.Select[Any] = sa.select(c.version, c.language, c.at).where(c.rater_id == rater_id)
    return session.execute(query.order_by(c.version.desc()).limit(1)).one_or_none()
