"""A rater at the page: what they see and do, and what the database holds of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser.traffic import wait_to_see, wait_until
from tests.collecting import Collecting
from tests.spine import Spine

STORED = """
SELECT i.position, g.position, j.revision, j.payload FROM judgments j JOIN items i ON i.id = j.item_id
LEFT JOIN segments g ON g.id = j.segment_id WHERE j.campaign_id = {0} ORDER BY 1, 2 NULLS LAST, 3
"""
SAVED = "() => document.querySelector('.save')?.dataset.state === 'saved'"


@dataclass
class Rater:
    """A rater in front of a page."""

    page: Page
    url: str
    live: Collecting
    spine: Spine

    def enter(self, secret: str) -> None:
        """Open the link that they were given."""
        self.page.goto(f"{self.url}/#token={secret}")
        self.page.wait_for_url(f"{self.url}/rate*")
        self.arrive()

    def sign_in(self, secret: str) -> None:
        """The same without the landing page, which has tests of its own."""
        assert self.page.context.request.post(f"{self.url}/v1/session", data={"token": secret}).ok
        self.page.goto(f"{self.url}/rate")
        self.arrive()

    def arrive(self) -> None:
        """Past the guidelines, to whatever comes first; loaded, for a form that stands there has no script before."""
        wait_to_see(self.page, "#work .row, #work .big, #agree, #asked dl")
        self.page.wait_for_load_state()
        if self.page.url.endswith("/guidelines"):
            self.page.get_by_role("link", name="Go to the task").click()
            wait_to_see(self.page, "#work .row")

    def row(self, segment: int) -> Locator:
        """A segment of the screen."""
        return self.page.locator(f".row[data-segment='{segment}']")

    def slide(self, within: Locator, value: int) -> None:
        """Put a slider to a value with the mouse, as near as a pixel allows, and the rest by arrow keys."""
        slider = within.locator("input[type=range]").first
        box = slider.bounding_box()
        assert box is not None
        thumb = 16
        x = thumb / 2 + (box["width"] - thumb) * value / 100
        slider.click(position={"x": x, "y": box["height"] / 2})
        now = int(float(slider.input_value()))
        for _ in range(abs(value - now)):
            slider.press("ArrowRight" if value > now else "ArrowLeft")

    def saved(self) -> None:
        """Wait until everything is on disk."""
        wait_until(self.page, SAVED)

    def hand_in(self) -> str:
        """Hand in, and read the completion code."""
        self.page.get_by_role("button", name="Hand in").click()
        wait_to_see(self.page, ".code code")
        return self.page.locator(".code code").inner_text()

    def stored(self) -> dict[tuple[int, int | None], list[dict[str, Any]]]:
        """Payloads by item and segment, in the order of their revisions."""
        found: dict[tuple[int, int | None], list[dict[str, Any]]] = {}
        for item, segment, _, payload in self.spine.ask(STORED.format(self.live.id)):
            found.setdefault((item, segment), []).append(payload)
        return found

    def latest(self) -> dict[tuple[int, int | None], dict[str, Any]]:
        """The latest payload at each address."""
        return {place: said[-1] for place, said in self.stored().items()}

    def comparisons(self) -> list[dict[str, Any]]:
        """What was said of columns together, the latest of each screen, without the protocol."""
        found = self.spine.ask(
            f"""SELECT DISTINCT ON (task_id, screen) payload FROM screen_judgments WHERE campaign_id = {self.live.id}
                ORDER BY task_id, screen, revision DESC"""
        )
        return [{key: value for key, value in payload.items() if key != "protocol"} for (payload,) in found]
