"""Errors marked in many scripts: the code points that were marked are stored, and drawn again where they were."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import type_number
from tests.browser.test_every_protocol import PREFILL
from tests.browser.texts import SAMPLES, Sample

SIDES = ("source", "target")
BOX = """(body, [start, end]) => {
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  const box = (position) => {
    walker.currentNode = body;
    let before = 0;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const points = [...node.data];
      if (position < before + points.length) {
        const range = document.createRange();
        range.setStart(node, points.slice(0, position - before).join("").length);
        range.setEnd(node, points.slice(0, position - before + 1).join("").length);
        const found = [...range.getClientRects()].find((one) => one.width > 0) ?? range.getBoundingClientRect();
        return [found.left, found.right, found.top + found.height / 2];
      }
      before += points.length;
    }
  };
  return [box(start), box(end - 1)];
}"""


def drag(
    page: Page, body: Locator, start: int, end: int, *, right_to_left: bool = False, from_end: bool = False
) -> None:
    """From the edge where the first character begins to the edge where the last one ends, or from there to here."""
    body.scroll_into_view_if_needed()
    (left, right, y), (left_end, right_end, y_end) = body.evaluate(BOX, [start, end])
    inward = 1.5
    from_x, to_x = (right - inward, left_end + inward) if right_to_left else (left + inward, right_end - inward)
    if from_end:
        from_x, y, to_x, y_end = to_x, y_end, from_x, y
    page.mouse.move(from_x, y)
    page.mouse.down()
    page.mouse.move((from_x + to_x) / 2, y_end, steps=2)
    page.mouse.move(to_x, y_end, steps=3)
    page.mouse.up()


def drawn(body: Locator) -> list[str]:
    """The texts of the marks as they stand on the page."""
    return body.locator("mark.is-minor, mark.is-major").all_inner_texts()


@pytest.fixture
def marking(campaign, rater):
    """A rater at error span annotation of these texts, on both sides."""

    def start(samples: tuple[Sample, ...]):
        texts = [sample.text for sample in samples]
        return rater(campaign(protocol="esa", systems=("sysA",), outputs=texts, sources=texts))

    return start


def judge(hands, n: int) -> None:
    """Score the open segment, so that it is stored."""
    type_number(hands.row(n).locator("input[type=range]"), 50)


def places(n: int, both: bool) -> tuple[int, ...]:
    """In which texts a sample is marked: in both, or in one by turns."""
    return (0, 1) if both else (n % 2,)


@pytest.mark.parametrize(
    ("first", "both"), [(0, False), *(pytest.param(first, True, marks=pytest.mark.soak) for first in (0, 1))]
)
def test_what_is_dragged_over_by_words_from_either_end_is_stored_and_drawn_again(first, both, marking):
    """Of both sides one from its end; which one is so for the first sample, and the others take turns.

    Of one side by turns of its own, so that both sides are dragged over from either end.
    """
    hands = marking(SAMPLES)
    for n, sample in enumerate(SAMPLES, 1):
        row = hands.row(n)
        word = sample.span(sample.word)
        backwards = sample.right_to_left or sample.name == "mixed"
        for at in places(n, both):
            body = row.locator(".body").nth(at)
            from_end = at == (first + n) % 2 if both else n // 2 % 2 == 1
            drag(hands.page, body, *word, right_to_left=backwards, from_end=from_end)
            row.locator("button.severity.is-major").click()
        judge(hands, n)
        row.get_by_role("button", name="Next segment").click()
    hands.saved()

    check_stored_and_drawn_again(hands, [(sample, sample.word, places(n, both)) for n, sample in enumerate(SAMPLES, 1)])


def check_stored_and_drawn_again(hands, marked: list[tuple[Sample, str, tuple[int, ...]]]) -> None:
    """Load the page anew: of each segment its piece is marked where it was, and nothing else."""
    stored = hands.latest()
    for n, (sample, piece, at) in enumerate(marked, 1):
        told = [(error["side"], error["start"], error["end"]) for error in stored[(1, n)]["errors"]]
        assert (sample.name, told) == (sample.name, [(SIDES[one], *sample.span(piece)) for one in at])
    hands.page.reload()
    hands.page.wait_for_selector("mark.is-minor, mark.is-major")
    seen = [[drawn(hands.row(n).locator(".body").nth(at)) for at in (0, 1)] for n in range(1, len(marked) + 1)]
    assert seen == [[[piece] if side in at else [] for side in (0, 1)] for _, piece, at in marked]


OF_SEVERAL = tuple(sample for sample in SAMPLES if len(sample.character) > 1)
"""Samples whose character is of several code points; of one, words are clicked in other tests."""


@pytest.mark.parametrize(
    ("samples", "both"), [(OF_SEVERAL, False), pytest.param(SAMPLES, True, marks=pytest.mark.soak)], ids=["few", "all"]
)
def test_what_is_clicked_by_characters_is_stored_whole_and_drawn_again(samples, both, marking):
    hands = marking(samples)
    for n, sample in enumerate(samples, 1):
        row = hands.row(n)
        row.get_by_role("button", name="Whole words").click()
        for at in places(n + 1, both):
            body = row.locator(".body").nth(at)
            body.scroll_into_view_if_needed()
            start, _ = sample.span(sample.character)
            (left, right, y), _ = body.evaluate(BOX, [start, start + 1])
            hands.page.mouse.click((left + right) / 2, y)
            row.locator("button.severity.is-minor").click()
        judge(hands, n)
        row.get_by_role("button", name="Next segment").click()
    hands.saved()

    check_stored_and_drawn_again(
        hands, [(sample, sample.character, places(n + 1, both)) for n, sample in enumerate(samples, 1)]
    )


def test_arrow_keys_go_as_one_sees_them_and_shift_marks_on(marking):
    hands = marking(SAMPLES[:2] + SAMPLES[4:5])
    keys = hands.page.keyboard
    for n, sample in enumerate(SAMPLES[:2] + SAMPLES[4:5], 1):
        hands.row(n).locator(".body").nth(1).focus()
        on = "ArrowLeft" if sample.right_to_left else "ArrowRight"
        keys.press("Home")
        keys.press(on)
        keys.press(f"Shift+{on}")
        keys.press("2")
        judge(hands, n)
        keys.press("Enter")
    hands.saved()

    for n, sample in enumerate(SAMPLES[:2] + SAMPLES[4:5], 1):
        first, second, third = sample.text.split(" ")[:3]
        (error,) = hands.latest()[(1, n)]["errors"]
        start = len(first) + 1
        end = start + len(second) + 1 + len(third.rstrip("،,"))
        assert (error["start"], error["end"], error["severity"]) == (start, end, "major")


def test_errors_overlap_are_changed_moved_taken_out_and_brought_back(marking):
    hands = marking((Sample("plain", "One two three four five six.", "two", "o"),))
    row, keys = hands.row(1), hands.page.keyboard
    body = row.locator(".body").nth(1)
    sample = "One two three four five six."
    drag(hands.page, body, 0, 13)
    row.locator("button.severity.is-minor").click()
    drag(hands.page, body, sample.index("three"), sample.index("four") + 4)
    row.locator("button.severity.is-major").click()
    assert body.locator("mark.several").inner_text() == "three"

    row.get_by_label("Severity of error 1").select_option("major")
    row.locator("[data-error='1'][data-control='move']").click()
    drag(hands.page, body, sample.index("five"), sample.index("six") + 3)
    row.get_by_label("Remove error 1").click()
    assert drawn(body) == ["five six"]
    keys.press("Control+Z")
    judge(hands, 1)
    hands.saved()

    errors = [(e["start"], e["end"], e["severity"]) for e in hands.latest()[(1, 1)]["errors"]]
    assert errors == [(0, 13, "major"), (19, 27, "major")]


def test_while_a_word_waits_for_its_severity_nobody_can_say_that_there_is_no_error(campaign, rater):
    hands = rater(campaign(protocol="mqm", systems=("sysA",), outputs=["One two three."]))
    row = hands.row(1)
    confirm = row.locator("button.confirm")
    expect(confirm).to_be_enabled()
    drag(hands.page, row.locator(".body").last, 4, 7)
    expect(confirm).to_be_disabled()
    row.get_by_role("button", name="Not an error").click()
    expect(row.locator("mark")).to_have_count(0)
    confirm.click()
    hands.saved()
    assert hands.latest()[(1, 1)]["errors"] == []


def mark_by_keys(hands, n: int, *keys: str) -> None:
    """Mark the first word of a segment, then press these keys: how severe it is, and what."""
    hands.row(n).locator(".body").last.focus()
    for key in ("Home", *keys):
        hands.page.keyboard.press(key)


def test_a_mark_that_is_undone_or_taken_out_says_nothing_about_errors(campaign, rater):
    hands = rater(campaign(protocol="mqm", systems=("sysA",), outputs=["One two three."]))
    row, page = hands.row(1), hands.page
    unsaid = "Still missing: whether there are errors."
    mark_by_keys(hands, 1, "1", "Control+z")
    hands.saved()
    assert hands.stored() == {}
    expect(row.locator(".form .state")).to_have_text(unsaid)

    mark_by_keys(hands, 1, "1", "1", "1")
    hands.saved()
    row.get_by_label("Remove error 1").click()
    expect(row.locator(".form .state")).to_have_text(unsaid)
    page.keyboard.press("Control+z")
    expect(row.locator(".form .state")).to_have_text("saved")
    for _ in range(2):
        page.keyboard.press("Control+z")
    expect(row.locator(".form .state")).to_have_text(unsaid)
    page.reload()
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator(".missing")).to_contain_text("Segment 1: whether there are errors")
    hands.saved()
    assert [len(said["errors"]) for said in hands.stored()[(1, 1)]] == [1]

    row.get_by_role("button", name="There are no errors").click()
    hands.saved()
    assert [len(said["errors"]) for said in hands.stored()[(1, 1)]] == [1, 0]


def test_a_mark_that_is_undone_leaves_what_was_said_before_it(campaign, rater):
    hands = rater(campaign(protocol="mqm", systems=("sysA",), outputs=["One two three."]))
    row = hands.row(1)
    row.get_by_role("button", name="There are no errors").click()
    hands.saved()
    mark_by_keys(hands, 1, "1", "1", "1")
    hands.saved()
    for _ in range(2):
        hands.page.keyboard.press("Control+z")
    hands.saved()
    assert [len(said["errors"]) for said in hands.stored()[(1, 1)]] == [0, 1, 0]

    mark_by_keys(hands, 1, "1", "1", "1")
    hands.saved()
    hands.page.reload()
    row.get_by_role("button", name="Segment 1").click()
    row.get_by_label("Remove error 1").click()
    expect(row.locator(".form .state")).to_have_text("Still missing: whether there are errors.")
    hands.saved()
    assert [len(said["errors"]) for said in hands.stored()[(1, 1)]] == [0, 1, 0, 1]


def test_ready_made_errors_that_an_undo_brings_back_have_to_be_confirmed(campaign, rater):
    live = campaign(protocol="mqm_reannotation", systems=("sysA",), outputs=["One two three."], change=PREFILL)
    hands = rater(live)
    row = hands.row(1)
    row.get_by_label("Remove error 1").click()
    row.get_by_role("button", name="There are no errors").click()
    hands.saved()
    row.get_by_role("button", name="Undo").click()
    expect(row.locator(".form .state")).to_have_text("Still missing: whether there are errors.")
    hands.saved()
    assert [said["deleted"] for said in hands.stored()[(1, 1)]] == [["p1"]]

    row.get_by_role("button", name="1 error, and no more").click()
    hands.saved()
    assert [said["deleted"] for said in hands.stored()[(1, 1)]] == [["p1"], []]


def test_whether_whole_words_are_marked_is_a_switch(marking):
    row = marking(SAMPLES[:1]).row(1)
    switch = row.get_by_role("button", name="Whole words")
    expect(switch).to_have_attribute("aria-pressed", "true")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "false")


def test_signs_that_turn_writing_round_are_shown_by_name_and_counted_as_one(marking):
    text = "safe \u202etxt\u202c end"
    hands = marking((Sample("bidi", text, "end", "e"),))
    body = hands.row(1).locator(".body").nth(1)

    assert body.locator(".sign").all_inner_texts() == ["RLO", "PDF"]
    assert "\u202e" not in body.inner_text()
    box = body.locator(".sign").first.bounding_box()
    hands.row(1).get_by_role("button", name="Whole words").click()
    hands.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    hands.row(1).locator("button.severity.is-minor").click()
    judge(hands, 1)
    hands.saved()

    (error,) = hands.latest()[(1, 1)]["errors"]
    assert (error["start"], error["end"]) == (5, 6)


def test_a_finger_taps_the_first_word_and_the_last(campaign, rater, open_context):
    context = open_context(has_touch=True, is_mobile=True, viewport={"width": 360, "height": 740})
    live = campaign(protocol="esa", systems=("sysA",), outputs=["One two three four five."])
    hands = rater(live, on=context.new_page())
    row = hands.row(1)
    body = row.locator(".body").nth(1)
    for start, end in ((4, 7), (14, 18)):
        body.scroll_into_view_if_needed()
        (left, right, y), _ = body.evaluate(BOX, [start, end])
        hands.page.touchscreen.tap((left + right) / 2, y)
    row.locator("button.severity.is-minor").tap()
    row.get_by_role("button", name="Something is missing").tap()
    row.locator("button.severity.is-major").tap()
    judge(hands, 1)
    hands.saved()

    errors = hands.latest()[(1, 1)]["errors"]
    assert [(e["start"], e["end"], e["omission"]) for e in errors] == [(4, 18, False), (None, None, True)]
