"""Queries about people who sign in at an identity provider, and their sessions; times are by the database clock."""

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
    """Return a person's account, locked until the transaction ends; None at their first sign-in.

    Two simultaneous first sign-ins of the same person run one after the other.
    """
    lock = sa.func.hashtextextended(f"{issuer}\n{subject}", 0)
    session.execute(sa.select(sa.func.pg_advisory_xact_lock(lock)))
    here = (accounts.c.issuer == issuer) & (accounts.c.subject == subject)
    return session.execute(sa.select(accounts).where(here).with_for_update()).one_or_none()


def upsert_login_account(session: Session, *, issuer: str, subject: str, name: str, token_id: int) -> int:
    """Create an account, or update the name and the credential of an existing one; return its id."""
    values = {"issuer": issuer, "subject": subject, "name": name, "token_id": token_id}
    renewed = {"name": name, "token_id": token_id}
    made = insert(accounts).values(**values).on_conflict_do_update(index_elements=["issuer", "subject"], set_=renewed)
    account_id: int = session.execute(made.returning(accounts.c.id)).scalar_one()
    return account_id


def insert_single_sign_on_session(
    session: Session, *, digest: bytes, account_id: int, sid: str | None, sealed: bytes
) -> None:
    """Store the identity provider's data for the browser session with this hash."""
    of = sa.select(sessions.c.id).where(sessions.c.hash == digest).scalar_subquery()
    values = {"session_id": of, "account_id": account_id, "sid": sid, "sealed": sealed, "checked_at": _NOW}
    session.execute(sa.insert(account_sessions).values(**values))


def find_single_sign_on_session(session: Session, digest: bytes) -> AccountRecord | None:
    """Return the provider's data of a browser session, and the person; None if a token opened the session."""
    columns = (account_sessions, accounts.c.issuer, accounts.c.subject, accounts.c.token_id)
    of = sa.select(*columns).join(sessions, sessions.c.id == account_sessions.c.session_id)
    of = of.join(accounts, accounts.c.id == account_sessions.c.account_id)
    return session.execute(of.where(sessions.c.hash == digest)).one_or_none()


def was_session_rechecked_within(session: Session, digest: bytes, age: timedelta) -> bool:
    """Tell whether the provider was asked about a browser session within this time."""
    of = sa.select(account_sessions.c.checked_at > _NOW - age)
    of = of.join(sessions, sessions.c.id == account_sessions.c.session_id).where(sessions.c.hash == digest)
    return bool(session.execute(of).scalar())


def claim_session_recheck(
    session: Session, digest: bytes, *, recheck_after: timedelta, claim_for: timedelta
) -> datetime | None:
    """Claim the right to ask the provider about this session; return the time of the claim.

    The result is None if the provider was asked lately, or if another request is asking now. recheck_after: age of the
    last check from which a new one is due. claim_for: how long the claim lasts.
    """
    of = sa.select(sessions.c.id).where(sessions.c.hash == digest).scalar_subquery()
    free = account_sessions.c.claimed_until.is_(None) | (account_sessions.c.claimed_until < _NOW)
    due = (account_sessions.c.session_id == of) & (account_sessions.c.checked_at <= _NOW - recheck_after) & free
    # Return the time of the claim, before the provider is asked: its answer is valid from then on at the latest.
    claim = sa.update(account_sessions).where(due).values(claimed_until=_NOW + claim_for).returning(_NOW)
    return session.execute(claim).scalar_one_or_none()


def store_session_recheck(session: Session, session_id: int, *, at: datetime, sealed: bytes | None) -> None:
    """Note that the provider was asked, and store the tokens it returned; None: they have not changed."""
    values: dict[str, Any] = {"checked_at": at, "claimed_until": None}
    if sealed is not None:
        values["sealed"] = sealed
    session.execute(sa.update(account_sessions).where(account_sessions.c.session_id == session_id).values(**values))


def replace_provider_tokens(session: Session, session_id: int, *, sealed: bytes) -> None:
    """Replace the provider's tokens of a session while its recheck is still going on."""
    here = account_sessions.c.session_id == session_id
    session.execute(sa.update(account_sessions).where(here).values(sealed=sealed))


def release_session_recheck(session: Session, session_id: int) -> None:
    """Let the next request ask the provider, because this one got no answer."""
    here = account_sessions.c.session_id == session_id
    session.execute(sa.update(account_sessions).where(here).values(claimed_until=None))


def change_token_role(
    session: Session, token_id: int, *, role: str, name: str, campaign_id: int | None, team_id: int | None
) -> None:
    """Change the role of a person's credential."""
    values = {"role": role, "name": name, "campaign_id": campaign_id, "team_id": team_id}
    session.execute(sa.update(tokens).where(tokens.c.id == token_id).values(**values))


def delete_sessions_ended_by_provider(session: Session, *, issuer: str, subject: str | None, sid: str | None) -> int:
    """End the sessions that the provider ended, by provider session, person or both; return their number."""
    of = sa.select(account_sessions.c.session_id).join(accounts, accounts.c.id == account_sessions.c.account_id)
    of = of.where(accounts.c.issuer == issuer)
    if subject is not None:
        of = of.where(accounts.c.subject == subject)
    if sid is not None:
        of = of.where(account_sessions.c.sid == sid)
    ended = sa.delete(sessions).where(sessions.c.id.in_(of)).returning(sessions.c.id)
    return len(session.execute(ended).all())


def mark_logout_token_used(session: Session, digest: bytes, *, remember_for: timedelta) -> bool:
    """Note that a logout token was used; return False if it was used before. Expired tokens are deleted."""
    session.execute(sa.delete(logout_tokens).where(logout_tokens.c.expires_at < _NOW))
    noted = insert(logout_tokens).values(hash=digest, expires_at=_NOW + remember_for).on_conflict_do_nothing()
    return session.execute(noted.returning(logout_tokens.c.hash)).one_or_none() is not None
