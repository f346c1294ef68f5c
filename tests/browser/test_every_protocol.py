"""Every protocol in every presentation, by mouse and by keyboard alone: what was said is what is stored.

The fast tests cover every kind of question and every presentation by both inputs, and every question at each level that
it is asked at: protocols share the pages' code for them. The soak has every protocol, in all combinations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from app import protocols
from app.protocols.base import SpansWidget, parse_scoring_options
from tests.browser.hands import Hands, Keyboard, Mouse, answer
from tests.browser.rater import Rater
from tests.browser.traffic import wait_to_see
from tests.load.test_blind_sessions import options_for

LEVELS: tuple[Any, ...] = ("segment", "document", "screen")  # at which something can be asked
INPUTS = {"mouse": Mouse, "keyboard": Keyboard}
PREFILL = (
    """INSERT INTO variants (campaign_id, output_id, kind, name, spans)
       SELECT campaign_id, id, 'prefill', 'ready', '[{"side": "target", "start": 0, "end": 5, "severity": "minor",
              "category": null, "prefill": "p1"}]' FROM outputs WHERE campaign_id = %(id)s""",
    "UPDATE items SET prefill = 'ready' WHERE campaign_id = %(id)s",
)
SHOWN = {"side": "target", "start": 0, "end": 5, "severity": "minor", "prefill": "p1"}


def presentations(name: str) -> tuple[str, ...]:
    """What a protocol can be shown in."""
    return ("document", "segment", "side") if protocols.get_protocol(name).contrastive else ("document", "segment")


EVERY = [(name, shown, how) for name in protocols.ALL for shown in presentations(name) for how in INPUTS]


def questions(name: str, shown: str) -> frozenset[tuple[str, str]]:
    """What a protocol asks in a presentation, at which level: what hands have to know."""
    protocol = protocols.get_protocol(name)
    options = parse_scoring_options(protocol, options_for(name))
    return frozenset(
        (level, f"{widget.kind} {getattr(widget, 'mode', '')}")
        for level in LEVELS
        for widget in protocols.list_widgets_at_level(protocol, options, level)
        if level != "screen" or shown == "side"
    )


def pairs(name: str, shown: str, how: str) -> frozenset[object]:
    """What a case shows: each of its questions and the presentation by that input, and at which level it is asked."""
    asked = questions(name, shown)
    return frozenset({(shown, how), *asked, *((kind, how) for _, kind in asked)})


def cover() -> Iterator[tuple[str, str, str]]:
    """What is left, most at once."""
    left = {pair for case in EVERY for pair in pairs(*case)}
    while left:
        case = max(EVERY, key=lambda one: len(left & pairs(*one)))
        left -= pairs(*case)
        yield case


FAST = list(cover())


def test_the_fast_cases_cover_every_question_and_presentation_by_both_inputs():
    assert {(shown, how) for _, shown, how in FAST} == {(shown, how) for _, shown, how in EVERY}
    of_fast, of_every = (
        {(kind, how) for name, shown, how in cases for _, kind in questions(name, shown)} for cases in (FAST, EVERY)
    )
    assert of_fast == of_every
    assert {at for name, shown, _ in FAST for at in questions(name, shown)} == {
        at for name, shown, _ in EVERY for at in questions(name, shown)
    }
    assert len(set(FAST)) == len(FAST)


@pytest.mark.parametrize(("name", "presentation", "how"), FAST)
def test_what_is_said_is_stored(name, presentation, how, campaign, rater):
    check(name, presentation, how, campaign, rater)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "presentation", "how"), [case for case in EVERY if case not in FAST])
def test_what_is_said_is_stored_in_every_combination(name, presentation, how, campaign, rater):
    check(name, presentation, how, campaign, rater)


def check(name: str, presentation: str, how: str, campaign: Any, rater: Any) -> None:
    """One task from the first question to the code."""
    protocol = protocols.get_protocol(name)
    options = options_for(name)
    columns = 2 if presentation == "side" else 1
    live = campaign(
        protocol=name,
        options=options,
        basis=protocol.bases[0],
        presentation="document" if presentation == "side" else presentation,
        systems=("sysA", "sysB")[:columns],
        columns=columns,
        segments=2 if presentation == "segment" else 1,
        change=PREFILL if protocol.requires_prefill else (),
    )
    person = rater(live)
    session = Session(person, INPUTS[how](person.page), protocol, columns, live.n_segments)
    wanted = session.in_steps() if presentation == "segment" else session.on_one_screen()
    session.hand_in()
    stored = person.latest()
    for place, payload in wanted.items():
        check_payload(stored[place], payload)
    assert session.compared is None or person.comparisons() == [session.compared]


