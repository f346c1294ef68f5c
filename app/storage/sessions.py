"""Queries about browser sessions, each of which stands for a token. Expiry is by the database clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage import tokens as token_queries
from app.storage.tables import account_sessions, sessions, tokens

SessionRecord = sa.Row[Any]


def insert_session(session: Session, *, digest: bytes, token_id: int, lifetime: timedelta) -> datetime:
    """Store a session by its hash, delete its token's expired sessions, and return the time when it expires."""
    now = sa.func.statement_timestamp()
    session.execute(sa.delete(sessions).where(sessions.c.token_id == token_id, sessions.c.expires_at <= now))
    values = {"hash": digest, "token_id": token_id, "expires_at": now + lifetime}
    expires: datetime = session.execute(
        sa.insert(sessions).values(**values).returning(sessions.c.expires_at)
    ).scalar_one()
    return expires


def find_token_of_session(
    session: Session, digest: bytes, *, check_after: timedelta
) -> token_queries.TokenRecord | None:
    """Return the token behind a session that has not expired.

    check_due: whether the last check with the identity provider is older than `check_after`; null for a session that
    a token opened. session_id: of the session.
    """
    due = account_sessions.c.checked_at <= sa.func.statement_timestamp() - sa.cast(check_after, sa.Interval)
    query = token_queries.make_base_token_query().add_columns(due.label("check_due"), sessions.c.id.label("session_id"))
    query = query.join(sessions, sessions.c.token_id == tokens.c.id)
    query = query.outerjoin(account_sessions, account_sessions.c.session_id == sessions.c.id)
    here = (sessions.c.hash == digest) & (sessions.c.expires_at > sa.func.statement_timestamp())
    return session.execute(query.where(here)).one_or_none()


def find_session_expiry(session: Session, digest: bytes) -> datetime | None:
    """Return when a session ends; None if there is no such session."""
    here = sessions.c.hash == digest
    expires_at: datetime | None = session.execute(sa.select(sessions.c.expires_at).where(here)).scalar()
    return expires_at


def is_session_live(session: Session, session_id: int) -> bool:
    """Tell whether a session exists and has not expired."""
    here = (sessions.c.id == session_id) & (sessions.c.expires_at > sa.func.statement_timestamp())
    return session.execute(sa.select(sessions.c.id).where(here)).scalar() is not None


def delete_session(session: Session, digest: bytes) -> None:
    """End a session, if it exists."""
    session.execute(sa.delete(sessions).where(sessions.c.hash == digest))
