"""People who sign in at an identity provider: their account, their role by their groups, and when it ends.

A person has one token here, whose secret nobody knows. Its role follows their groups; it is revoked when none of them
is listed any more, which ends all their sessions. What the provider gives to ask again with is sealed by a key that
only the browser's cookie yields.
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
from app.services.access.sessions import NewSession
from app.services.access.tokens import BadCredential, Caller
from app.services.campaigns import audit
from app.storage import accounts, campaigns, teams
from app.storage import tokens as stored_tokens
from app.storage.db import Session

STILL_GOOD = timedelta(seconds=60)
"""How long it counts that the provider confirmed somebody."""
CLAIM = timedelta(seconds=45)
"""How long a request may take to ask the provider before another one asks.

Longer than the provider's answers may take together, as two requests must not send the same refresh token.
"""
REMEMBERED = timedelta(minutes=30)
"""How long a logout token is remembered: longer than it is valid."""


class NoGroupFits(Forbidden):
    """None of your groups may use this service."""


@dataclass(frozen=True, slots=True)
class ProviderPerson:
    """Who the provider says that somebody is. subject: never changes. groups: those it names now."""

    issuer: str
    subject: str
    name: str
    groups: Collection[str]


@dataclass(frozen=True, slots=True)
class ProviderTokens:
    """What the provider gave to ask again with, and to sign out with."""

    access: str
    refresh: str | None
    identity: str

    def __repr__(self) -> str:
        """Without the tokens, so that no log or trace can hold them."""
        return "ProviderTokens()"


@dataclass(frozen=True, slots=True)
class DueProviderCheck:
    """A session about which the provider is to be asked. at: since when it is this request that asks."""

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
) -> NewSession | None:
    """Start a session of a person. sid: what the provider calls its own session.

    None where none of their groups may use the service; then all their sessions end, if this is committed.
    """
    account = accounts.load_login_account_for_update(session, issuer=person.issuer, subject=person.subject)
    token = stored_tokens.load_token_by_id(session, account.token_id) if account is not None else None
    caller = _give_role(session, person, token, roles)
    if caller is None:
        return None
    account_id = accounts.upsert_login_account(
        session, issuer=person.issuer, subject=person.subject, name=person.name, token_id=caller.token_id
    )
    new = sessions.start_session_for_caller(session, caller, lifetime=lifetime)
    sealed, digest = encrypt_provider_tokens(given, new.secret), tokens.hash_secret(new.secret)
    accounts.insert_login_session(session, digest=digest, account_id=account_id, sid=sid, sealed=sealed)
    return new


def claim_due_provider_check(session: Session, secret: str) -> DueProviderCheck | None:
    """The check that this request is to make; None where another one makes it, or made it meanwhile."""
    digest = tokens.hash_secret(secret)
    at = accounts.claim_session_recheck(session, digest, older=sessions.CHECK_AFTER, lasts=CLAIM)
    row = accounts.find_login_session(session, digest) if at is not None else None
    if row is None or at is None:
        return None
    return DueProviderCheck(row.session_id, at, row.issuer, row.subject, decrypt_provider_tokens(row.sealed, secret))


def is_recently_confirmed_by_provider(session: Session, secret: str) -> bool:
    """Whether the provider confirmed the person behind a session within the last minute."""
    return accounts.was_session_rechecked_within(session, tokens.hash_secret(secret), STILL_GOOD)


def update_role_from_provider(
    session: Session,
    due: DueProviderCheck,
    person: ProviderPerson,
    given: ProviderTokens,
    secret: str,
    *,
    roles: Sequence[GroupRole],
) -> None:
    """Let the role follow what the provider says now; without one, all sessions end. Commit this in either case."""
    account = accounts.load_login_account_for_update(session, issuer=due.issuer, subject=due.subject)
    token = stored_tokens.load_token_by_id(session, account.token_id) if account is not None else None
    if token is None or not token.live:
        return
    _give_role(session, person, token, roles)
    sealed = encrypt_provider_tokens(given, secret) if given != due.tokens else None
    accounts.store_session_recheck(session, due.session_id, at=due.at, sealed=sealed)


def store_renewed_tokens(session: Session, due: DueProviderCheck, given: ProviderTokens, secret: str) -> None:
    """Keep what the provider gave for a refresh token, which may be spent now, whatever comes of the check."""
    accounts.replace_provider_tokens(session, due.session_id, sealed=encrypt_provider_tokens(given, secret))


def release_due_provider_check(session: Session, due: DueProviderCheck) -> None:
    """Let the next request ask the provider, which gave no answer to this one."""
    accounts.release_session_recheck(session, due.session_id)


def end_unconfirmed_session(session: Session, secret: str) -> None:
    """End a session that the provider does not confirm any more."""
    sessions.close_session(session, secret)


def find_identity_token(session: Session, secret: str) -> str | None:
    """What names a session to the provider when it is to end there too; None where a token opened it."""
    row = accounts.find_login_session(session, tokens.hash_secret(secret))
    return None if row is None else decrypt_provider_tokens(row.sealed, secret).identity


def end_sessions_for_logout(session: Session, notice: LogoutNotice, *, issuer: str) -> bool:
    """End the sessions that the provider says have ended; False where this notice was carried out before."""
    digest = hashlib.sha256(f"{issuer}\n{notice.jti}".encode("utf-8", "replace")).digest()
    if not accounts.mark_logout_token_used(session, digest, lasts=REMEMBERED):
        return False
    ended = accounts.delete_sessions_ended_by_provider(session, issuer=issuer, subject=notice.subject, sid=notice.sid)
    if ended:
        audit.record_action(session, None, actor=audit.PROVIDER, action="sessions ended", what={"sessions": ended})
    return True


def encrypt_provider_tokens(given: ProviderTokens, secret: str) -> bytes:
    """The provider's tokens as they are stored: encrypted, with a key that stands nowhere but in the cookie."""
    from joserfc import jwe
    from joserfc.jwk import OctKey

    content = json.dumps([given.access, given.refresh, given.identity]).encode()
    header = {"alg": "dir", "enc": "A256GCM"}
    return jwe.encrypt_compact(header, content, OctKey.import_key(_sealing_key(secret))).encode()


def decrypt_provider_tokens(sealed: bytes, secret: str) -> ProviderTokens:
    """What was sealed. Raises BadCredential where it was sealed for another session."""
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
    """The person's credential with the role of their groups; None, and the credential ended, where they have none."""
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
        return tokens.make_caller(stored_tokens.load_token(session, issued.token.prefix))
    if (token.role, token.campaign, token.team, token.name) != (role.role, role.campaign, role.team, person.name):
        accounts.change_token_role(session, token.id, role=role.role, name=person.name, **bound)
        what: Mapping[str, object] = {"token": token.prefix, "role": role.role, "campaign": role.campaign}
        audit.record_action(session, bound["campaign_id"], actor=audit.PROVIDER, action="role changed", what=what)
    return tokens.make_caller(stored_tokens.load_token(session, token.prefix))


def _find_role(session: Session, fitting: Sequence[GroupRole]) -> tuple[GroupRole, dict[str, int | None]] | None:
    """The first role whose campaign and team are there, with their ids."""
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