def check_payload(stored: dict[str, Any], wanted: dict[str, Any]) -> None:
    """What is stored says what was said; of errors, those that were marked."""
    for name, value in wanted.items():
        if name != "errors":
            assert stored[name] == value
            continue
        added = [span for span in stored["errors"] if span["prefill"] is None]
        assert [{key: span[key] for key in value} for span in added] == [value]


class Session:
    """A rater who answers all that is asked on the page."""

    def __init__(self, person: Rater, hands: Hands, protocol: Any, columns: int, segments: int) -> None:
        options = parse_scoring_options(protocol, options_for(protocol.name))
        self.person, self.hands, self.columns, self.page = person, hands, columns, person.page
        self.widgets = {level: protocols.list_widgets_at_level(protocol, options, level) for level in LEVELS}
        self.segments = range(1, segments + 1) if self.widgets["segment"] else range(0)
        self.compared: dict[str, Any] | None = None

    def on_one_screen(self) -> dict[tuple[int, int | None], dict[str, Any]]:
        """Row by row, then what is asked of the whole."""
        wanted: dict[tuple[int, int | None], dict[str, Any]] = {}
        for segment in self.segments:
            row = self.person.row(segment)
            expect(row).to_have_class(re.compile("open"))
            for column in range(self.columns):
                wanted[(column + 1, segment)] = self.fill(row.locator(".form").nth(column), row, column, segment)
            if segment < len(self.segments):
                self.hands.press(row.get_by_role("button", name="Next segment"))
        return wanted | self.wholes()

    def wholes(self) -> dict[tuple[int, int | None], dict[str, Any]]:
        """Documents, then the columns together."""
        found: dict[tuple[int, int | None], dict[str, Any]] = {}
        forms = self.page.locator(".whole .form")
        if self.widgets["document"]:
            for column in range(self.columns):
                said = self.answers(forms.nth(column), self.widgets["document"], None, "", 7 + column)
                found[(column + 1, None)] = said
        if self.widgets["screen"] and self.columns > 1:
            self.compared = self.answers(forms.last, self.widgets["screen"], None, "", 0)
        return found

    def in_steps(self) -> dict[tuple[int, int | None], dict[str, Any]]:
        """One screen after another."""
        wanted: dict[tuple[int, int | None], dict[str, Any]] = {}
        for segment in self.segments:
            self.page.get_by_role("heading", name=f"Segment {segment}").wait_for()
            row = self.person.row(segment)
            wanted[(1, segment)] = self.fill(row.locator(".form"), row, 0, segment)
            self.hands.press(self.page.get_by_role("button", name="Save and continue"))
        if self.widgets["document"]:
            wanted |= self.wholes()
            self.hands.press(self.page.get_by_role("button", name="Save and continue"))
        return wanted

    def fill(self, form: Locator, row: Locator, column: int, segment: int) -> dict[str, Any]:
        """All questions about one output."""
        body = row.locator(".body").nth(-self.columns + column) if self.columns > 1 else row.locator(".body").last
        text = body.inner_text()
        said = self.answers(form, self.widgets["segment"], body, text, segment + 2 * column)
        confirm = form.locator("button.confirm")
        if confirm.count() and confirm.is_enabled():
            self.hands.press(confirm)
        return said

    def answers(self, form: Locator, widgets: Any, body: Locator | None, text: str, n: int) -> dict[str, Any]:
        """The fields of the payload."""
        said: dict[str, Any] = {}
        for widget in widgets:
            place = body if isinstance(widget, SpansWidget) else None
            for field, value in answer(self.hands, form, widget, body=place, text=text, n=n).items():
                before = said.get(field)  # several questions may fill in one field
                said[field] = {**before, **value} if isinstance(before, dict) else value
        return said

    def hand_in(self) -> None:
        """To the code."""
        self.hands.press(self.page.get_by_role("button", name="Hand in"))
        wait_to_see(self.page, ".code code")
