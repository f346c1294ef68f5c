"""Waiting for what a page does, no longer than it takes."""

from __future__ import annotations

from playwright.sync_api import Page, Request

EACH = 40  # milliseconds between two looks; the library's own lie as far apart as half a second and a second
QUIET_LOOKS = 4
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

SEEN = "(what) => [...document.querySelectorAll(what)].some((one) => one.checkVisibility())"


def wait_until(page: Page, holds: str) -> None:
    """Wait until a function in the page says yes."""
    page.wait_for_function(holds, polling=EACH)


def wait_to_see(page: Page, selector: str) -> None:
    """Wait until something of the kind is seen."""
    page.wait_for_function(SEEN, arg=selector, polling=EACH)


class Traffic:
    """What a page has asked for and not got yet, from now on."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.under_way: set[Request] = set()
        page.on("request", self._begun)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._ended)

    def _begun(self, request: Request) -> None:
        if request.resource_type != "eventsource":  # which goes on as long as the page
            self.under_way.add(request)

    def _ended(self, request: Request) -> None:
        self.under_way.discard(request)

    def settle(self) -> None:
        """Wait until several looks in a row, frames apart, find nothing under way."""
        quiet = 0
        while quiet < QUIET_LOOKS:
            self.page.evaluate(FRAMES)
            quiet = 0 if self.under_way else quiet + 1
