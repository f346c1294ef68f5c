"""What somebody meets who opens a link for the first time: seen by driving the pages as they would."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import type_number, word_boxes

UNDER_THE_LINE = """
row => row.getBoundingClientRect().top - document.querySelector(".status").getBoundingClientRect().bottom
"""
FRAMES = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
)
# Wait until nothing has moved for several frames, then tell what of a segment's texts cannot be seen, in pixels.
HIDDEN = """row => new Promise((done) => {
  const line = document.querySelector(".status");
  const where = () => row.getBoundingClientRect().top;
  const look = () => done(Math.max(...[...row.querySelectorAll(".body")].map((text) => {
    const { top, bottom } = text.getBoundingClientRect();
    return Math.max(line.getBoundingClientRect().bottom - top, bottom - innerHeight, 0);
  })));
  const wait = (before, still) => requestAnimationFrame(() => {
    const now = where();
    if (still === 10) look();
    else wait(now, now === before ? still + 1 : 0);
  });
  wait(where(), 0);
})"""
SENTENCE = "The river rose for the third day, and the people of the lower town carried what they owned up the hill."


def mark(page: Page, row: Locator, word: int) -> None:
    """Drag over a word, and say how severe and what kind of error it is."""
    mark_only(page, row, word)
    for _ in range(2):
        page.locator(".picker-of-categories:visible button").first.click()


def mark_only(page: Page, row: Locator, word: int) -> None:
    """Drag over a word, and say how severe an error it is."""
    start, end = word_boxes(row.locator(".body").last, word)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=3)
    page.mouse.up()
    row.locator("button.severity.is-minor").click()


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


@pytest.mark.parametrize(
    ("width", "height", "marks"),
    [
        (1280, 720, 3),
        pytest.param(1366, 768, 1, marks=pytest.mark.soak),
        pytest.param(1280, 720, 1, marks=pytest.mark.soak),
        pytest.param(1366, 768, 3, marks=pytest.mark.soak),
    ],
)
def test_the_texts_of_the_segment_that_opens_next_are_on_the_screen(
    width, height, marks, campaign, rater, open_context
):
    context = open_context(viewport={"width": width, "height": height}, reduced_motion="no-preference")
    page = context.new_page()
    texts = [SENTENCE] * 8
    hands = rater(campaign(protocol="esa", systems=("sysA",), outputs=texts, sources=texts), on=page)
    hidden = {}
    for segment in (1, 2, 3):
        row = hands.row(segment)
        for word in range(marks):
            mark_only(page, row, 2 * word + 1)
        type_number(row.locator("input[type=range]"), 50)
        page.keyboard.press("Enter")
        expect(page.locator(".row.open")).to_have_attribute("data-segment", str(segment + 1))
        hidden[segment + 1] = page.locator(".row.open").evaluate(HIDDEN)
    assert not {segment: pixels for segment, pixels in hidden.items() if pixels}


def test_the_row_of_numbers_above_the_segments_says_that_they_are_documents(campaign, rater, page):
    rater(campaign(protocol="da", documents=1, segments=1, systems=("sysA", "sysB")))
    expect(page.locator(".pager")).to_contain_text("Documents")
    assert page.locator(".pager button").count() == 2
