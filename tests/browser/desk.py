"""A manager, coordinator or viewer at their pages."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page, expect

from app.services.access import tokens
from tests.browser.axe import violations
from tests.browser.edges import beyond
from tests.spine import Spine


@dataclass
class Desk:
    """Somebody signed in by a link."""

    page: Page
    url: str

    def open(self, path: str) -> None:
        """Open a page and wait until what it reads is there."""
        self.page.goto(self.url + path)
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)


def sign_in(page: Page, url: str, spine: Spine, role: tokens.Role, **bound: str) -> Desk:
    """Open the link of a new token of a role."""
    with spine.database.transaction() as session:
        secret = tokens.issue_token(session, role=role, **bound).secret
    page.goto(f"{url}/#token={secret}")
    page.wait_for_url(f"{url}/campaigns")
    return Desk(page, url)


def glance(page: Page, what: str) -> None:
    """Fail naming every violation on a phone in the dark; for pages of a shape that is checked in full elsewhere."""
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme="dark")
    told = [(one["id"], [node["target"] for node in one["nodes"][:3]]) for one in violations(page)]
    assert (what, told) == (what, []), (what, told)
    assert (what, beyond(page)) == (what, [])
