"""Browser sessions: a token is exchanged for a cookie with its own secret. The session ends with the token."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from app.domain.errors import NotFound
from app.services.access.organization_prefixes import prefix_with_organization_mark
from app.services.access.tokens import BadCredential, Caller, authenticate_secret_at_sign_in, hash_secret, make_caller
from app.services.campaigns import audit
from app.storage import campaigns, clock, sessions, tokens
from app.storage.db import Session

CHECK_AFTER = timedelta(seconds=40)
"""Age from which the identity provider is asked again.

Nobody gets in whom it has not confirmed within the last minute.
"""


class SessionNotFound(NotFound):
    """There is no browser session here."""

    published = "NoSession"


@dataclass(frozen=True, slots=True)
class StartedSession:
    """A new session. secret: for the cookie only. csrf: for pages, which send it with every change."""

    caller: Caller
    secret: str
    csrf: str
    expires_at: datetime
    lifetime: timedelta

    def __repr__(self) -> str:
        """Return a text without the secrets, so that no log or trace can contain them."""
        return f"StartedSession({self.caller!r})"


def exchange_token_for_session(session: Session, token: str, *, lifetime: timedelta) -> StartedSession:
    """Exchange a token for a session. Raises BadCredential, LinkAlreadyOpened.

    If the token can open only one session, the session lasts as long as the token.
    """
    caller = authenticate_secret_at_sign_in(session, token)
    if caller.answers_since is not None and caller.expires_at is not None:
        lifetime = max(lifetime, caller.expires_at - clock.get_database_time(session))
    return start_session_for_caller(session, caller, lifetime=lifetime)


def start_session_for_caller(session: Session, caller: Caller, *, lifetime: timedelta) -> StartedSession:
    """Start a session for a caller who has been authenticated."""
    secret = prefix_with_organization_mark(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("="))
    expires_at = sessions.insert_session(
        session, digest=hash_secret(secret), token_id=caller.token_id, lifetime=lifetime
    )
    _record(session, caller, "session opened")
    return StartedSession(caller, secret, derive_csrf_token(secret), expires_at, lifetime)


def authenticate_session(session: Session, secret: str) -> Caller:
    """Return who holds this session. Raises BadCredential if the session or its token has ended.

    If `check_due` is true, the identity provider must confirm the person first (`app.web.single_sign_on`).
    """
    row = sessions.find_token_of_session(session, hash_secret(secret), check_after=CHECK_AFTER)
    if row is None or not row.live:
        raise BadCredential
    tokens.note_token_use(session, row)
    session_id = row.session_id if row.check_due is None else None
    return replace(make_caller(row), check_due=bool(row.check_due), session_id=session_id)


def get_session_expiry(session: Session, secret: str) -> datetime:
    """Return when a session ends. Raises SessionNotFound."""
    expires_at = sessions.find_session_expiry(session, hash_secret(secret))
    if expires_at is None:
        raise SessionNotFound
    return expires_at


def close_session(session: Session, secret: str) -> None:
    """End a session if it exists."""
    row = sessions.find_token_of_session(session, hash_secret(secret), check_after=CHECK_AFTER)
    sessions.delete_session(session, hash_secret(secret))
    if row is not None:
        _record(session, make_caller(row), "session closed")


def _record(session: Session, caller: Caller, action: str) -> None:
    """Write to the audit log of the token's campaign, or else of the installation."""
    campaign_id = campaigns.load_campaign(session, caller.campaign).id if caller.campaign is not None else None
    audit.record_action(session, campaign_id, actor=caller.actor, action=action, what={"role": caller.role})


def derive_csrf_token(secret: str) -> str:
    """Derive the CSRF token from the session's secret, so that nothing more is stored."""
    return hmac.new(secret.encode("utf-8", "replace"), b"csrf", hashlib.sha256).hexdigest()


def matches_csrf_token(secret: str, given: str) -> bool:
    """Return whether this is the session's CSRF token."""
    return hmac.compare_digest(derive_csrf_token(secret).encode(), given.encode("utf-8", "replace"))
