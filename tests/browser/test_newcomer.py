"""What somebody meets who opens a link for the first time: seen by driving the pages as they would."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import word_boxes

UNDER_THE_LINE = """
row => row.getBoundingClientRect().top - document.querySelector(".status").getBoundingClientRect().bottom
"""
FRAMES = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
)


def mark(page: Page, row: Locator, word: int) -> None:
    """Drag over a word, and say how severe and what kind of error it is."""
    start, end = word_boxes(row.locator(".body").last, word)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=3)
    page.mouse.up()
    row.locator("button.severity.is-minor").click()
    for _ in range(2):
        page.locator(".picker-of-categories:visible button").first.click()


def test_the_segment_that_opens_next_does_not_begin_under_the_line_on_top(campaign, rater, page):
    live = campaign(protocol="mqm", segments=6, systems=("sysA",))
    hands = rater(live)
    page.set_viewport_size({"width": 1280, "height": 620})
    for segment in (1, 2, 3, 4):
        mark(page, hands.row(segment), 1)
        hands.row(segment).get_by_role("button", name="Next segment").click()
        page.evaluate(FRAMES)
        expect(page.locator(".row.open")).to_have_attribute("data-segment", str(segment + 1))
        assert page.locator(".row.open").evaluate(UNDER_THE_LINE) >= 0


def test_the_row_of_numbers_above_the_segments_says_that_they_are_documents(campaign, rater, page):
    rater(campaign(protocol="da", documents=1, segments=1, systems=("sysA", "sysB")))
    expect(page.locator(".pager")).to_contain_text("Documents")
    assert page.locator(".pager button").count() == 2
