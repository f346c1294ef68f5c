"""Browser sessions: a token is exchanged for a cookie of its own; the token's end is the session's end."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from app.domain.errors import NotFound
from app.services.access.organization_marks import add_organization_mark
from app.services.access.tokens import BadCredential, Caller, authenticate_for_session, hash_secret, make_caller
from app.services.campaigns import audit
from app.storage import campaigns, clock, sessions, tokens
from app.storage.db import Session

CHECK_AFTER = timedelta(seconds=40)
"""Age from which the identity provider is asked again. Nobody gets in whom it confirmed more than a minute ago."""


class SessionNotFound(NotFound):
    """There is no browser session here."""

    published = "NoSession"


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session. secret: for the cookie only; csrf: for pages, which send it with every change."""

    caller: Caller
    secret: str
    csrf: str
    expires_at: datetime
    lifetime: timedelta

    def __repr__(self) -> str:
        """Without the secrets, so that no log or trace can hold them."""
        return f"NewSession({self.caller!r})"


def exchange_token_for_session(session: Session, token: str, *, lifetime: timedelta) -> NewSession:
    """Exchange a token for a session. Raises BadCredential, LinkAlreadyOpened.

    A session that no token can open again lasts as long as its token.
    """
    caller = authenticate_for_session(session, token)
    if caller.answers_since is not None and caller.expires_at is not None:
        lifetime = max(lifetime, caller.expires_at - clock.database_now(session))
    return start_session_for_caller(session, caller, lifetime=lifetime)


def start_session_for_caller(session: Session, caller: Caller, *, lifetime: timedelta) -> NewSession:
    """A session of a caller who has proved who they are."""
    secret = add_organization_mark(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("="))
    expires_at = sessions.insert_session(
        session, digest=hash_secret(secret), token_id=caller.token_id, lifetime=lifetime
    )
    _record(session, caller, "session opened")
    return NewSession(caller, secret, derive_csrf_token(secret), expires_at, lifetime)


def authenticate_session(session: Session, secret: str) -> Caller:
    """Who holds this session. Raises BadCredential once it, or its token, has ended.

    Where `check_due` is true the identity provider must be asked before this counts (`app.web.single_sign_on`).
    """
    row = sessions.find_token_of_session(session, hash_secret(secret), older=CHECK_AFTER)
    if row is None or not row.live:
        raise BadCredential
    tokens.note_token_use(session, row)
    session_id = row.session_id if row.check_due is None else None
    return replace(make_caller(row), check_due=bool(row.check_due), session_id=session_id)


def get_session_expiry(session: Session, secret: str) -> datetime:
    """When a session ends. Raises SessionNotFound."""
    expires_at = sessions.find_session_expiry(session, hash_secret(secret))
    if expires_at is None:
        raise SessionNotFound
    return expires_at


def close_session(session: Session, secret: str) -> None:
    """End a session, if there is one."""
    row = sessions.find_token_of_session(session, hash_secret(secret), older=CHECK_AFTER)
    sessions.delete_session(session, hash_secret(secret))
    if row is not None:
        _record(session, make_caller(row), "session closed")


def _record(session: Session, caller: Caller, action: str) -> None:
    """In the log of the campaign that the token is good for, else of the installation."""
    campaign_id = campaigns.load_campaign(session, caller.campaign).id if caller.campaign is not None else None
    audit.record_action(session, campaign_id, actor=caller.actor, action=action, what={"role": caller.role})


def derive_csrf_token(secret: str) -> str:
    """What a page proves itself with: derived from the session, so nothing more is stored."""
    return hmac.new(secret.encode("utf-8", "replace"), b"csrf", hashlib.sha256).hexdigest()


def matches_csrf_token(secret: str, given: str) -> bool:
    """Whether this is the session's CSRF token."""
    return hmac.compare_digest(derive_csrf_token(secret).encode(), given.encode("utf-8", "replace"))
