"""The table of the manager's pages: routes, menu, titles, templates and the documents say what it says."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from app import ui
from app.reports import registry
from app.ui.manager import page_table
from app.ui.manager.page_table import ManagerPageDefinition
from app.ui.pages import TEMPLATES

ALL = (*page_table.ABOVE, *page_table.PAGES.values())
ROUTES = [route for route in ui.router.routes if isinstance(route, APIRoute)]
LINK = re.compile(r'<a class="below" href="([^"]+)"(?: aria-current="page")?>([^<]+)</a>')
ENTRY = re.compile(r'<a class="entry" href="([^"]+)"[^>]*><svg.*?</svg>([^<]+)</a>')
NOT_YET = ("Replan",)  # the judged demo has no plan
ALONE = [pages[0] for _, pages in page_table.GROUPS if len(pages) == 1]


def line_of(page: ManagerPageDefinition) -> str:
    """A page's line of the table in the documents."""
    roles = ", ".join(sorted(page.roles, reverse=True))
    return f"| {page.name} | `{page.route_pattern.replace('{campaign}', 'C')}` | {page.purpose} | {roles} |"


def menu_of(page: str) -> str:
    """What stands in the menu of a campaign's page."""
    return page.partition('<details class="sidebar"')[2].partition("</nav>")[0]


def test_the_documents_list_the_pages_as_the_table_does() -> None:
    text = (Path(__file__).parents[2] / "docs/manager-pages.md").read_text(encoding="utf-8")
    lines = text.partition("|---|---|---|---|\n")[2].partition("\n\n")[0].splitlines()
    assert lines == [line_of(page) for page in ALL]


def test_each_page_has_one_route_and_a_template() -> None:
    routes = [route.path for route in ROUTES]
    for page in ALL:
        served = page.route_pattern.replace("/power", "/{kind}")
        assert (page.name, routes.count(served)) == (page.name, 1)
        assert (TEMPLATES / page.template).exists(), page.name


def test_no_page_of_managers_is_missing_in_the_table() -> None:
    below = {f"{page_table.PAGES[name].route_pattern}/{{kind}}" for name in ("Reports", "Comparisons")}
    below |= {
        f"{page_table.PAGES['Raters'].route_pattern}/{{rater}}",
        f"{page_table.PAGES['Jobs'].route_pattern}/{{job}}",
    }
    files = {"/campaigns/{campaign}/stability-report.{shape}"}
    others = {
        route.path for route in ROUTES if not route.path.startswith(("/rate", "/assets", "/archive", "/oidc"))
    } - {"/"}
    assert others == {page.route_pattern for page in ALL if page.path != "/reports/power"} | below | files


def test_a_page_has_one_name_in_address_menu_and_title(sign_in: Any, demo: str) -> None:
    browser = sign_in("admin")
    menu = menu_of(browser.get(f"/campaigns/{demo}/overview").text)
    assert [name for _, name in ENTRY.findall(menu)] == [section for section, _ in page_table.GROUPS]
    shown = [page for page in page_table.PAGES.values() if page not in ALONE and page.name not in NOT_YET]
    assert dict(LINK.findall(menu)) == {page.route_pattern.format(campaign=demo): page.name for page in shown}
    for page in ALL:
        text = browser.get(page.route_pattern.format(campaign=demo)).text
        title = html.unescape(text.partition("<title>")[2].partition("</title>")[0])
        assert title.partition(" · ")[0] == page.name, page.route_pattern
    addresses = {page.name: page.path for page in ALL}
    assert addresses.pop("Ranking") == ""  # the campaign's own page
    of_report = addresses.pop("Study size for a difference")
    assert registry.ALL[of_report.replace("/reports/", "campaign/")].title == "Study size for a difference"
    assert {name: f"/{name.lower().replace(' ', '-')}" for name in addresses} == addresses


@pytest.mark.parametrize("role", ["viewer", "coordinator", "manager"])
def test_the_menu_leads_to_pages_that_open(role: str, sign_in: Any, demo: str) -> None:
    browser = sign_in(role)
    start = f"/campaigns/{demo}"
    menu = menu_of(browser.get(f"{start}/overview").text)
    offered = {address for address, _ in (*LINK.findall(menu), *ENTRY.findall(menu))}
    for page in page_table.PAGES.values():
        opened = browser.get(start + page.path).status_code
        allowed = role == "manager" and page.name in NOT_YET
        assert (page.name, opened) == (page.name, 200 if start + page.path in offered or allowed else 403)
