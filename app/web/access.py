"""Who may call: every handler says so in its signature, by one of the types below, and says it first.

    def get_campaign(caller: Viewer, campaign: CampaignKey, session: SessionDep) -> CampaignOut: ...

A credential of another campaign is told 404, as if the campaign did not exist. A cookie counts like its token for
reading; to change something the page must also prove that it is ours (`app.web.cookies`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from app.domain.errors import Forbidden, Unauthorized
from app.services import sessions, tokens
from app.services.tokens import Caller, Role
from app.storage.campaigns import CampaignNotFound
from app.web.cookies import check_same_origin, session_cookie
from app.web.deps import database_of
from app.web.queries import check_query

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class NoCredential(Unauthorized):
    """Send `Authorization: Bearer <token>`."""


class RoleLacksIt(Forbidden):
    """Your role does not allow this."""


class BoundToCampaign(Forbidden):
    """This credential is good for one campaign only."""


class Needs:
    """A dependency: the caller, with the rights of a role; `role` None takes any valid credential."""

    def __init__(self, role: Role | None, *, unbound: bool = False) -> None:
        self.role = role
        self.unbound = unbound

    def __call__(self, request: Request) -> Caller:
        """The caller. Raises NoCredential, BadCredential, CampaignNotFound or Forbidden, then what the query lacks."""
        caller = _authenticate(request)
        asked = request.path_params.get("campaign")
        if caller.campaign is not None and asked not in (None, caller.campaign):
            raise CampaignNotFound
        if self.role is not None and not caller.may(self.role):
            raise RoleLacksIt(f"it needs the rights of a {self.role}; yours is {caller.role}")
        if self.unbound and caller.campaign is not None:
            raise BoundToCampaign
        check_query(request)
        return caller


class Anyone:
    """A dependency: no credential is asked, and none is looked at."""

    async def __call__(self, request: Request) -> None:
        """Check the query only."""
        check_query(request)


def _authenticate(request: Request) -> Caller:
    """In a transaction of its own, so that no connection is held while the handler works."""
    database = database_of(request)
    given = request.headers.getlist("authorization")
    if given:
        scheme, _, secret = given[0].partition(" ")
        if len(given) > 1 or scheme.lower() != "bearer":
            raise NoCredential
        with database.transaction() as session:
            return tokens.authenticate(session, secret.strip(" "))
    cookie = session_cookie(request)
    if cookie is None:
        raise NoCredential
    with database.transaction() as session:
        caller = sessions.caller(session, cookie)
    if request.method not in SAFE:
        check_same_origin(request, cookie)
    return caller


Public = Annotated[None, Depends(Anyone())]
AnyRole = Annotated[Caller, Depends(Needs(None))]
Viewer = Annotated[Caller, Depends(Needs("viewer"))]
Manager = Annotated[Caller, Depends(Needs("manager"))]
UnboundManager = Annotated[Caller, Depends(Needs("manager", unbound=True))]
Admin = Annotated[Caller, Depends(Needs("admin"))]
