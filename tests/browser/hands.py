"""Two pairs of hands that answer any form: one with the mouse, one that never touches it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from playwright.sync_api import Locator, Page

from app.protocols.base import Widget

MARKED = 2  # the word that is marked, counted from 0
MOST_TABS = 150
MOST_STEPS = 20
FOCUSED = "element => element === document.activeElement"
TYPING = 1_200  # milliseconds after which a digit begins a number of its own (widget_slider.js)
APART = TYPING + 100
TRIES = 5
TYPED_AT = """slider => {
    slider.focus();
    const at = [];
    const note = (event) => at.push(event.timeStamp);
    addEventListener("keydown", note, true);
    return { end: () => { removeEventListener("keydown", note, true); return [at, Number(slider.value)]; } };
}"""


def type_number(slider: Locator, value: int) -> None:
    """Focus a slider and type a number; once more only where the machine stood still between two of its digits."""
    for _ in range(TRIES):
        typed = slider.evaluate_handle(TYPED_AT)
        slider.page.keyboard.type(str(value))
        at, now = typed.evaluate("typed => typed.end()")
        if now == value:
            return
        assert any(b - a >= TYPING for a, b in pairwise(at)), f"{value} is typed at {at}, and the slider is at {now}"
        slider.page.wait_for_timeout(APART)
    raise AssertionError(f"{value} is typed, and the machine stood still each time")


@dataclass
class Mouse:
    """Clicks, drags and types what can only be typed."""

    page: Page

    def press(self, button: Locator) -> None:
        """Press a button."""
        button.click()

    def slide(self, slider: Locator, value: int) -> None:
        """As near as a pixel allows; the rest by arrow keys."""
        box = slider.bounding_box()
        assert box is not None
        low, high = (float(slider.get_attribute(name) or 0) for name in ("min", "max"))
        thumb = 16
        x = thumb / 2 + (box["width"] - thumb) * (value - low) / (high - low)
        slider.click(position={"x": x, "y": box["height"] / 2})
        for _ in range(MOST_STEPS):
            now = float(slider.input_value())
            if now == value:
                return
            slider.press("ArrowRight" if value > now else "ArrowLeft")
        raise AssertionError(f"the slider does not come to {value}")

    def choose(self, point: Locator) -> None:
        """One point of several."""
        point.locator("xpath=..").click()

    def count(self, within: Locator, value: int) -> None:
        """By the buttons beside the box."""
        for _ in range(max(value, 1)):
            within.get_by_role("button", name="One more").click()
        for _ in range(1 - min(value, 1)):
            within.get_by_role("button", name="One less").click()

    def write(self, area: Locator, text: str) -> None:
        """Instead of what stands there."""
        area.click()
        area.fill(text)

    def select(self, box: Locator, value: str) -> None:
        """One of a list."""
        box.select_option(value)

    def mark(self, body: Locator, severity: Locator, category: tuple[str, ...], *, word: int = MARKED) -> None:
        """Drag over a word, then say what it is."""
        start, end = word_boxes(body, word)
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=4)
        self.page.mouse.up()
        severity.click()
        picker = self.page.locator(".picker-of-categories:visible")
        for name in category:
            picker.get_by_role("button", name=name).first.click()


@dataclass
class Keyboard:
    """Goes by Tab only, and uses keys only."""

    page: Page

    def reach(self, wanted: Locator, holds: str = FOCUSED) -> None:
        """Tab until it has the focus; from the top again where it lies behind."""
        element = wanted.element_handle()
        for _ in range(MOST_TABS):
            if element.evaluate(holds):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {wanted}")

    def press(self, button: Locator) -> None:
        self.reach(button)
        self.page.keyboard.press("Enter")

    def slide(self, slider: Locator, value: int) -> None:
        self.reach(slider)
        type_number(slider, value)

    def choose(self, point: Locator) -> None:
        """Into the group by Tab, then the number of the point."""
        self.reach(point.locator("xpath=ancestor::fieldset"), "group => group.contains(document.activeElement)")
        if point.get_attribute("type") == "checkbox":
            self.reach(point)
            self.page.keyboard.press("Space")
        else:
            self.page.keyboard.press(str(point.get_attribute("value")))

    def count(self, within: Locator, value: int) -> None:
        self.reach(within.locator("input"))
        self.page.keyboard.type(str(value))

    def write(self, area: Locator, text: str) -> None:
        self.reach(area)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def select(self, box: Locator, value: str) -> None:
        self.reach(box)
        self.page.keyboard.type(value)

    def mark(self, body: Locator, severity: Locator, category: tuple[str, ...]) -> None:
        """Arrow keys to the word, the number of the severity, the numbers of the category."""
        self.reach(body)
        self.page.keyboard.press("Home")
        for _ in range(MARKED):
            self.page.keyboard.press("ArrowRight")
        self.page.keyboard.press(severity.locator("kbd").inner_text())
        picker = self.page.locator(".picker-of-categories:visible")
        for name in category:
            self.page.keyboard.press(picker.get_by_role("button", name=name).first.locator("kbd").inner_text())


Hands = Mouse | Keyboard
BOXES = """(body, n) => {
  const text = body.textContent;
  const words = [...text.matchAll(/\\S+/g)];
  const range = document.createRange();
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  const box = (position) => {
    walker.currentNode = body;
    let before = 0;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (position < before + node.length) {
        range.setStart(node, position - before);
        range.setEnd(node, position - before + 1);
        return range.getBoundingClientRect();
      }
      before += node.length;
    }
  };
  const word = words[n];
  const first = box(word.index);
  const last = box(word.index + word[0].length - 1);
  return [[first.left + 1, first.top + first.height / 2], [last.right - 1, last.top + last.height / 2]];
}"""


def word_boxes(body: Locator, n: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the first letter of a word begins and its last one ends, on the screen."""
    body.scroll_into_view_if_needed()
    start, end = body.evaluate(BOXES, n)
    return (start[0], start[1]), (end[0], end[1])


