"""People who sign in at an identity provider: their account, the role that their groups give them, and when it ends.

A person has one token here, whose secret nobody knows. Its role follows the person's groups. When none of these groups
is listed any more, the token is revoked, which ends all sessions of the person. The provider's tokens for later
requests are encrypted with a key that can only be derived from the browser's cookie.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.errors import Forbidden, NotFound
from app.services.access import sessions, tokens
from app.services.access.identity_tokens import LogoutNotice
from app.services.access.provider_roles import GroupRole, match_group_roles
from app.services.access.sessions import StartedSession
from app.services.access.tokens import BadCredential, Caller
from app.services.campaigns import audit
from app.storage import campaigns, login_accounts, teams
from app.storage import tokens as stored_tokens
from app.storage.db import Session

STILL_GOOD = timedelta(seconds=60)
"""How long the provider's confirmation of a person is valid."""
CLAIM = timedelta(seconds=45)
"""How long one request may take to ask the provider before another request does.

This is longer than the provider's answers may take together, because two requests must not send the same refresh token.
"""
REMEMBERED = timedelta(minutes=30)
"""How long a logout token is remembered: longer than its validity."""


class NoGroupWithAccess(Forbidden):
    """None of your groups may use this service."""

    published = "NoGroupFits"


@dataclass(frozen=True, slots=True)
class ProviderPerson:
    """A person as the provider describes them. subject: never changes. groups: the current ones."""

    issuer: str
    subject: str
    name: str
    groups: Collection[str]


@dataclass(frozen=True, slots=True)
class ProviderTokens:
    """The provider's tokens for asking again, and for signing out."""

    access: str
    refresh: str | None
    identity: str

    def __repr__(self) -> str:
        """Return a text without the tokens, so that no log or trace can contain them."""
        return "ProviderTokens()"


@dataclass(frozen=True, slots=True)
class DueSessionRecheck:
    """A session about which the provider must be asked. at: when this request took over the check."""

    session_id: int
    at: datetime
    issuer: str
    subject: str
    tokens: ProviderTokens


def sign_in(
    session: Session,
    person: ProviderPerson,
    given: ProviderTokens,
    *,
    sid: str | None,
    roles: Sequence[GroupRole],
    lifetime: timedelta,
) -> StartedSession | None:
    """Start a session for a person. sid: the provider's name for its own session.

    If none of their groups may use the service, return None; their sessions then end when the transaction commits.
    """
    account = login_accounts.load_login_account_for_update(session, issuer=person.issuer, subject=person.subject)
    token = stored_tokens.load_token_by_id(session, account.token_id) if account is not None else None
    caller = _give_role(session, person, token, roles)
    if caller is None:
        return None
    account_id = login_accounts.upsert_login_account(
        session, issuer=person.issuer, subject=person.subject, name=person.name, token_id=caller.token_id
    )
    new = sessions.start_session_for_caller(session, caller, lifetime=lifetime)
    sealed, digest = encrypt_provider_tokens(given, new.secret), tokens.hash_secret(new.secret)
    login_accounts.insert_single_sign_on_session(session, digest=digest, account_id=account_id, sid=sid, sealed=sealed)
    return new


def claim_due_session_recheck(session: Session, secret: str) -> DueSessionRecheck | None:
    """Claim the check for this request, or return None if another request makes it or has just made it."""
    digest = tokens.hash_secret(secret)
    at = login_accounts.claim_session_recheck(session, digest, recheck_after=sessions.CHECK_AFTER, claim_for=CLAIM)
    row = login_accounts.find_single_sign_on_session(session, digest) if at is not None else None
    if row is None or at is None:
        return None
    return DueSessionRecheck(row.session_id, at, row.issuer, row.subject, decrypt_provider_tokens(row.sealed, secret))


def is_recently_confirmed_by_provider(session: Session, secret: str) -> bool:
    """Return whether the provider confirmed the person of a session within the last minute."""
    return login_accounts.was_session_rechecked_within(session, tokens.hash_secret(secret), STILL_GOOD)


def update_role_from_provider(
    session: Session,
    due: DueSessionRecheck,
    person: ProviderPerson,
    given: ProviderTokens,
    secret: str,
    *,
    roles: Sequence[GroupRole],
) -> None:
    """Update the role to what the provider says now. If there is none, all sessions end. Commit in either case."""
    account = login_accounts.load_login_account_for_update(session, issuer=due.issuer, subject=due.subject)
    token = stored_tokens.load_token_by_id(session, account.token_id) if account is not None else None
    if token is None or not token.live:
        return
    _give_role(session, person, token, roles)
    sealed = encrypt_provider_tokens(given, secret) if given != due.tokens else None
    login_accounts.store_session_recheck(session, due.session_id, at=due.at, sealed=sealed)


