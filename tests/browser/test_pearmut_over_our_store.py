"""Pearmut's own page, on its own server and on ours: the same clicks are logged alike, and results are the same."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect

from app.pearmut.app import create_pearmut_app
from app.pearmut.files import PearmutFiles, find_pearmut_files
from app.services.access.tokens import THE_OPERATOR
from app.services.pearmut.adding import AddedCampaign, add_pearmut_campaign
from app.services.pearmut.campaign_file import read_campaign_file
from app.storage.db import Database
from app.web.deps import Options
from tests.formats.pearmut.program import PearmutProgram
from tests.pearmut.campaigns import FORM

SCORE = """(slider, value) => {
    slider.value = value;
    for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name, {bubbles: true}));
}"""
SLIDERS = [{"name": "Fluency", "min": 0, "max": 10, "step": 1}, {"name": "Adequacy", "min": 0, "max": 10, "step": 1}]
TEXTS = {"A": "Der Hund bellt\nsehr laut.", "B": "Die Katze schläft 😀 tief."}
CHECK = [{"src": "Check.", "tgt": {"A": "Ja."}, "validation": {"A": {"score": [70, 80]}}}]
TUTORIAL = [{"src": "Try.", "tgt": {"A": "Ja."}, "validation": {"A": {"score": [60, 90], "warning": "Look again."}}}]


def campaign(protocol: str, **info: Any) -> dict[str, Any]:
    """Two documents of two systems after a form and a tutorial, and a check at random."""
    data = [[{"item_id": f"d{n}_#_0", "src": f"Source {n}.", "tgt": TEXTS}] for n in range(2)]
    asked = {"assignment": "task-based", "protocol": protocol, "users": ["ann"], "shuffle": False}
    checks = {"data_random": [CHECK]} if "sliders" not in info else {}
    return {
        "campaign_id": f"by-{protocol}-{len(info)}",
        "token": "0123456789",
        "info": {**asked, **({"data_random_prob": 1.0} if checks else {}), **info},
        "data": [data],
        "data_welcome": [FORM, *([TUTORIAL] if checks else [])],
        **checks,
    }


CAMPAIGNS = [campaign(name) for name in ("cESA", "ESA", "MQM", "DA")] + [campaign("XSTSRP", sliders=SLIDERS)]


def annotate(page: Page, address: str, given: dict[str, Any]) -> None:
    """Fill in the form, then score every output, until the end."""
    page.goto(f"{address}/annotate?campaign_id={given['campaign_id']}&user_id=ann")
    for _ in range(8):
        expect(page.locator("#button_next")).not_to_have_value("Next 📶")
        page.wait_for_function(
            "document.querySelector('#output_div').children.length || "
            "document.querySelector('#button_next').value == 'Finished'"
        )
        if page.locator("#button_next").input_value() == "Finished":
            return
        if page.locator(".form-container").count():
            page.locator(".form-container input[type=text], .form-container textarea").first.fill("German")
            page.locator(".form-container input[type=number]").first.fill("3")
        else:
            judge(page, given["info"]["protocol"])
        with page.expect_response("**/log-response") as answer:
            page.locator("#button_next").click()
        assert answer.value.json() == "ok", answer.value.text()
        page.wait_for_timeout(300)
    raise AssertionError("there is no end")


def judge(page: Page, protocol: str) -> None:
    """Score every output; places of errors are those of `test_pearmuts_page`."""
    for n, slider in enumerate(page.locator("input[type=range]").all()):
        slider.evaluate(SCORE, 75 if protocol != "XSTSRP" else n + 3)


@contextmanager
def our_server(database: Database, files: PearmutFiles) -> Iterator[str]:
    server = uvicorn.Server(
        uvicorn.Config(create_pearmut_app(database, Options(), files), port=0, log_level="warning", lifespan="on")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


def files_of(program: PearmutProgram) -> PearmutFiles:
    (package,) = Path(program.program).parent.parent.glob("lib/python3*/site-packages/pearmut")
    return find_pearmut_files(package)


def log_of(address: str, name: str) -> dict[Any, Any]:
    """What was logged, by place; and the results."""
    token = {"campaign_id": name, "token": "0123456789"}
    lines = httpx.get(f"{address}/download-annotations", params=token, trust_env=False).json()[name]
    results = httpx.post(f"{address}/dashboard-results", json=token, trust_env=False).json()
    return {"results": results, **{line["item_i"]: (line["annotation"], line.get("validations")) for line in lines}}


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(20_000)
    yield page
    context.close()


def add(database: Database, given: dict[str, Any]) -> AddedCampaign:
    with database.transaction() as session:
        file = read_campaign_file(json.loads(json.dumps(given)))
        return add_pearmut_campaign(session, file, by=THE_OPERATOR, actor="test", old_ids=True)


@pytest.mark.soak
@pytest.mark.parametrize("given", CAMPAIGNS, ids=lambda one: one["campaign_id"])
def test_the_same_clicks_are_logged_alike(
    visit: Page, tmp_path: Path, database_url: str, given: dict[str, Any]
) -> None:
    theirs = PearmutProgram(tmp_path / "theirs")
    theirs.write({"c.json": json.dumps(given).encode()})
    theirs.run("add", "c.json")
    with theirs.serving() as address:
        annotate(visit, address, given)
        expected = log_of(address, given["campaign_id"])

    database = Database(database_url, size=8, role="plumbline_app")
    add(database, given)
    with our_server(database, files_of(theirs)) as address:
        annotate(visit, address, given)
        logged = log_of(address, given["campaign_id"])

    assert logged == expected
    assert {0, 1, "welcome_0"} <= logged.keys()
