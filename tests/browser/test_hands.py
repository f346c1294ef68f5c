"""What types a number tells a page that loses digits from a machine that stood still."""

from __future__ import annotations

import pytest

from tests.browser.hands import TRIES, type_number

# Takes digits as the page does, but for the first time: then the second begins a number of its own.
FORGETS_ONCE = """late => {
    const slider = document.querySelector("input");
    const stamp = Object.getOwnPropertyDescriptor(Event.prototype, "timeStamp").get;
    let digits = 0;
    Object.defineProperty(Event.prototype, "timeStamp", {
        get() { return stamp.call(this) + (digits === 1 ? late : 0); },
    });
    slider.addEventListener("keydown", (event) => {
        event.preventDefault();
        digits += 1;
        slider.value = digits === 2 || digits % 2 ? event.key : slider.value + event.key;
    });
}"""


@pytest.fixture
def slider(page):
    page.set_content('<input type="range" min="0" max="100">')
    return page.locator("input")


def test_a_number_is_typed_again_where_the_machine_stood_still_between_its_digits(slider):
    slider.page.evaluate(FORGETS_ONCE, 1_200)
    type_number(slider, 91)
    assert slider.input_value() == "91"


def test_a_page_that_loses_a_digit_once_is_caught(slider):
    """The negative control."""
    assert TRIES > 1
    slider.page.evaluate(FORGETS_ONCE, -60_000)  # whatever the machine does meanwhile
    with pytest.raises(AssertionError, match=r"91 is typed at .* and the slider is at 1"):
        type_number(slider, 91)
