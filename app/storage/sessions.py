"""Queries about browser sessions, each the shadow of a token. The database clock decides what has expired."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage import tokens as token_queries
from app.storage.tables import account_sessions, sessions, tokens

SessionRecord = sa.Row[Any]


def insert_session(session: Session, *, digest: bytes, token_id: int, lifetime: timedelta) -> datetime:
    """Store a session by its hash and let the expired ones of its token go; the time when it expires."""
    now = sa.func.statement_timestamp()
    session.execute(sa.delete(sessions).where(sessions.c.token_id == token_id, sessions.c.expires_at <= now))
    values = {"hash": digest, "token_id": token_id, "expires_at": now + lifetime}
    expires: datetime = session.execute(
        sa.insert(sessions).values(**values).returning(sessions.c.expires_at)
    ).scalar_one()
    return expires


def find_token_of_session(session: Session, digest: bytes, *, older: timedelta) -> token_queries.TokenRecord | None:
    """The token behind a session that has not expired.

    check_due: whether the identity provider was asked about this person longer ago than `older`; null for a session
    that a token opened. session_id: of the session.
    """
    due = account_sessions.c.checked_at <= sa.func.statement_timestamp() - sa.cast(older, sa.Interval)
    query = token_queries.make_base_token_query().add_columns(due.label("check_due"), sessions.c.id.label("session_id"))
    query = query.join(sessions, sessions.c.token_id == tokens.c.id)
    query = query.outerjoin(account_sessions, account_sessions.c.session_id == sessions.c.id)
    here = (sessions.c.hash == digest) & (sessions.c.expires_at > sa.func.statement_timestamp())
    return session.execute(query.where(here)).one_or_none()


def find_session_expiry(session: Session, digest: bytes) -> datetime | None:
    """When a session ends; None where there is none."""
    here = sessions.c.hash == digest
    expires_at: datetime | None = session.execute(sa.select(sessions.c.expires_at).where(here)).scalar()
    return expires_at


def is_session_live(session: Session, session_id: int) -> bool:
    """Whether a session is there and has not expired."""
    here = (sessions.c.id == session_id) & (sessions.c.expires_at > sa.func.statement_timestamp())
    return session.execute(sa.select(sessions.c.id).where(here)).scalar() is not None


def delete_session(session: Session, digest: bytes) -> None:
    """End a session, if there is one."""
    session.execute(sa.delete(sessions).where(sessions.c.hash == digest))
