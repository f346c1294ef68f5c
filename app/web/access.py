"""Access: the first parameter of every handler says who may call it, with one of the types below.

    def get_campaign(caller: Viewer, campaign: CampaignKey, session: SessionDep) -> CampaignOut: ...

A credential of another campaign gets 404, as if the campaign did not exist. A credential of another organization
switches the request to the tables of that organization, which hold nothing else. For reading, a cookie is as good as
its token. For a change, the page must also prove that it is ours (`app.web.cookies`). Rater routes read the rater
cookie, and all other routes the staff cookie. Routes for both (who am I, signing out) read either.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Request

from app.domain.errors import Forbidden, Unauthorized
from app.domain.keys import KEY_PATTERN, is_key
from app.services.access import sessions, tokens
from app.services.access.tokens import Caller, Role
from app.services.people import raters
from app.services.people.raters import ActingRater
from app.storage.campaigns import CampaignNotFound
from app.storage.current_organization import current_organization_number
from app.web.cookies import Who, check_origin_and_csrf_token, find_staff_or_rater_cookie, read_session_cookie
from app.web.deps import database_of_request
from app.web.organizations import get_organization_directory, use_organization_of_credential
from app.web.query_parameters import check_query_parameters
from app.web.single_sign_on.session_confirmation import confirm_session_with_provider, find_identity_provider
from app.web.unauthenticated_limits import mark_sender_authenticated

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
RATER_HEADER = "Plumbline-Rater"


class NoCredential(Unauthorized):
    """Send `Authorization: Bearer <token>`."""


class RoleLacksRights(Forbidden):
    """Your role does not allow this."""

    published = "RoleLacksIt"


class CredentialBoundToCampaign(Forbidden):
    """This credential is valid for one campaign only."""

    published = "BoundToCampaign"


class CoordinatorWithoutTeam(Forbidden):
    """This coordinator's credential is for no team."""

    published = "NoTeam"


class RaterHeaderMissing(Forbidden):
    """A front-end acts for one rater at a time; send `Plumbline-Rater: <key>`."""

    published = "NoRaterNamed"


RaterHeader = Annotated[
    str | None,
    Header(
        alias=RATER_HEADER,
        pattern=KEY_PATTERN,
        description="For front-ends: key of the enrolled rater on whose behalf they act.",
        examples=["r1"],
    ),
]


class RequiredRole:
    """A dependency: the caller, with the rights of a role; `role` None accepts any valid credential.

    confirmed: whether an identity provider must confirm a session whose check is due.
    """

    def __init__(self, role: Role | None, *, unbound: bool = False, confirmed: bool = True) -> None:
        self.role = role
        self.unbound = unbound
        self.confirmed = confirmed

    def __call__(self, request: Request) -> Caller:
        """Return the caller. Raises NoCredential, BadCredential, CampaignNotFound, Forbidden, or query faults."""
        caller = _authenticate(request, "staff" if self.role is not None else None, confirmed=self.confirmed)
        _check_campaign(request, caller)
        if self.role is not None and not caller.has_rights_of(self.role):
            raise RoleLacksRights(f"it needs the rights of a {self.role}; yours is {caller.role}")
        if self.role == "coordinator" and caller.role == "coordinator" and caller.team is None:
            raise CoordinatorWithoutTeam
        if self.unbound and caller.campaign is not None:
            raise CredentialBoundToCampaign
        check_query_parameters(request)
        return caller


class RequiredEitherRole(RequiredRole):
    """A dependency: the caller, with the rights of one of two roles, which see different things."""

    def __init__(self, first: Role, second: Role) -> None:
        super().__init__(first)
        self._second = RequiredRole(second)

    def __call__(self, request: Request) -> Caller:
        """Return the caller. Raises the errors of `RequiredRole`."""
        try:
            return super().__call__(request)
        except RoleLacksRights:
            return self._second(request)


class RequiredRater:
    """A dependency: the acting rater, by the rater's own credential or through a front-end of their campaign."""

    def __call__(self, request: Request, named: RaterHeader = None) -> ActingRater:  # noqa: ARG002  (declares it)
        """Return the rater. Raises NoCredential, BadCredential, CampaignNotFound, RaterNotFound or Forbidden."""
        caller = _authenticate(request, "rater")
        asked = _check_campaign(request, caller)
        if caller.role == "frontend":
            rater = self._find_named_rater(request, caller, asked)
        elif (own := raters.find_rater_of_caller(caller)) is not None:
            rater = own
        else:
            raise RoleLacksRights(f"it is for raters; yours is {caller.role}")
        check_query_parameters(request)
        return rater

    @staticmethod
    def _find_named_rater(request: Request, caller: Caller, asked: str | None) -> ActingRater:
        """Find the enrolled rater for whom a front-end acts, in the campaign of its credential or of the address."""
        given = request.headers.getlist(RATER_HEADER)
        campaign = caller.campaign or asked
        if len(given) != 1 or not is_key(given[0]):
            raise RaterHeaderMissing
        if campaign is None:
            raise RoleLacksRights("it needs a credential of one campaign")
        with database_of_request(request).transaction() as session:
            return raters.load_rater_named_by_front_end(session, caller, campaign=campaign, rater=given[0])


