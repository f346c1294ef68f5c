"""What is pictured: pages of the demo in certain looks, and reports as they are drawn for a wiki."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from playwright.sync_api import Locator, Page, expect

LONG: Final = 120_000  # milliseconds: a job that a worker computes
CAMPAIGN: Final = "/campaigns/demo"
Scheme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Look:
    """A screen. width, height: in pixels."""

    width: int
    height: int
    scheme: Scheme


WIDE, WIDE_DARK = Look(1440, 900, "light"), Look(1440, 900, "dark")
PHONE, PHONE_DARK = Look(360, 740, "light"), Look(360, 740, "dark")
LOOKS: Final = (WIDE, WIDE_DARK, PHONE, PHONE_DARK)


def _settled(page: Page) -> None:
    """Nothing is left to be done."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A page of the demo. looks: those that the documents show. ready: what is done on it before it is pictured.

    top: what is scrolled to the upper edge; empty for the page's own. hidden: what depends on the clock, as selectors.
    """

    name: str
    address: str
    looks: tuple[Look, ...]
    who: Literal["manager", "rater"] = "manager"
    ready: Callable[[Page], None] = _settled
    top: str = ""
    hidden: tuple[str, ...] = ()

    def file(self, look: Look) -> str:
        """Name of its file."""
        return f"{self.name}-{look.width}-{look.scheme}.png"


def _judging(page: Page) -> None:
    """The first segment is judged, in the second something is marked and waits for its severity."""
    expect(page.locator(".row.open, #begin").first).to_be_visible()
    if page.locator("#begin").count():
        page.locator("#begin").click()
    first, second = (page.locator(f".row[data-segment='{n}']") for n in (1, 2))
    expect(page.locator(".row.open")).to_have_count(1)
    if "is-done" not in (first.get_attribute("class") or ""):
        _mark(page, first, word=2)
        first.locator("button.severity.is-major").click()
        for _ in range(2):
            first.locator(".picker-of-categories button").first.click()
        first.get_by_role("button", name="Next segment").click()
    expect(second).to_have_class(re.compile(r"\bopen\b"))
    _mark(page, second, word=3)
    expect(page.locator(".save")).to_have_attribute("data-state", "saved")
    page.evaluate("scrollTo(0, 0)")


def _mark(page: Page, row: Locator, *, word: int) -> None:
    """Mark two words of the output, by keys."""
    row.locator(".body").last.focus()
    for _ in range(word):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")


def _previewing(page: Page) -> None:
    """The dialog of an exclusion, after a look at what it would do."""
    page.get_by_role("button", name="Exclude rater-5").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("To see what it would do.")
    dialog.get_by_role("button", name="Preview the effect").click()
    expect(dialog.get_by_role("region", name="Ranking before and after")).to_be_visible(timeout=LONG)


def _drawn(page: Page) -> None:
    """Judgments with their errors."""
    expect(page.locator("#items .judged").first).to_be_visible()


PAGES: Final = (
    Shot("ranking", CAMPAIGN, LOOKS),
    Shot("plan", f"{CAMPAIGN}/design", (WIDE,), top="#plan"),
    Shot("exclusion", f"{CAMPAIGN}/quality", (WIDE,), ready=_previewing, hidden=("#quality",)),
    Shot("items", f"{CAMPAIGN}/items?document=support-01&system=Eibe", (WIDE_DARK,), ready=_drawn),
    Shot("gate", f"{CAMPAIGN}/gate?candidate=Linde&baseline=Ulme&claim=better", (PHONE_DARK,), top=".chart"),
    # The last: what the rater does changes what the manager sees.
    Shot("task", "/rate", LOOKS, who="rater", ready=_judging, hidden=(".time",)),
)
DRAWN: Final = {
    "demo-ranking.svg": ("rank", "demo", "--svg"),
    "demo-stability.svg": (
        *("stability", "demo", "--grouping", "psxs", "--grouping", "none", "--documents", "6,7,8"),
        *("--studies-per-document-set", "1", "--pairs", "all", "--svg"),
    ),
}


MEASURED = {"calibration.svg"}
"""Pictures that benchmarks make, which take long."""


def files() -> set[str]:
    """Names of all pictures of the documents."""
    return {shot.file(look) for shot in PAGES for look in shot.looks} | set(DRAWN) | MEASURED
