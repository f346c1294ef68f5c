"""Browsers on Pearmut's pages and the service are killed in between: what was sent is kept, once, and work goes on."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from app.services.access.tokens import THE_OPERATOR
from app.services.pearmut.campaign_file import parse_campaign_file
from app.services.pearmut.loading import add_pearmut_campaign
from app.storage.db import Database
from tests.browser.conftest import ARGUMENTS, CHROMIUM, PATIENCE, STARTS_WITHIN
from tests.browser.pearmut_hands import PearmutHands, page_address, pearmut_campaign
from tests.browser.test_nothing_is_lost import process
from tests.formats.pearmut.program import PearmutProgram
from tests.pearmut.campaigns import judged_once

CAMPAIGN = pearmut_campaign("ESA", documents=3, users=("ann", "bob"))
NAME = CAMPAIGN["campaign_id"]


class KillableBrowser:
    """A browser of its own, which can be killed with all of its processes. sent: annotations by place."""

    def __init__(self, chromium: Browser, user: str, address: str) -> None:
        before = {one.pid for one in psutil.Process().children(recursive=True)}
        self._browser = chromium.browser_type.launch(
            executable_path=str(CHROMIUM), args=ARGUMENTS, timeout=STARTS_WITHIN
        )
        self._processes = [one for one in psutil.Process().children(recursive=True) if one.pid not in before]
        self.page: Page = self._browser.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(page_address(address, NAME, user))
        self.hands = PearmutHands(self.page, "ESA")
        self.sent: dict[str, Any] = {}
        self.page.on("request", self._note)

    def _note(self, request: Request) -> None:
        if request.url.endswith("/log-response"):
            body = json.loads(request.post_data or "")
            self.sent[str(body["item_i"])] = body["payload"]["annotation"]

    def kill(self) -> None:
        """End it as a power cut does."""
        for one in self._processes:
            if one.is_running():
                os.kill(one.pid, signal.SIGKILL)
        psutil.wait_procs(self._processes, timeout=20)


@contextmanager
def browser(chromium: Browser, user: str, address: str) -> Iterator[KillableBrowser]:
    """A browser on a user's page; at the end it is gone."""
    opened = KillableBrowser(chromium, user, address)
    try:
        yield opened
    finally:
        opened.kill()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.mark.soak
def test_two_browsers_and_the_service_are_killed_and_nothing_is_lost_or_kept_twice(
    chromium: Browser, database_url: str, postgres: object, tmp_path: Path
) -> None:
    with closing(Database(database_url, size=2, role="plumbline_app")) as database, database.transaction() as session:
        given = parse_campaign_file(json.loads(json.dumps(CAMPAIGN)))
        key = add_pearmut_campaign(session, given, by=THE_OPERATOR, actor="test", old_ids=True).key
    port, package = free_port(), PearmutProgram(tmp_path / "theirs").package
    settings = {"PLUMBLINE_PEARMUT_PORT": str(port), "PLUMBLINE_PEARMUT_FILES": str(package)}
    address = f"http://127.0.0.1:{port}"
    sent: dict[str, dict[str, Any]] = {"ann": {}, "bob": {}}
    with process(database_url, tmp_path, postgres, **settings) as run:
        with browser(chromium, "ann", address) as ann, browser(chromium, "bob", address) as bob:
            assert (ann.hands.finish(3), bob.hands.finish(3)) == (3, 3)
            assert ann.hands.shown()
            ann.hands.answer()  # and her browser is killed before she hands it in
            bob.page.route("**/log-response", lambda route: _kill_when_it_has_arrived(route, bob))
            assert bob.hands.shown()
            bob.hands.answer()
            bob.hands.settle()
            bob.page.locator("#button_next").click()
            bob.page.wait_for_event("close")
            sent["ann"] |= ann.sent
            sent["bob"] |= bob.sent
        with browser(chromium, "ann", address) as ann, browser(chromium, "bob", address) as bob:
            assert ann.hands.finish(1) == bob.hands.finish(1) == 1
            assert bob.hands.shown()
            bob.hands.answer()
            bob.hands.settle()
            run.stop(signal.SIGKILL)
            bob.page.locator("#button_next").click()
            expect(bob.page.locator("#button_next")).to_have_value("Next 📶")
            run.start()
            bob.hands.finish()
            ann.hands.finish()
            sent["ann"] |= ann.sent
            sent["bob"] |= bob.sent
        token = {"campaign_id": NAME, "token": CAMPAIGN["token"]}
        lines = httpx.get(f"{address}/download-annotations", params=token, trust_env=False).json()[NAME]

    kept = Counter((line["user_id"], str(line["item_i"])) for line in lines)
    places = {"welcome_0", "welcome_1", "random_0", "goodbye_0", "0", "1", "2"}
    assert kept == Counter((user, place) for user in ("ann", "bob") for place in places)
    wanted = {(user, place): _by_model(annotation) for user, one in sent.items() for place, annotation in one.items()}
    assert {(line["user_id"], str(line["item_i"])): line["annotation"] for line in lines} == wanted
    with closing(Database(database_url, size=2, role="plumbline_app")) as database:
        assert judged_once(database, key) == 2 * 3 * 2 * 2  # users, documents, items, systems


def _kill_when_it_has_arrived(route: Route, of: KillableBrowser) -> None:
    """Let a request through and kill its browser before it hears of the answer."""
    assert route.fetch().json() == "ok"
    of.kill()


def _by_model(annotation: list[Any]) -> list[Any]:
    """By the names of the file; the page knows `s1` and `s2`."""
    names = {"s1": "A", "s2": "B"}
    return [
        {names[model]: one for model, one in item.items()} if isinstance(item, dict) else item for item in annotation
    ]
