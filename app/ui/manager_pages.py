"""What the pages of a campaign share: who may open them, and the ways between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, unquote

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse

from app.services import sessions
from app.services.campaigns import CampaignView
from app.services.tokens import Caller, Role
from app.storage.campaigns import CampaignNotFound
from app.ui.messages import message
from app.ui.pages import page
from app.web.access import NoCredential, NoTeam, RoleLacksIt
from app.web.cookies import session_cookie
from app.web.deps import DatabaseDep

# The pages of a campaign: end of the address, what it is called, and who may open it.
WAYS: tuple[tuple[str, str, frozenset[Role]], ...] = (
    ("/overview", message("Overview"), frozenset({"viewer", "coordinator"})),
    ("", message("Ranking"), frozenset({"viewer"})),
    ("/recipes", message("Recipes"), frozenset({"viewer"})),
    ("/reports", message("Reports"), frozenset({"viewer"})),
    ("/stability", message("Stability"), frozenset({"viewer"})),
    ("/gate", message("Gate"), frozenset({"viewer"})),
    ("/reports/power", message("Planner"), frozenset({"viewer"})),
    ("/comparisons", message("Comparisons"), frozenset({"viewer"})),
    ("/series", message("Series"), frozenset({"viewer"})),
    ("/print", message("Print"), frozenset({"viewer"})),
    ("/lock", message("Lock"), frozenset({"viewer"})),
    ("/jobs", message("Jobs"), frozenset({"viewer"})),
    ("/settings", message("Settings"), frozenset({"manager"})),
    ("/texts", message("Texts"), frozenset({"manager"})),
    ("/guidelines", message("Guidelines"), frozenset({"manager"})),
    ("/tutorial", message("Tutorial"), frozenset({"manager"})),
    ("/qualification", message("Test"), frozenset({"manager"})),
    ("/raters", message("Raters"), frozenset({"coordinator"})),
    ("/invitations", message("Invitations"), frozenset({"manager"})),
    ("/design", message("Design"), frozenset({"manager"})),
    ("/replan", message("Replan"), frozenset({"manager"})),
    ("/quality", message("Quality"), frozenset({"coordinator"})),
    ("/exclusions", message("Exclusions"), frozenset({"manager"})),
    ("/problems", message("Problems"), frozenset({"manager"})),
    ("/items", message("Items"), frozenset({"manager"})),
    ("/exports", message("Export"), frozenset({"manager"})),
    ("/clone", message("Clone"), frozenset({"manager"})),
    ("/audit", message("Audit"), frozenset({"manager"})),
)


@dataclass(frozen=True)
class Needs:
    """A dependency: the signed-in caller, with the rights of one of some roles."""

    roles: frozenset[Role]

    def __call__(self, request: Request, database: DatabaseDep) -> Caller:
        """The caller. Raises Unauthorized, Forbidden, or NotFound for another's campaign."""
        cookie = session_cookie(request, "staff")
        if cookie is None:
            raise NoCredential
        with database.transaction() as session:
            caller = sessions.caller(session, cookie)
        if caller.campaign is not None and request.path_params.get("campaign") not in (None, caller.campaign):
            raise CampaignNotFound
        if not any(caller.may(role) for role in self.roles):
            raise RoleLacksIt(f"it needs the rights of a {' or '.join(sorted(self.roles))}; yours is {caller.role}")
        if caller.role == "coordinator" and caller.team is None:
            raise NoTeam
        return caller


Onlooker = Annotated[Caller, Depends(Needs(frozenset({"viewer", "coordinator"})))]
Coordinator = Annotated[Caller, Depends(Needs(frozenset({"coordinator"})))]
Manager = Annotated[Caller, Depends(Needs(frozenset({"manager"})))]


def ways(campaign: str, caller: Caller) -> list[tuple[str, str]]:
    """Address and name of each page of a campaign that the caller may open."""
    start = f"/campaigns/{quote(campaign, safe='')}"
    return [(start + end, name) for end, name, roles in WAYS if any(caller.may(role) for role in roles)]


def here(request: Request) -> str:
    """The address of a page, written as `ways` writes it."""
    return quote(unquote(request.url.path))


def desk(
    request: Request,
    template: str,
    about: CampaignView,
    caller: Caller,
    values: Mapping[str, object],
    *,
    status: int = 200,
) -> HTMLResponse:
    """A page of a campaign, with the ways to the others."""
    shared = {"campaign": about, "ways": ways(about.key, caller), "here": here(request), "caller": caller}
    return page(request, template, {**shared, **values}, status=status)
