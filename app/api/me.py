"""Who you are, and browser sessions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from app.api.models.times import Time
from app.services.access import sessions, single_sign_on
from app.services.access.tokens import Caller, Role
from app.storage.db import Session
from app.web.access import AnyRole, Public, SigningOut
from app.web.cookies import (
    Who,
    check_not_cross_site,
    clear_session_cookie,
    find_staff_or_rater_cookie,
    own_origin,
    set_session_cookie,
)
from app.web.deps import DatabaseDep, SessionDep, get_service_options
from app.web.examples import example_response
from app.web.organizations import use_organization_of_credential
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.single_sign_on.session_confirmation import find_identity_provider
from app.web.unauthenticated_limits import mark_sender_authenticated, note_sign_in_attempt

router = APIRouter(prefix="/v1", tags=["access"])
NONE: dict[int | str, dict[str, Any]] = {404: {"description": "There is no browser session."}}
DENIED: dict[int | str, dict[str, Any]] = {
    401: {"description": "No such token, or it has ended, or it opens one session and did."},
    403: {"description": "The request comes from another site."},
}
NO_SECRET = "plb_0f3a9c51d27e_" + "x" * 43


class Me(BaseModel):
    """The caller as the service sees it."""

    prefix: str = Field(description="Identifies the token.")
    role: Role
    name: str
    campaign: str | None = Field(description="The only campaign that this token gives access to; null for all.")
    expires_at: Time | None
    team: str | None = Field(description="Team whose enrolments a coordinator sees.")
    rater: str | None = Field(description="Rater whose credential this is, if the role is rater.")


class SessionIn(BodyModel):
    """A token to exchange for a cookie."""

    token: Annotated[str, StringConstraints(pattern="^[!-~]{1,200}$")]


class SessionOut(BaseModel):
    """A browser session; its secret is in the cookie only."""

    me: Me
    csrf: str = Field(description="Send it as `X-CSRF-Token` with every change.")
    expires_at: Time
    sign_out_url: str | None = Field(
        None,
        description="Address at which to sign out of the organization's account after signing out here; else null.",
    )


EXAMPLE = Me.model_validate(
    {
        "prefix": "0f3a9c51d27e",
        "role": "manager",
        "name": "Ada",
        "campaign": None,
        "expires_at": None,
        "team": None,
        "rater": None,
    }
)
SESSION = SessionOut.model_validate({"me": EXAMPLE, "csrf": "5e" * 32, "expires_at": "2026-11-21T00:00:00Z"})


@router.get("/me", summary="Get your role and campaign", responses=example_response(200, EXAMPLE))
def get_me(caller: AnyRole) -> Me:
    """Return role, campaign and expiry of the credential that was sent."""
    return _make_me(caller)


@router.post(
    "/session", status_code=201, summary="Sign a browser in", responses={**DENIED, **example_response(201, SESSION)}
)
def open_session(
    _: Public,
    request: Request,
    response: Response,
    body: Annotated[SessionIn, read_json_body_as(SessionIn, token={"token": NO_SECRET})],
    database: DatabaseDep,
) -> SessionOut:
    """Exchange a token for a cookie that scripts cannot read and other sites cannot send."""
    check_not_cross_site(request)
    note_sign_in_attempt(request)
    use_organization_of_credential(request, body.token)
    with database.transaction() as session:
        opened = sessions.exchange_token_for_session(
            session, body.token, lifetime=get_service_options(request).session_lifetime
        )
    who: Who = "rater" if opened.caller.role == "rater" else "staff"
    mark_sender_authenticated(request, opened.secret)
    set_session_cookie(request, response, opened.secret, who, lifetime=opened.lifetime)
    return SessionOut(me=_make_me(opened.caller), csrf=opened.csrf, expires_at=opened.expires_at)


@router.get("/session", summary="Get the browser's session", responses={**NONE, **example_response(200, SESSION)})
def get_session(caller: AnyRole, request: Request, session: SessionDep) -> SessionOut:
    """Return the session of the cookie that was sent, with its CSRF token, for a page that was reloaded."""
    _, secret = _cookie(request)
    return SessionOut(
        me=_make_me(caller),
        csrf=sessions.derive_csrf_token(secret),
        expires_at=sessions.get_session_expiry(session, secret),
        sign_out_url=_make_sign_out_url(request, session, secret),
    )


@router.delete(
    "/session", status_code=204, summary="Sign the browser out", response_description="Signed out.", responses=NONE
)
def close_session(caller: SigningOut, request: Request, response: Response, session: SessionDep) -> None:  # noqa: ARG001  (says who may call)
    """End the session of the cookie that was sent. The token stays valid. No identity provider is contacted."""
    who, secret = _cookie(request)
    sessions.close_session(session, secret)
    clear_session_cookie(request, response, who)


def _cookie(request: Request) -> tuple[Who, str]:
    cookie = find_staff_or_rater_cookie(request)
    if cookie is None:
        raise sessions.SessionNotFound
    return cookie


def _make_sign_out_url(request: Request, session: Session, secret: str) -> str | None:
    provider = find_identity_provider(request)
    identity_token = single_sign_on.find_identity_token(session, secret) if provider is not None else None
    if provider is None or identity_token is None:
        return None
    return provider.sign_out_address(identity_token, back=f"{own_origin(request)}/")


def _make_me(caller: Caller) -> Me:
    return Me(
        prefix=caller.prefix,
        role=caller.role,
        name=caller.name,
        campaign=caller.campaign,
        expires_at=caller.expires_at,
        team=caller.team,
        rater=caller.rater,
    )
