"""axe-core finds no violation on any page of a rater, on a phone and on a desk, in light and dark."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal
from zlib import crc32

import httpx
import pytest
from playwright.sync_api import Page, ViewportSize, expect

from app import protocols
from app.services.people import guidelines
from tests.browser.axe import OF_COLOURS, violations
from tests.browser.edges import beyond
from tests.browser.hands import type_number, word_boxes
from tests.browser.rater import Rater
from tests.load.test_blind_sessions import options_for

ColorScheme = Literal["dark", "light"]
Look = tuple[ViewportSize, ColorScheme]
PHONE: Look = ({"width": 360, "height": 740}, "dark")
DESK: Look = ({"width": 1440, "height": 900}, "light")
LOOKS = (PHONE, DESK)
EVERY_LOOK = "EVERY_LOOK"  # variable of the environment with which everything is looked at in both, as in the soak
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
GUIDE = f"# How\n\nRead *all* of it.\n\n{TABLE}\n\n- one\n- [two](https://example.org/)\n\n> so\n\n`x`"
TEST = {
    "items": [
        {
            "source": "The dog barked.",
            "text": "Der Hund bellte nicht.",
            "question": "What is wrong?",
            "choices": ["nothing", "meaning"],
            "choice": "meaning",
            "reasons": {"en": "It says the opposite."},
        },
        {
            "source": "The dog barked.",
            "text": "Der Hund bellte.",
            "payload": {"protocol": "esa", "errors": [], "score": 95},
            "tolerance": {"score": 10},
            "reasons": {"en": "Nothing is wrong."},
        },
    ],
    "pass_mark": 1.0,
    "attempts": 2,
}


def in_turn(what: str) -> Sequence[Look]:
    """The look that a page is checked in, which depends on its name alone; both where they are asked for."""
    return LOOKS if os.environ.get(EVERY_LOOK) else (LOOKS[crc32(what.encode()) % len(LOOKS)],)


def check(page: Page, what: str, looks: Sequence[Look] = (), *, colours: bool = True) -> None:
    """Fail naming every violation in these looks, or else in turn, and what of the page lies beyond the screen's edge.

    Where it is in turn, the edge is checked in both looks, and all else in one; the soak checks all in both.

    colours: whether contrasts are, too; not where the page is checked in another language, but for the soak.
    """
    but = () if colours or os.environ.get(EVERY_LOOK) else OF_COLOURS
    whole = looks or in_turn(what)
    for size, scheme in looks or LOOKS:
        if page.viewport_size != size:
            page.set_viewport_size(size)
        assert (what, scheme, beyond(page)) == (what, scheme, [])
        if (size, scheme) in whole:
            page.emulate_media(color_scheme=scheme)
            told = [
                (one["id"], [(node["target"], node["failureSummary"]) for node in one["nodes"][:3]])
                for one in violations(page, but=but)
            ]
            assert (what, scheme, told) == (what, scheme, [])


def check_both(page: Page, what: str) -> None:
    """The same in either look: for the task, on which raters work."""
    check(page, what, LOOKS)


def test_control_what_is_wrong_with_a_page_is_found_on_every_one(page):
    for name in ("first.svg", "second.svg"):
        page.goto("about:blank")
        page.set_content(f'<html lang="en"><title>x</title><main><h1>x</h1><img src="data:,{name}"></main></html>')
        assert [one["id"] for one in violations(page)] == ["image-alt"]
        page.locator("img").evaluate("image => (image.alt = 'x')")
        assert violations(page) == []
        page.locator("h1").evaluate("heading => { heading.textContent = 'Heading'; heading.style.color = '#eee'; }")
        assert [one["id"] for one in violations(page)] == ["color-contrast"]
        assert violations(page, but=OF_COLOURS) == []


def test_control_what_lies_beyond_the_edge_is_named_but_not_what_scrolls_within_it(page):
    wide = '<p id="wide" style="width: 5000px">x</p>'
    page.set_content(f"<body style='margin: 0'><div style='overflow-x: auto'>{wide}</div></body>")
    assert beyond(page) == []
    page.set_content(f"<body style='margin: 0'>{wide}</body>")
    assert beyond(page) == ["the page is 5000 wide, the screen 1280", "p#wide. to 5000: x"]


def mark(hands: Rater, n: int) -> None:
    """Drag over a word of the first output."""
    start, end = word_boxes(hands.row(1).locator(".body").last, n)
    hands.page.mouse.move(*start)
    hands.page.mouse.down()
    hands.page.mouse.move(*end, steps=3)
    hands.page.mouse.up()


def test_the_way_to_the_first_task(page, campaign, rater, served, spine):
    live = campaign(protocol="esa", segments=2)
    with spine.database.transaction() as session:
        for kind in ("guidelines", "consent"):
            guidelines.put_guidelines(session, live.key, kind, {"en": GUIDE}, actor="test")
    manager = {"Authorization": f"Bearer {served.secret}"}
    answer = httpx.put(f"{served.url}/v1/campaigns/{live.key}/qualification", json=TEST, headers=manager, timeout=60)
    assert answer.status_code == 200
    page.goto(served.url)
    check(page, "landing")
    rater(live, on=page)
    check(page, "consent")
    page.get_by_role("button", name="I agree").click()
    page.wait_for_url("**/rate/test")
    page.locator(".question").nth(1).wait_for()
    check(page, "test")
    page.get_by_role("button", name="Hand in the test").click()
    expect(page.locator(".said")).to_contain_text("Question 1 has no answer yet")
    page.get_by_label("meaning").check()
    type_number(page.locator(".question input[type=range]"), 91)
    page.get_by_role("button", name="Hand in the test").click()
    expect(page.locator(".verdict.right")).to_have_count(2)
    check(page, "test passed")
    page.goto(f"{served.url}/rate/guidelines")
    page.locator("#practice .row").wait_for()
    page.get_by_role("button", name="Show how it was judged").click()
    check(page, "guidelines")


@pytest.mark.parametrize(
    ("name", "columns", "presentation"),
    [
        pytest.param("esa", 1, "document", marks=pytest.mark.soak),
        ("mqm", 2, "document"),
        ("rating", 1, "segment"),
    ],
)
def test_a_task(name, columns, presentation, page, campaign, rater):
    live = campaign(protocol=name, options=options_for(name), segments=2, columns=columns, presentation=presentation)
    hands = rater(live, on=page)
    check_both(page, f"{name} task")
    if any(widget.kind == "spans" for widget in protocols.get_protocol(name).form):
        mark(hands, 2)
        check_both(page, f"{name} marked")
        hands.row(1).locator("button.severity.is-major").last.click()
        check_both(page, f"{name} with an error")
    if presentation == "document":
        page.get_by_role("button", name="Hand in").click()
        expect(page.locator(".missing")).to_contain_text("Why can’t I hand in?")
        check_both(page, f"{name} missing")


DIALOGS: dict[str, Callable[[Page], None]] = {
    "help": lambda page: page.get_by_role("button", name="Keys").click(),
    "flag": lambda page: page.get_by_role("button", name="Report a problem").click(),
}


def test_dialogs_hours_and_codes(page, campaign, rater, served):
    live = campaign(protocol="da", segments=1, systems=("sysA",))
    hands = rater(live, on=page)
    for name, show in DIALOGS.items():
        show(page)
        check(page, name)
        page.keyboard.press("Escape")
    type_number(page.locator("input[type=range]"), 50)
    hands.hand_in()
    check(page, "handed in")
    for path in ("hours", "codes"):
        page.goto(f"{served.url}/rate/{path}")
        page.locator("#content > *").first.wait_for()
        check(page, path)