class PublicAccess:
    """A dependency that needs no credential, and ignores any that is sent."""

    async def __call__(self, request: Request) -> None:
        """Check the query only."""
        check_query_parameters(request)


def _check_campaign(request: Request, caller: Caller) -> str | None:
    """Return the campaign of the address. Raises CampaignNotFound if the credential is not valid for it."""
    asked: str | None = request.path_params.get("campaign")
    if caller.campaign is not None and asked not in (None, caller.campaign):
        raise CampaignNotFound
    return asked


def require_visible_campaigns(caller: Caller, campaigns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the campaigns if the caller may see them all. Raises CampaignNotFound, as for one that does not exist."""
    if caller.campaign is not None and set(campaigns) != {caller.campaign}:
        raise CampaignNotFound
    return campaigns


def _authenticate(request: Request, who: Who | None, *, confirmed: bool = True) -> Caller:
    """Authenticate in a separate transaction, so that no connection is held while the handler works.

    who: whose cookie counts; None for routes that staff and raters share. confirmed: as for `RequiredRole`.
    """
    database = database_of_request(request)
    given = request.headers.getlist("authorization")
    if given:
        scheme, _, secret = given[0].partition(" ")
        if len(given) > 1 or scheme.lower() != "bearer":
            raise NoCredential
        use_organization_of_credential(request, secret.strip(" "))
        with database.transaction() as session:
            caller = tokens.authenticate_secret(session, secret.strip(" "))
        mark_sender_authenticated(request, secret.strip(" "))
        return caller
    cookie = _cookie(request, who)
    if cookie is None:
        raise NoCredential
    caller = authenticate_cookie(request, cookie, confirmed=confirmed)
    if request.method not in SAFE:
        check_origin_and_csrf_token(request, cookie)
    return caller


def authenticate_cookie(request: Request, cookie: str, *, confirmed: bool = True) -> Caller:
    """Return the holder of a session. Raises BadCredential, or ProviderSilent if the provider must confirm it."""
    database = database_of_request(request)
    use_organization_of_credential(request, cookie)
    with database.transaction() as session:
        caller = sessions.authenticate_session(session, cookie)
    if caller.check_due and confirmed:
        organization = get_organization_directory(request).find_key_by_number(current_organization_number())
        caller = confirm_session_with_provider(
            database, find_identity_provider(request), cookie, organization=organization
        )
    mark_sender_authenticated(request, cookie)
    return caller


def may_still_receive_response(request: Request, caller: Caller) -> bool:
    """Tell whether a caller may still receive a long-running response."""
    if not get_organization_directory(request).has(current_organization_number()):
        return False
    if "authorization" in request.headers:
        return tokens.is_credential_valid(database_of_request(request), caller)
    cookie = _cookie(request, "staff")
    try:
        now = authenticate_cookie(request, cookie) if cookie is not None else None
    except Unauthorized:
        return False
    rights = ("token_id", "role", "campaign", "team")
    return now is not None and all(getattr(now, right) == getattr(caller, right) for right in rights)


def _cookie(request: Request, who: Who | None) -> str | None:
    if who is not None:
        return read_session_cookie(request, who)
    cookie = find_staff_or_rater_cookie(request)
    return cookie[1] if cookie else None


Public = Annotated[None, Depends(PublicAccess())]
AnyRole = Annotated[Caller, Depends(RequiredRole(None))]
# A provider that does not answer must not keep users signed in who want to leave.
SigningOut = Annotated[Caller, Depends(RequiredRole(None, confirmed=False))]
RaterCaller = Annotated[ActingRater, Depends(RequiredRater())]
Frontend = Annotated[Caller, Depends(RequiredRole("frontend"))]
Coordinator = Annotated[Caller, Depends(RequiredRole("coordinator"))]
Viewer = Annotated[Caller, Depends(RequiredRole("viewer"))]
ViewerOrCoordinator = Annotated[Caller, Depends(RequiredEitherRole("viewer", "coordinator"))]
Manager = Annotated[Caller, Depends(RequiredRole("manager"))]
UnboundManager = Annotated[Caller, Depends(RequiredRole("manager", unbound=True))]
Admin = Annotated[Caller, Depends(RequiredRole("admin"))]
