"""Words of the source that are aligned with the word under the pointer or at the caret."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import word_boxes
from tests.browser.rater import Rater

SOURCES = ["The old dog barked 🐕 all night.", "Nobody slept."]
TEXTS = ["Die ganze Nacht bellte der alte Hund 🐕.", "Niemand schlief."]
LINKS = "0-4 1-5 2-6 3-3 4-7 5-1 6-2 6-3"
GIVE = (
    "UPDATE outputs SET alignment = '" + LINKS + "' WHERE campaign_id = %(id)s AND segment_id IN "
    "(SELECT id FROM segments WHERE campaign_id = %(id)s AND position = 1)"
)
ALIGNED = "mark.aligned"


@pytest.fixture
def at(campaign, rater):
    """A rater at two segments, of which the first is aligned."""

    def arrive(protocol: str, **how: Any) -> Rater:
        live = campaign(protocol=protocol, outputs=TEXTS, sources=SOURCES, systems=("sysA",), change=(GIVE,), **how)
        return rater(live)

    return arrive


def point(page: Page, hands: Rater, segment: int, word: int) -> None:
    """Put the pointer on a word of the text."""
    (x, y), _ = word_boxes(hands.row(segment).locator(".body").last, word)
    page.mouse.move(x + 2, y)


def test_the_pointer_on_a_word_shows_its_source_words_and_marking_stays_right(at):
    hands = at("esa")
    page, row = hands.page, hands.row(1)
    for word, source in ((6, ["dog"]), (3, ["barked", "night."]), (7, ["🐕"]), (0, [])):
        point(page, hands, 1, word)
        expect(row.locator(".cell").first.locator(ALIGNED)).to_have_text(source)
        assert row.locator(".cell").last.locator(ALIGNED).count() == 0
    point(page, hands, 1, 6)
    page.mouse.move(5, 5)
    expect(row.locator(ALIGNED)).to_have_count(0)
    point(page, hands, 2, 0)
    expect(page.locator(ALIGNED)).to_have_count(0)

    (x, y), end = word_boxes(row.locator(".body").last, 6)
    page.mouse.move(x + 2, y)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    row.locator("button.severity.is-minor").click()
    page.keyboard.press("n")
    page.keyboard.type("70")
    hands.saved()
    (error,) = hands.latest()[(1, 1)]["errors"]
    assert TEXTS[0][error["start"] : error["end"]] == "Hund"
    assert row.locator(".body").first.inner_text() == SOURCES[0]


@pytest.mark.parametrize("protocol", ["esa", "da"])
def test_the_caret_on_a_word_shows_and_says_its_source_words(at, protocol):
    hands = at(protocol)
    page, row = hands.page, hands.row(1)
    row.locator(".body").last.focus()
    for key, source in (("Home", []), ("ArrowRight", ["all"]), ("ArrowRight", ["night."]), ("End", None)):
        page.keyboard.press(key)
        if source is not None:
            expect(row.locator(ALIGNED)).to_have_text(source)
            if source:
                expect(page.locator("[aria-live]", has_text=f"in the source: {source[0]}")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(row.locator(ALIGNED)).to_have_count(0)
    assert row.locator(".body").last.inner_text() == TEXTS[0]


def test_without_an_alignment_a_text_that_is_only_scored_takes_no_focus(at):
    hands = at("da")
    hands.row(2).click()
    bodies = [hands.row(n).locator(".body").last for n in (1, 2)]
    assert [body.evaluate("body => body.tabIndex") for body in bodies] == [0, -1]
