"""Opening a page begins no job: whatever takes long has a button."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import text

from app import ui
from app.reports import registry
from app.reports.gate import report as gate
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.services.jobs import rankings
from app.storage.db import Database
from app.ui.pages import PageRoute
from tests.ui.conftest import Browser, begin, buttons
from tests.working import drained

# What a parameter of an address can be, beside any of the program's own reports and forms of files.
VALUES = {
    "campaign": ["demo"],
    "kind": sorted({kind.name for kind in registry.ALL.values()}),
    "shape": ["csv", "svg"],
}
# Questions that are in an address, where there is no report without one.
QUESTIONS = {
    "/campaigns/{campaign}/stability": "designs=by+grouping&studies=20&studies_per_document_set=10&permutations=100",
    "/campaigns/{campaign}/gate": "candidate={0}&baseline={1}&claim=better",
    "/campaigns/{campaign}/comparisons/{kind}": "with=twin",
}
JSON = {"Accept": "application/json"}
SHOWN = re.compile(r'(?:src|data-src)="(/v1/[^"]+)"')


def addresses(route: APIRoute, systems: list[str]) -> Iterator[str]:
    """Every address of a page, with and without a question."""
    names = re.findall(r"{(\w+)(?::\w+)?}", route.path)
    for values in itertools.product(*(VALUES.get(name, ["some"]) for name in names)):
        path = route.path
        for name, value in zip(names, values, strict=True):
            path = re.sub(rf"{{{name}(:\w+)?}}", value, path)
        yield path
        if route.path in QUESTIONS:
            yield f"{path}?{QUESTIONS[route.path].format(*systems)}"


@pytest.fixture
def everything_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rankings, gate):
        monkeypatch.setattr(module, "AT_ONCE", 0.0)


def jobs(database: Database) -> list[str]:
    with database.transaction() as session:
        return sorted(session.execute(text("SELECT kind FROM jobs")).scalars())


def test_no_page_begins_a_job_and_each_button_begins_one(
    browser: Browser, sign_in: Any, database: Database, demo: str, everything_takes_long: None
) -> None:
    sign_in("admin")
    with database.transaction() as session:
        campaigns.create_campaign(session, NewCampaign(key="twin", protocol="esa"), actor="test")
    found = browser.get(f"/v1/campaigns/{demo}/systems", headers=JSON).json()["items"]
    systems = [one["key"] for one in found][:2]
    pages = [one for one in ui.router.routes if isinstance(one, PageRoute) and "GET" in (one.methods or ())]
    assert len(pages) > 30
    starts: dict[str, str] = {}
    for address in dict.fromkeys(itertools.chain.from_iterable(addresses(page, systems) for page in pages)):
        answer = browser.get(address)
        assert answer.status_code < 500, address
        assert jobs(database) == [], address
        for shown in SHOWN.findall(answer.text):
            assert browser.get(html.unescape(shown)).status_code < 500, (address, shown)
            assert jobs(database) == [], (address, shown)
        if buttons(answer.text):
            starts[address] = answer.text
    ours = {f"/campaigns/{demo}", f"/campaigns/{demo}/recipes", f"/campaigns/{demo}/print"}
    ours |= {
        f"/campaigns/{demo}/reports/{kind.name}"
        for kind in registry.ALL.values()
        if kind.long and kind.over == "campaign"
    }
    assert ours <= set(starts)
    assert any("/stability?" in address for address in starts)
    assert any("/gate?" in address for address in starts)
    for address, page in starts.items():
        answer = begin(browser, page)
        assert answer.status_code == 202, (address, answer.text)
    for address in (f"/campaigns/{demo}", *(one for one in starts if "/stability?" in one)):
        assert "<progress" in browser.get(address).text
    with database.transaction() as session:  # the ranking alone: the others are tested elsewhere
        session.execute(text("DELETE FROM jobs WHERE kind <> :kind"), {"kind": rankings.KIND})
    drained(database)
    with database.transaction() as session:
        assert session.execute(text("SELECT kind, state, error FROM jobs")).all() == [(rankings.KIND, "done", None)]
    shown = browser.get(f"/campaigns/{demo}").text
    assert "data-start" not in shown
    assert "<progress" not in shown
