"""How the pages of the table are served: who may open them, the menu between them, and their routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, unquote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from app.reports.source.campaign import CampaignInfo
from app.services.access import sessions
from app.services.access.tokens import Caller, Role
from app.services.campaigns import campaigns
from app.storage.campaigns import CampaignNotFound
from app.ui.assets import FOLDER
from app.ui.manager.contents import PageVisit
from app.ui.manager.table import COORDINATOR, GROUPS, MANAGER, PAGES, VIEWER, Contents, ManagerPage
from app.ui.pages import render_page
from app.web.access import NoCredential, NoTeam, RoleLacksIt
from app.web.cookies import session_cookie
from app.web.deps import CampaignKey, DatabaseDep
from app.web.strangers import recognize_sender

Menu = list[tuple[str, list[tuple[str, str]]]]
"""Groups of pages by name: address and name of each page."""


@dataclass(frozen=True)
class RequireSession:
    """A dependency: the signed-in caller, with the rights of one of some roles."""

    roles: frozenset[Role]

    def __call__(self, request: Request, database: DatabaseDep) -> Caller:
        """The caller. Raises Unauthorized, Forbidden, or NotFound for another's campaign."""
        cookie = session_cookie(request, "staff")
        if cookie is None:
            raise NoCredential
        with database.transaction() as session:
            caller = sessions.authenticate_session(session, cookie)
        recognize_sender(request, cookie)
        if caller.campaign is not None and request.path_params.get("campaign") not in (None, caller.campaign):
            raise CampaignNotFound
        if not any(caller.may(role) for role in self.roles):
            raise RoleLacksIt(f"it needs the rights of a {' or '.join(sorted(self.roles))}; yours is {caller.role}")
        if caller.role == "coordinator" and caller.team is None:
            raise NoTeam
        return caller


Onlooker = Annotated[Caller, Depends(RequireSession(VIEWER | COORDINATOR))]
Manager = Annotated[Caller, Depends(RequireSession(MANAGER))]


def make_menu(campaign: str, caller: Caller) -> Menu:
    """The pages of a campaign that the caller may open, by group; groups without any are left out."""
    start = f"/campaigns/{quote(campaign, safe='')}"
    links = [
        (group, [(start + page.path, page.name) for page in pages if any(caller.may(role) for role in page.roles)])
        for group, pages in GROUPS
    ]
    return [(group, pages) for group, pages in links if pages]


def page_address(request: Request) -> str:
    """The address of a page, written as `make_menu` writes it."""
    return quote(unquote(request.url.path))


def render_campaign_page(
    request: Request,
    shown: ManagerPage,
    about: CampaignInfo,
    caller: Caller,
    values: Mapping[str, object],
    *,
    status: int = 200,
) -> HTMLResponse:
    """A page of a campaign with the menu. values: what its template needs beside the campaign."""
    shared = {
        "heading": shown.name,
        "campaign": about,
        "menu": make_menu(about.key, caller),
        "here": page_address(request),
        "caller": caller,
        "start": None,
    }
    return render_page(request, shown.template, {**shared, **values}, status=status)


def add_pages(router: APIRouter) -> None:
    """Add the pages of the table that need no handler of their own."""
    for shown in PAGES.values():
        if shown.contents is not None:
            router.add_api_route(shown.route, _handler(shown, shown.contents), methods=["GET"], name=shown.name)


def _handler(shown: ManagerPage, contents: Contents) -> Callable[..., HTMLResponse]:
    """What serves a page: the campaign, what the table says, and the module that is named as the template is."""
    script = shown.template.removesuffix(".html")
    module = {"script": script.partition("/")[2]} if (FOLDER / f"{script}.js").exists() else {}
    allowed = Depends(RequireSession(shown.roles))

    def show(request: Request, campaign: CampaignKey, database: DatabaseDep, caller: Caller = allowed) -> HTMLResponse:
        with database.transaction(snapshot=True) as session:
            about = campaigns.get_campaign(session, campaign)
            values = contents(PageVisit(session, about, caller))
        return render_campaign_page(request, shown, about, caller, {**module, **values})

    return show
