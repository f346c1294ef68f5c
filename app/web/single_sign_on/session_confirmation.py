"""Check whether the identity provider still confirms the holder of a session, at least once a minute.

If the provider does not answer, its answer of the last minute counts, but no older one, because the person may have
been removed since. The session stays, and works again once the provider answers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import Request

from app.services.access import sessions, single_sign_on
from app.services.access.identity_tokens import BadIdentityToken
from app.services.access.provider_roles import GroupRole, filter_roles_by_organization
from app.services.access.single_sign_on import ProviderTokens
from app.services.access.tokens import BadCredential, Caller
from app.storage import clock
from app.storage.db import Database
from app.web.single_sign_on.errors import ProviderRefused, ProviderSilent

if TYPE_CHECKING:
    from app.web.single_sign_on.provider import IdentityProviderClient

PATIENCE = 3.0  # seconds to wait for another request that is asking the provider about the same session
PAUSE = 0.05
AGAIN = 5  # seconds after which a refused client should try again


def find_identity_provider(request: Request) -> IdentityProviderClient | None:
    """Return the identity provider of this installation, if it has one."""
    provider: IdentityProviderClient | None = request.app.state.provider
    return provider


def confirm_session_with_provider(
    database: Database, provider: IdentityProviderClient | None, secret: str, *, organization: str | None = None
) -> Caller:
    """Return the holder of a session whose check is due, as the provider confirms them now.

    organization: key of the session's organization, whose roles count; None for the default one.

    Raises BadCredential if they are signed out there or none of their groups fits, ProviderSilent.
    """
    if provider is None:  # there was a provider when this session began
        raise BadCredential
    with database.transaction() as session:
        due = single_sign_on.claim_due_session_recheck(session, secret)
    if due is None:
        return _wait_for_other(database, secret)
    try:
        _ask(database, provider, due, secret, filter_roles_by_organization(provider.options.roles, organization))
    except ProviderSilent:
        with database.transaction() as session:
            single_sign_on.release_due_session_recheck(session, due)
            confirmed = single_sign_on.is_recently_confirmed_by_provider(session, secret)
        if not confirmed:
            raise
    except (ProviderRefused, BadIdentityToken):
        with database.transaction() as session:
            single_sign_on.end_unconfirmed_session(session, secret)
        raise BadCredential from None
    with database.transaction() as session:
        return sessions.authenticate_session(session, secret)


def _ask(
    database: Database,
    provider: IdentityProviderClient,
    due: single_sign_on.DueSessionRecheck,
    secret: str,
    roles: Sequence[GroupRole],
) -> None:
    if due.issuer != provider.options.issuer:
        raise ProviderRefused("the installation has another provider now")
    with database.transaction() as session:
        now = clock.get_database_time(session)

    def keep(renewed: ProviderTokens) -> None:
        with database.transaction() as session:
            single_sign_on.store_renewed_tokens(session, due, renewed, secret)

    confirmation = provider.reconfirm_person(due.subject, due.tokens, now=now, keep=keep)
    with database.transaction() as session:
        single_sign_on.update_role_from_provider(
            session, due, confirmation.person, confirmation.tokens, secret, roles=roles
        )


def _wait_for_other(database: Database, secret: str) -> Caller:
    """Return the session's holder once confirmed, because another request is asking about it, or just did."""
    until = time.monotonic() + PATIENCE
    while True:
        with database.transaction() as session:
            caller = sessions.authenticate_session(session, secret)
            if single_sign_on.is_recently_confirmed_by_provider(session, secret):
                return caller
        if time.monotonic() >= until:
            raise ProviderSilent(retry_after=AGAIN)
        time.sleep(PAUSE)