def store_renewed_tokens(session: Session, due: DueSessionRecheck, given: ProviderTokens, secret: str) -> None:
    """Store the tokens from a refresh, whatever the check finds, because the old refresh token may now be used up."""
    login_accounts.replace_provider_tokens(session, due.session_id, sealed=encrypt_provider_tokens(given, secret))


def release_due_session_recheck(session: Session, due: DueSessionRecheck) -> None:
    """Let the next request ask the provider, because it did not answer this one."""
    login_accounts.release_session_recheck(session, due.session_id)


def end_unconfirmed_session(session: Session, secret: str) -> None:
    """End a session that the provider no longer confirms."""
    sessions.close_session(session, secret)


def find_identity_token(session: Session, secret: str) -> str | None:
    """Return the token by which the provider can end its session, too; None if the session was opened with a token."""
    row = login_accounts.find_single_sign_on_session(session, tokens.hash_secret(secret))
    return None if row is None else decrypt_provider_tokens(row.sealed, secret).identity


def end_sessions_for_logout(session: Session, notice: LogoutNotice, *, issuer: str) -> bool:
    """End the sessions that the provider says have ended. Return False if this notice was carried out before."""
    digest = hashlib.sha256(f"{issuer}\n{notice.jti}".encode("utf-8", "replace")).digest()
    if not login_accounts.mark_logout_token_used(session, digest, remember_for=REMEMBERED):
        return False
    ended = login_accounts.delete_sessions_ended_by_provider(
        session, issuer=issuer, subject=notice.subject, sid=notice.sid
    )
    if ended:
        audit.record_action(session, None, actor=audit.PROVIDER, action="sessions ended", what={"sessions": ended})
    return True


def encrypt_provider_tokens(given: ProviderTokens, secret: str) -> bytes:
    """Encrypt the provider's tokens for storage, with a key that is derived from the cookie and stored nowhere."""
    from joserfc import jwe
    from joserfc.jwk import OctKey

    content = json.dumps([given.access, given.refresh, given.identity]).encode()
    header = {"alg": "dir", "enc": "A256GCM"}
    return jwe.encrypt_compact(header, content, OctKey.import_key(_sealing_key(secret))).encode()


def decrypt_provider_tokens(sealed: bytes, secret: str) -> ProviderTokens:
    """Decrypt the provider's tokens. Raises BadCredential if they belong to another session."""
    from joserfc import jwe
    from joserfc.errors import JoseError
    from joserfc.jwk import OctKey

    try:
        content = jwe.decrypt_compact(bytes(sealed), OctKey.import_key(_sealing_key(secret))).plaintext
    except (JoseError, ValueError):
        raise BadCredential from None
    return ProviderTokens(*json.loads(content or b"[]"))


def _sealing_key(secret: str) -> bytes:
    return hmac.new(secret.encode("utf-8", "replace"), b"provider tokens", hashlib.sha256).digest()


def _give_role(
    session: Session, person: ProviderPerson, token: stored_tokens.TokenRecord | None, roles: Sequence[GroupRole]
) -> Caller | None:
    """Give the person's token the role of their groups. If there is none, revoke the token and return None."""
    fitting = _find_role(session, match_group_roles(roles, person.groups))
    live = token is not None and token.live
    if fitting is None:
        if token is not None and live:
            _revoke(session, token)
        return None
    role, bound = fitting
    if token is None or not live:
        issued = tokens.create_token_unchecked(
            session,
            role=role.role,
            name=person.name,
            campaign=role.campaign,
            team=role.team,
            expires_at=None,
            actor=audit.PROVIDER,
        )
        return tokens.make_caller(stored_tokens.load_token_by_prefix(session, issued.token.prefix))
    if (token.role, token.campaign, token.team, token.name) != (role.role, role.campaign, role.team, person.name):
        login_accounts.change_token_role(session, token.id, role=role.role, name=person.name, **bound)
        what: Mapping[str, object] = {"token": token.prefix, "role": role.role, "campaign": role.campaign}
        audit.record_action(session, bound["campaign_id"], actor=audit.PROVIDER, action="role changed", what=what)
    return tokens.make_caller(stored_tokens.load_token_by_prefix(session, token.prefix))


def _find_role(session: Session, fitting: Sequence[GroupRole]) -> tuple[GroupRole, dict[str, int | None]] | None:
    """Return the first role whose campaign and team exist, with their ids."""
    for role in fitting:
        if role.campaign is None:
            return role, {"campaign_id": None, "team_id": None}
        try:
            campaign_id = campaigns.load_campaign(session, role.campaign).id
            team_id = teams.load_team(session, campaign_id, role.team).id if role.team is not None else None
        except NotFound:
            continue
        return role, {"campaign_id": campaign_id, "team_id": team_id}
    return None


def _revoke(session: Session, token: stored_tokens.TokenRecord) -> None:
    if stored_tokens.mark_token_revoked(session, token.prefix):
        what = {"token": token.prefix}
        audit.record_action(session, token.campaign_id, actor=audit.PROVIDER, action="token revoked", what=what)
