"""Queries about people who sign in at an identity provider, and their sessions. The database clock decides."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.tables import account_sessions, accounts, logout_tokens, sessions, tokens

AccountRecord = sa.Row[Any]
_NOW = sa.func.statement_timestamp()


def load_login_account_for_update(session: Session, *, issuer: str, subject: str) -> AccountRecord | None:
    """The account of a person, locked until the transaction ends; None for who signs in for the first time.

    Two first sign-ins of one person take turns.
    """
    lock = sa.func.hashtextextended(f"{issuer}\n{subject}", 0)
    session.execute(sa.select(sa.func.pg_advisory_xact_lock(lock)))
    here = (accounts.c.issuer == issuer) & (accounts.c.subject == subject)
    return session.execute(sa.select(accounts).where(here).with_for_update()).one_or_none()


def upsert_login_account(session: Session, *, issuer: str, subject: str, name: str, token_id: int) -> int:
    """Make an account, or renew the name and the credential of one; its id."""
    values = {"issuer": issuer, "subject": subject, "name": name, "token_id": token_id}
    renewed = {"name": name, "token_id": token_id}
    made = insert(accounts).values(**values).on_conflict_do_update(index_elements=["issuer", "subject"], set_=renewed)
    account_id: int = session.execute(made.returning(accounts.c.id)).scalar_one()
    return account_id


def insert_login_session(session: Session, *, digest: bytes, account_id: int, sid: str | None, sealed: bytes) -> None:
    """Note what belongs to the browser session of this hash."""
    of = sa.select(sessions.c.id).where(sessions.c.hash == digest).scalar_subquery()
    values = {"session_id": of, "account_id": account_id, "sid": sid, "sealed": sealed, "checked_at": _NOW}
    session.execute(sa.insert(account_sessions).values(**values))


def find_login_session(session: Session, digest: bytes) -> AccountRecord | None:
    """The provider's side of a browser session, with who it is; None where a token opened it."""
    columns = (account_sessions, accounts.c.issuer, accounts.c.subject, accounts.c.token_id)
    of = sa.select(*columns).join(sessions, sessions.c.id == account_sessions.c.session_id)
    of = of.join(accounts, accounts.c.id == account_sessions.c.account_id)
    return session.execute(of.where(sessions.c.hash == digest)).one_or_none()


def was_session_rechecked_within(session: Session, digest: bytes, age: timedelta) -> bool:
    """Whether the provider was asked about a browser session so lately."""
    of = sa.select(account_sessions.c.checked_at > _NOW - age)
    of = of.join(sessions, sessions.c.id == account_sessions.c.session_id).where(sessions.c.hash == digest)
    return bool(session.execute(of).scalar())


def claim_session_recheck(session: Session, digest: bytes, *, older: timedelta, lasts: timedelta) -> datetime | None:
    """Claim to ask the provider about this session; since when the claim holds.

    None where it was asked lately, or where somebody else asks now. older: age from which it is to be asked again.
    """
    of = sa.select(sessions.c.id).where(sessions.c.hash == digest).scalar_subquery()
    free = account_sessions.c.claimed_until.is_(None) | (account_sessions.c.claimed_until < _NOW)
    due = (account_sessions.c.session_id == of) & (account_sessions.c.checked_at <= _NOW - older) & free
    # The time is that of the claim, before the provider is asked: what it says holds from then on at the latest.
    claim = sa.update(account_sessions).where(due).values(claimed_until=_NOW + lasts).returning(_NOW)
    return session.execute(claim).scalar_one_or_none()


def store_session_recheck(session: Session, session_id: int, *, at: datetime, sealed: bytes | None) -> None:
    """Note that the provider was asked, and what it gave; None: its tokens are as they were."""
    values: dict[str, Any] = {"checked_at": at, "claimed_until": None}
    if sealed is not None:
        values["sealed"] = sealed
    session.execute(sa.update(account_sessions).where(account_sessions.c.session_id == session_id).values(**values))


def replace_provider_tokens(session: Session, session_id: int, *, sealed: bytes) -> None:
    """Replace the provider's tokens of a session, about which it is still being asked."""
    here = account_sessions.c.session_id == session_id
    session.execute(sa.update(account_sessions).where(here).values(sealed=sealed))


def release_session_recheck(session: Session, session_id: int) -> None:
    """Let the next request ask the provider: this one got no answer."""
    here = account_sessions.c.session_id == session_id
    session.execute(sa.update(account_sessions).where(here).values(claimed_until=None))


def change_token_role(
    session: Session, token_id: int, *, role: str, name: str, campaign_id: int | None, team_id: int | None
) -> None:
    """Let a person's credential have another role."""
    values = {"role": role, "name": name, "campaign_id": campaign_id, "team_id": team_id}
    session.execute(sa.update(tokens).where(tokens.c.id == token_id).values(**values))


def delete_sessions_ended_by_provider(session: Session, *, issuer: str, subject: str | None, sid: str | None) -> int:
    """End the sessions that the provider ended: of one of its sessions, of a person, or both; how many there were."""
    of = sa.select(account_sessions.c.session_id).join(accounts, accounts.c.id == account_sessions.c.account_id)
    of = of.where(accounts.c.issuer == issuer)
    if subject is not None:
        of = of.where(accounts.c.subject == subject)
    if sid is not None:
        of = of.where(account_sessions.c.sid == sid)
    ended = sa.delete(sessions).where(sessions.c.id.in_(of)).returning(sessions.c.id)
    return len(session.execute(ended).all())


def mark_logout_token_used(session: Session, digest: bytes, *, lasts: timedelta) -> bool:
    """Note that a logout token was carried out; False where it was before. Those that ended are forgotten."""
    session.execute(sa.delete(logout_tokens).where(logout_tokens.c.expires_at < _NOW))
    noted = insert(logout_tokens).values(hash=digest, expires_at=_NOW + lasts).on_conflict_do_nothing()
    return session.execute(noted.returning(logout_tokens.c.hash)).one_or_none() is not None
