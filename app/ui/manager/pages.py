"""What the pages of a campaign share: who may open them, and the ways between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, unquote

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse

from app.reports.source.campaign import CampaignInfo
from app.services.access import sessions
from app.services.access.tokens import Caller, Role
from app.storage.campaigns import CampaignNotFound
from app.ui.messages import message
from app.ui.pages import page
from app.web.access import NoCredential, NoTeam, RoleLacksIt
from app.web.cookies import session_cookie
from app.web.deps import DatabaseDep
from app.web.strangers import recognize_sender

VIEWER: frozenset[Role] = frozenset({"viewer"})
COORDINATOR: frozenset[Role] = frozenset({"coordinator"})
MANAGER: frozenset[Role] = frozenset({"manager"})

# The pages of a campaign by what they are about: end of the address, what it is called, and who may open it.
WAYS: tuple[tuple[str, tuple[tuple[str, str, frozenset[Role]], ...]], ...] = (
    (
        message("Campaign"),
        (
            ("/overview", message("Overview"), VIEWER | COORDINATOR),
            ("/settings", message("Settings"), MANAGER),
            ("/lock", message("Lock"), VIEWER),
            ("/jobs", message("Jobs"), VIEWER),
            ("/exports", message("Export"), MANAGER),
            ("/clone", message("Clone"), MANAGER),
            ("/audit", message("Audit"), MANAGER),
        ),
    ),
    (
        message("Results"),
        (
            ("", message("Ranking"), VIEWER),
            ("/recipes", message("Recipes"), VIEWER),
            ("/reports", message("Reports"), VIEWER),
            ("/stability", message("Stability"), VIEWER),
            ("/gate", message("Gate"), VIEWER),
            ("/reports/power", message("Planner"), VIEWER),
            ("/comparisons", message("Comparisons"), VIEWER),
            ("/series", message("Series"), VIEWER),
            ("/print", message("Print"), VIEWER),
        ),
    ),
    (
        message("Texts and tasks"),
        (
            ("/texts", message("Texts"), MANAGER),
            ("/guidelines", message("Guidelines"), MANAGER),
            ("/design", message("Design"), MANAGER),
            ("/replan", message("Replan"), MANAGER),
            ("/items", message("Items"), MANAGER),
        ),
    ),
    (
        message("People"),
        (
            ("/raters", message("Raters"), COORDINATOR),
            ("/invitations", message("Invitations"), MANAGER),
            ("/tutorial", message("Tutorial"), MANAGER),
            ("/qualification", message("Test"), MANAGER),
            ("/quality", message("Quality"), COORDINATOR),
            ("/exclusions", message("Exclusions"), MANAGER),
            ("/problems", message("Problems"), MANAGER),
        ),
    ),
)
Ways = list[tuple[str, list[tuple[str, str]]]]
"""Groups of pages by name: address and name of each page."""


@dataclass(frozen=True)
class NeedsSession:
    """A dependency: the signed-in caller, with the rights of one of some roles."""

    roles: frozenset[Role]

    def __call__(self, request: Request, database: DatabaseDep) -> Caller:
        """The caller. Raises Unauthorized, Forbidden, or NotFound for another's campaign."""
        cookie = session_cookie(request, "staff")
        if cookie is None:
            raise NoCredential
        with database.transaction() as session:
            caller = sessions.caller(session, cookie)
        recognize_sender(request, cookie)
        if caller.campaign is not None and request.path_params.get("campaign") not in (None, caller.campaign):
            raise CampaignNotFound
        if not any(caller.may(role) for role in self.roles):
            raise RoleLacksIt(f"it needs the rights of a {' or '.join(sorted(self.roles))}; yours is {caller.role}")
        if caller.role == "coordinator" and caller.team is None:
            raise NoTeam
        return caller


Onlooker = Annotated[Caller, Depends(NeedsSession(frozenset({"viewer", "coordinator"})))]
Coordinator = Annotated[Caller, Depends(NeedsSession(frozenset({"coordinator"})))]
Manager = Annotated[Caller, Depends(NeedsSession(frozenset({"manager"})))]


def ways(campaign: str, caller: Caller) -> Ways:
    """The pages of a campaign that the caller may open, by group; groups without any are left out."""
    start = f"/campaigns/{quote(campaign, safe='')}"
    links = [
        (group, [(start + end, name) for end, name, roles in pages if any(caller.may(role) for role in roles)])
        for group, pages in WAYS
    ]
    return [(group, pages) for group, pages in links if pages]


def here(request: Request) -> str:
    """The address of a page, written as `ways` writes it."""
    return quote(unquote(request.url.path))


def desk(
    request: Request,
    template: str,
    about: CampaignInfo,
    caller: Caller,
    values: Mapping[str, object],
    *,
    status: int = 200,
) -> HTMLResponse:
    """A page of a campaign, with the ways to the others."""
    shared = {"campaign": about, "ways": ways(about.key, caller), "here": here(request), "caller": caller}
    return page(request, template, {**shared, "start": None, **values}, status=status)
