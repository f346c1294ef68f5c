"""A manager, coordinator or viewer at their pages."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page

from app.services.access import tokens
from tests.browser.axe import violations
from tests.browser.edges import beyond
from tests.browser.traffic import wait_until
from tests.spine import Spine

STANDS = "() => !document.querySelector('[aria-busy=true]')"


@dataclass
class Desk:
    """Somebody who is signed in."""

    page: Page
    url: str

    def open(self, path: str) -> None:
        """Open a page and wait until what it reads is there."""
        self.page.goto(self.url + path)
        wait_until(self.page, STANDS)


def status(page: Page, address: str) -> int:
    """What the server says of a page to whoever is signed in here, without showing it."""
    return page.context.request.get(address, headers={"Accept": "text/html"}).status


def enter(page: Page, url: str, spine: Spine, role: tokens.Role, **bound: str) -> Desk:
    """Open the link of a new token of a role, which leads to the list of campaigns."""
    page.goto(f"{url}/#token={_issue(spine, role, bound)}")
    page.wait_for_url(f"{url}/campaigns")
    return Desk(page, url)


def sign_in(page: Page, url: str, spine: Spine, role: tokens.Role, **bound: str) -> Desk:
    """The same without a page, for half a second less: the list has every campaign that tests have made."""
    return enter_with(page, url, _issue(spine, role, bound))


def enter_with(page: Page, url: str, token: str) -> Desk:
    """Sign in with a token that there is."""
    assert page.context.request.post(f"{url}/v1/session", data={"token": token}).ok
    return Desk(page, url)


def _issue(spine: Spine, role: tokens.Role, bound: dict[str, str]) -> str:
    with spine.database.transaction() as session:
        return tokens.issue_token(session, role=role, **bound).secret


def heard_errors(page: Page) -> list[str]:
    """What the console calls an error from now on: requests that fail, too."""
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    return faults


def glance(page: Page, what: str) -> None:
    """Fail naming every violation on a phone in the dark; for pages of a shape that is checked in full elsewhere."""
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme="dark")
    wrong = violations(page)
    told = [(one["id"], [node["target"] for node in one["nodes"][:3]]) for one in wrong]
    assert (what, told) == (what, []), (what, told)
    assert (what, beyond(page)) == (what, [])
