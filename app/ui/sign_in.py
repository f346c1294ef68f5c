"""Sign-in at the organization's identity provider (OpenID Connect), and its notices that somebody has signed out.

Without a provider, these pages do not exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from app.domain.errors import AppError, Forbidden, Unauthorized, Unavailable
from app.services.access import single_sign_on
from app.services.access.identity_tokens import BadIdentityToken
from app.services.access.provider_roles import filter_roles_by_organization, list_organizations_of_groups
from app.services.access.sessions import StartedSession
from app.services.access.single_sign_on import NoGroupWithAccess
from app.services.every_organization import run_for_each_organization
from app.storage import clock
from app.storage.current_organization import use_organization
from app.storage.db import Database
from app.ui.pages import PageRoute, render_page
from app.web.cookies import own_origin, set_session_cookie
from app.web.deps import DatabaseDep, get_service_options
from app.web.organizations import get_organization_directory
from app.web.problems import STATUS, retry_after_header
from app.web.single_sign_on.attempt import (
    clear_sign_in_attempt_cookie,
    make_sign_in_attempt,
    read_sign_in_attempt,
    set_sign_in_attempt_cookie,
)
from app.web.single_sign_on.errors import NoIdentityProvider, ProviderRefused, SignInNotBegun
from app.web.single_sign_on.session_confirmation import find_identity_provider
from app.web.unauthenticated_limits import SIGN_IN_ANSWER, mark_sender_authenticated, note_sign_in_attempt

if TYPE_CHECKING:
    from app.web.single_sign_on.provider import IdentityProviderClient, ProviderConfirmation

BACK = SIGN_IN_ANSWER
LONGEST_CODE = 4096
FORM = "application/x-www-form-urlencoded"


class SignInErrorPageRoute(PageRoute):
    """A route that answers a refusal with a page that gives the reason and offers to sign in again."""

    def render_error(self, request: Request, error: AppError) -> Response:
        """Return what a browser shows in place of the page."""
        if not isinstance(error, Unauthorized | Forbidden | Unavailable):
            return super().render_error(request, error)
        # No CSRF token, which is for signed-in people: the request may carry an older cookie.
        values = {"why": error.name(), "title": error.title(), "detail": error.detail, "csrf": None}
        response = render_page(request, "manager/not_signed_in.html", values, status=STATUS[error.kind])
        response.headers.update(retry_after_header(error))
        return response


router = APIRouter(route_class=SignInErrorPageRoute, include_in_schema=False)


def require_identity_provider(request: Request) -> IdentityProviderClient:
    """Return the identity provider. Raises NoIdentityProvider if this installation has none."""
    provider = find_identity_provider(request)
    if provider is None:
        raise NoIdentityProvider
    return provider


ProviderDep = Annotated[
    Any, Depends(require_identity_provider)
]  # an IdentityProviderClient, imported only if there is one


@router.get("/oidc/sign-in")
def begin_sign_in(request: Request, provider: ProviderDep) -> Response:
    """Send the browser to the provider."""
    attempt = make_sign_in_attempt(request.query_params.get("next"))
    address = provider.authorization_address(
        back=own_origin(request) + BACK, state=attempt.state, nonce=attempt.nonce, challenge=attempt.challenge
    )
    response = RedirectResponse(address, 303, headers={"Cache-Control": "no-store"})
    set_sign_in_attempt_cookie(request, response, attempt)
    return response


@router.get(BACK)
def finish_single_sign_on(request: Request, provider: ProviderDep, database: DatabaseDep) -> Response:
    """Sign in who comes back from the provider. What does not belong to this browser asks nothing of anybody."""
    attempt, given = read_sign_in_attempt(request), request.query_params
    if not attempt.matches_state(given.get("state", "")):
        raise SignInNotBegun
    provider.check_answering_issuer(given.get("iss"))
    code = given.get("code", "")
    if "error" in given or not 0 < len(code) <= LONGEST_CODE:
        raise ProviderRefused
    with database.transaction() as session:
        now = clock.get_database_time(session)
    note_sign_in_attempt(request)
    confirmed = provider.redeem_authorization_code(
        code, back=own_origin(request) + BACK, verifier=attempt.verifier, nonce=attempt.nonce, now=now
    )
    new = _start_session(request, database, provider, confirmed)
    if new is None:
        raise NoGroupWithAccess
    # No redirect: browsers would not send the new cookie with it, because another site started this navigation.
    response = render_page(request, "manager/signed_in.html", {"next": attempt.next})
    set_session_cookie(request, response, new.secret, "staff", lifetime=new.lifetime)
    clear_sign_in_attempt_cookie(request, response)
    mark_sender_authenticated(request, new.secret)
    return response


def _start_session(
    request: Request, database: Database, provider: IdentityProviderClient, confirmed: ProviderConfirmation
) -> StartedSession | None:
    """Start a session in the first organization where a group has a role; None if there is none."""
    roles, new = provider.options.roles, None
    for organization in list_organizations_of_groups(roles, confirmed.person.groups) or [None]:
        number = get_organization_directory(request).find_number_by_key(organization)
        if number is None:
            continue
        with use_organization(number), database.transaction() as session:
            new = single_sign_on.sign_in(
                session,
                confirmed.person,
                confirmed.tokens,
                sid=confirmed.sid,
                roles=filter_roles_by_organization(roles, organization),
                lifetime=get_service_options(request).session_lifetime,
            )
        if new is not None:
            break
    return new


@router.post("/oidc/backchannel-logout")
async def receive_back_channel_logout(request: Request, provider: ProviderDep, database: DatabaseDep) -> Response:
    """Carry out what the provider says: these sessions have ended (Back-Channel Logout 1.0, section 2.5)."""
    headers = {"Cache-Control": "no-store"}
    refused = JSONResponse({"error": "invalid_request"}, 400, headers=headers)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return refused
    try:
        values = parse_qs((await request.body()).decode("ascii"), max_num_fields=8).get("logout_token", [])
    except ValueError:
        return refused
    if len(values) != 1:
        return refused

    def carry_out() -> bool:
        with database.transaction() as session:
            now = clock.get_database_time(session)
        notice = provider.verify_logout_token(values[0], now=now)

        def end() -> bool:
            with database.transaction() as session:
                return single_sign_on.end_sessions_for_logout(session, notice, issuer=provider.options.issuer)

        return any(run_for_each_organization(database, end))

    try:
        done = await to_thread.run_sync(carry_out)
    except BadIdentityToken:
        return refused
    return Response(status_code=200, headers=headers) if done else refused
