"""How the pages of the table are served: who may open them, the menu, and the routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import quote, unquote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from app.reports.inputs.campaign import CampaignInfo
from app.services.access.tokens import Caller, Role
from app.services.campaigns import campaigns
from app.services.campaigns.setup import CampaignSetupFacts, get_setup_facts
from app.storage.campaigns import CampaignNotFound
from app.ui.assets import FOLDER
from app.ui.manager.page_table import (
    COORDINATOR,
    GROUPS,
    MANAGER,
    PAGES,
    VIEWER,
    WHY_NOT,
    Contents,
    ManagerPageDefinition,
)
from app.ui.manager.page_values import ManagerPageContext
from app.ui.manager.setup_steps import DRAFT, find_next_step, list_setup_steps
from app.ui.messages import choose_request_language, load_page_messages
from app.ui.pages import render_page
from app.web.access import CoordinatorWithoutTeam, NoCredential, RoleLacksRights, authenticate_cookie
from app.web.cookies import read_session_cookie
from app.web.deps import CampaignKey, DatabaseDep, database_of_request


@dataclass(frozen=True, slots=True)
class MenuPage:
    """A page in the menu. why_not: says when it will show something; None if it does already."""

    name: str
    address: str
    why_not: str | None


@dataclass(frozen=True, slots=True)
class MenuSection:
    """An entry of the menu, which leads to the first of its pages. open: whether it contains the shown page."""

    name: str
    icon: str
    pages: tuple[MenuPage, ...]
    open: bool

    @property
    def address(self) -> str:
        """The address that the entry leads to."""
        return self.pages[0].address


Menu = list[MenuSection]


@dataclass(frozen=True)
class RequiredSessionRole:
    """A dependency that returns the signed-in caller, who must have the rights of one of these roles."""

    roles: frozenset[Role]

    def __call__(self, request: Request) -> Caller:
        """Return the caller. Raises Unauthorized, Forbidden, or NotFound for another campaign."""
        cookie = read_session_cookie(request, "staff")
        if cookie is None:
            raise NoCredential
        caller = authenticate_cookie(request, cookie)
        if caller.campaign is not None and request.path_params.get("campaign") not in (None, caller.campaign):
            raise CampaignNotFound
        if not any(caller.has_rights_of(role) for role in self.roles):
            raise RoleLacksRights(f"it needs the rights of a {' or '.join(sorted(self.roles))}; yours is {caller.role}")
        if caller.role == "coordinator" and caller.team is None:
            raise CoordinatorWithoutTeam
        return caller


SECTIONS_OF_THE_WAY = ("Texts", "People", "Design", "Settings")
PAGES_OF_THE_WAY = [page for section, pages in GROUPS if section in SECTIONS_OF_THE_WAY for page in pages]
"""The pages that show the next step of the setup; the overview shows all steps instead."""
WAY = "manager/base"

Onlooker = Annotated[Caller, Depends(RequiredSessionRole(VIEWER | COORDINATOR))]
Manager = Annotated[Caller, Depends(RequiredSessionRole(MANAGER))]


def make_menu(campaign: str, caller: Caller, facts: CampaignSetupFacts, here: str) -> Menu:
    """Return the pages of a campaign that the caller may open, by section, without empty sections.

    here: the address of the shown page; a page below a page of the menu belongs to it.
    """
    start = f"/campaigns/{quote(campaign, safe='')}"
    menu = []
    for section, group in GROUPS:
        pages = tuple(
            MenuPage(page.name, start + page.path, _why_not(page, facts))
            for page in group
            if any(caller.has_rights_of(role) for role in page.roles)
        )
        if pages:
            menu.append(MenuSection(section, section.lower(), pages, here in {page.address for page in pages}))
    if not any(section.open for section in menu):
        above = here.rpartition("/")[0]
        menu = [replace(one, open=above in {page.address for page in one.pages}) for one in menu]
    return menu


def _why_not(page: ManagerPageDefinition, facts: CampaignSetupFacts) -> str | None:
    return None if page.needs is None or getattr(facts, page.needs) else WHY_NOT[page.needs]


def current_page_address(request: Request) -> str:
    """Return the address of a page in the form that `make_menu` uses."""
    return quote(unquote(request.url.path))


def render_campaign_page(
    request: Request,
    page: ManagerPageDefinition,
    campaign: CampaignInfo,
    caller: Caller,
    values: Mapping[str, object],
    *,
    status: int = 200,
) -> HTMLResponse:
    """Render a page of a campaign with the menu. values: what its template needs besides the campaign."""
    with database_of_request(request).transaction(snapshot=True) as session:
        facts = get_setup_facts(session, campaign.key)
    base = f"/campaigns/{quote(campaign.key, safe='')}"
    way = list_setup_steps(facts, campaign, load_page_messages(choose_request_language(request), WAY))
    shared = {
        "heading": page.name,
        "campaign": campaign,
        "menu": make_menu(campaign.key, caller, facts, current_page_address(request)),
        "here": current_page_address(request),
        "base": base,
        "caller": caller,
        "reads_texts": caller.has_rights_of("manager"),
        "facts": facts,
        "way": way if caller.has_rights_of("manager") else [],
        "next": find_next_step(way),
        "tells_next": caller.has_rights_of("manager") and _tells_next(page, campaign, facts),
        "start": None,
        "absent": [path for path, there in (("/plan", facts.plan), ("/lock", facts.lock)) if not there],
    }
    return render_page(request, page.template, {**shared, **values}, status=status)


def _tells_next(shown: ManagerPageDefinition, about: CampaignInfo, facts: CampaignSetupFacts) -> bool:
    """Return whether a page names the next step: on setup pages of a draft, and if there is nothing to show yet."""
    return (about.state in DRAFT and shown in PAGES_OF_THE_WAY) or _why_not(shown, facts) is not None


def add_pages_without_handlers(router: APIRouter) -> None:
    """Add the pages of the table that need no handler of their own."""
    for shown in PAGES.values():
        if shown.contents is not None:
            router.add_api_route(shown.route_pattern, _handler(shown, shown.contents), methods=["GET"], name=shown.name)


def _handler(shown: ManagerPageDefinition, contents: Contents) -> Callable[..., HTMLResponse]:
    """Return the handler of a page: the campaign, the table's contents, and the module named like the template."""
    script = shown.template.removesuffix(".html")
    module = {"script": script.partition("/")[2]} if (FOLDER / f"{script}.js").exists() else {}
    allowed = Depends(RequiredSessionRole(shown.roles))

    def show(request: Request, campaign: CampaignKey, database: DatabaseDep, caller: Caller = allowed) -> HTMLResponse:
        with database.transaction(snapshot=True) as session:
            about = campaigns.get_campaign(session, campaign)
            values = contents(ManagerPageContext(session, about, caller))
        return render_campaign_page(request, shown, about, caller, {**module, **values})

    return show