def marked_word(text: str) -> dict[str, int]:
    """What marking that word stores."""
    words = text.split(" ")
    start = len(" ".join(words[:MARKED])) + 1
    return {"start": start, "end": start + len(words[MARKED])}


def answer(hands: Hands, form: Locator, widget: Widget, *, body: Locator | None, text: str, n: int) -> dict[str, Any]:
    """Answer one question of a form; what the payload must hold afterwards."""
    kind = widget.kind
    return ANSWERS[kind](hands, form, widget, body, text, n)


def _slider(hands: Hands, form: Locator, widget: Any, body: Any, text: str, n: int) -> dict[str, Any]:
    value = int(40 + n * (max(1, widget.step)))
    hands.slide(form.locator("input[type=range]"), value)
    return {widget.field: value}


def _choice(hands: Hands, form: Locator, widget: Any, body: Any, text: str, n: int) -> dict[str, Any]:
    value = widget.points[n % len(widget.points)][0]
    hands.choose(form.locator(f"input[type=radio][value='{value:g}']"))
    return {widget.field: value}


def _criteria(hands: Hands, form: Locator, widget: Any, body: Any, text: str, n: int) -> dict[str, Any]:
    said = {}
    for i, one in enumerate(widget.criteria):
        said[one.name] = one.points[(n + i) % len(one.points)][0] if one.points else one.minimum + (n + i) % 4
        group = form.locator(".criteria > *").filter(has_text=one.title)
        if group.locator("input[type=range]").count():
            hands.slide(group.locator("input[type=range]"), int(said[one.name]))
        else:
            hands.choose(group.locator(f"input[value='{said[one.name]:g}']"))
    return {widget.field: said}


def _count(hands: Hands, form: Locator, widget: Any, body: Any, text: str, n: int) -> dict[str, Any]:
    hands.count(form.locator(".count"), n % 3)
    return {widget.field: n % 3}


def _link(hands: Hands, form: Locator, widget: Any, body: Any, text: str, n: int) -> dict[str, Any]:
    return {}


def _textedit(hands: Hands, form: Locator, widget: Any, body: Any, text: str, n: int) -> dict[str, Any]:
    written = f"{text} Version {n}." if widget.start == "output" else f"The dog barked, version {n}."
    hands.write(form.locator("textarea"), written)
    return {widget.field: written}


def _texts(hands: Hands, form: Locator, widget: Any, body: Any, text: str, n: int) -> dict[str, Any]:
    said = {}
    for one in widget.texts:
        said[one.name] = f"{text} Version {n}." if one.start == "output" else f"A reason, number {n}."
        hands.write(form.get_by_label(one.title, exact=True), said[one.name])
    return {widget.field: said}


def _preference(hands: Hands, form: Locator, widget: Any, body: Any, text: str, n: int) -> dict[str, Any]:
    if widget.mode == "best":
        hands.choose(form.locator("input[type=checkbox]").nth(1))
    else:
        for column, rank in ((0, "2"), (1, "1")):
            hands.select(form.locator("select").nth(column), rank)
    return {widget.field: [[2], [1]]}


def _spans(hands: Hands, form: Locator, widget: Any, body: Any, text: str, n: int) -> dict[str, Any]:
    severity = widget.severities[n % 2]
    upper, lowers = widget.categories[0] if widget.categories else ("", ())
    names = (upper, *lowers[:1]) if len(widget.categories) > 1 else ()
    assert body is not None
    hands.mark(body, form.locator(f'button.severity[data-severity="{severity}"]'), names)
    category = "/".join(names) or None
    return {widget.field: {**marked_word(text), "severity": severity, "category": category, "side": "target"}}


ANSWERS = {
    "slider": _slider,
    "choice": _choice,
    "criteria": _criteria,
    "count": _count,
    "link": _link,
    "textedit": _textedit,
    "preference": _preference,
    "spans": _spans,
    "texts": _texts,
}
