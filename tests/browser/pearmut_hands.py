"""Hands on Pearmut's own page: they fill in forms, fail a tutorial once, mark words with the mouse and give scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.pearmut.campaigns import FORM

SCORE = """(slider, value) => {
    slider.value = value;
    for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name, {bubbles: true}));
}"""
SLIDERS = [{"name": "Fluency", "min": 0, "max": 10, "step": 1}, {"name": "Adequacy", "min": 0, "max": 10, "step": 1}]
SPANS = frozenset({"cESA", "ESA", "MQM"})
MARKED = {
    "Der Hund bellt\nsehr laut.": ["laut", "Hund"],
    "Die Katze schläft 😀 tief.": ["tief", "Katze"],
    "<p>Der Vogel</p><p>singt <b>hell</b></p>": ["hell"],
    "الكلب\nينبح بصوت عال": ["ينبح"],
    "Ja, gut.": ["gut"],
}
"""Texts with the words that are marked in them: line ends, an emoji, tags, Arabic; the last one is the tutorial's."""
TUTORIAL = "Try."
TOKEN_AFTER = "Der Hund bellt\nsehr laut."
MOST_SCREENS = 20
CLOSES_AFTER = 1_000  # milliseconds; the page waits half of that after the mouse has left a box


def pearmut_campaign(
    protocol: str, documents: int = 2, users: tuple[str, ...] = ("ann",), **info: Any
) -> dict[str, Any]:
    """A list of documents of two systems for each user, after a form and a tutorial, with checks between them."""
    texts = list(MARKED)
    data = [
        [
            [
                {"item_id": f"d{n}_#_0", "src": f"Source {n}.", "tgt": {"A": texts[0], "B": texts[1]}},
                {"item_id": f"d{n}_#_1", "src": f"Source {n}, on.", "tgt": {"A": texts[2], "B": texts[3]}},
            ]
            for n in range(documents)
        ]
        for _ in users
    ]
    asked = {"assignment": "task-based", "protocol": protocol, "users": [*users], "shuffle": False}
    wanted: dict[str, Any] = {"Fluency": [3, 6]} if "sliders" in info else {"score": [60, 90]}
    if protocol in SPANS:
        wanted["error_spans"] = [{"start_i": [3, 5], "end_i": [5, 8], "severity": "minor"}]
    check = {**wanted, "score": [70, 80]} if "sliders" not in info else {"Fluency": 9}
    return {
        "campaign_id": f"by-{protocol}",
        "token": "0123456789",
        "info": {**asked, "data_random_prob": 1.0, **info},
        "data": data,
        "data_welcome": [
            FORM,
            [{"src": TUTORIAL, "tgt": {"A": "Ja, gut."}, "validation": {"A": {**wanted, "warning": "Look again."}}}],
        ],
        "data_goodbye": [FORM[:1]],
        "data_random": [[{"src": "Check.", "tgt": {"A": "Ja, gut."}, "validation": {"A": check}}]],
    }


def page_address(address: str, campaign: str, user: str) -> str:
    """Where a user's page is."""
    return f"{address}/annotate?campaign_id={campaign}&user_id={user}"


@dataclass
class PearmutHands:
    """An annotator in a browser."""

    page: Page
    protocol: str

    def finish(self, most: int = MOST_SCREENS) -> int:
        """Answer what is shown until the end, or that many screens; how many were answered."""
        for n in range(most):
            if not self.shown():
                return n
            self.answer()
            self.send()
        return most

    def shown(self) -> bool:
        """Wait for the next screen; False at the end."""
        self.page.wait_for_function(
            "() => document.querySelector('#button_next').value != 'Next 📶' && "
            "(document.querySelector('#output_div').children.length || "
            "document.querySelector('#button_next').value == 'Finished')"
        )
        return self.page.locator("#button_next").input_value() != "Finished"

    def answer(self) -> None:
        """Answer one screen; a tutorial only after its warning."""
        form = self.page.locator(".form-container")
        if form.count():
            for box, said in (("input[type=text]", "German"), ("input[type=number]", "3")):
                for field in form.locator(box).all():
                    field.fill(said)
            return
        if self.page.locator(".output_src").first.inner_text() == TUTORIAL:
            self._fail_once()
        self.judge()

    def _fail_once(self) -> None:
        """Give a wrong score: the page warns, and sends nothing."""
        for slider in self.page.locator("input[type=range]").all():
            slider.evaluate(SCORE, 10)
        self.page.locator("#button_next").click()
        expect(self.page.locator(".validation_warning")).to_have_attribute("title", "Look again.")

    def judge(self) -> None:
        """Mark the words of every output and give every output its scores."""
        outputs = self.page.locator(".output_tgt")
        for place in range(outputs.count() if self.protocol in SPANS else 0):
            self.mark_words(outputs.nth(place))
        for n, slider in enumerate(self.page.locator("input[type=range]").all()):
            slider.evaluate(SCORE, 60 + 5 * (n % 7) if slider.get_attribute("max") == "100" else n % 4 + 3)
        self.page.locator("#settings_comment").evaluate("(box) => { box.value = 'Seen.'; }")

    def mark_words(self, output: Locator) -> None:
        """Mark what is to be marked in one output, and its first special token after one of the texts."""
        texts = output.evaluate("body => body.innerText")
        text = next(text for text in MARKED if all(word in texts for word in MARKED[text]))
        for n, word in enumerate(MARKED[text]):
            start = len(text[: text.index(word)].encode("utf-16-le")) // 2
            end = start + len(word.encode("utf-16-le")) // 2 - 1
            for at in dict.fromkeys((start, end)):
                self.rest()
                output.locator(f"[data-i='{at}']").click()
            self._name(("minor", "major")[n % 2])
        if text == TOKEN_AFTER:
            self.rest()
            output.locator(".special_token").first.click()
            self._name("major")

    def rest(self) -> None:
        """Move the mouse away until no box of an earlier mark covers the text."""
        self.page.mouse.move(2, 2)
        expect(self.page.locator(".span_toolbox_parent:visible")).to_have_count(0)

    def settle(self) -> None:
        """Wait until boxes of marks have closed: one that does so later would change the button of the next screen."""
        self.rest()
        if self.page.locator(".span_toolbox_parent").count():
            self.page.wait_for_timeout(CLOSES_AFTER)

    def _name(self, severity: str) -> None:
        """Say what the mark is that was made last."""
        box = self.page.locator(".span_toolbox_parent").last
        if self.protocol == "MQM":
            upper, lower = box.locator("select").all()
            upper.select_option("Accuracy")
            lower.select_option("Mistranslation")
        box.locator(f".error_{severity}").click()

    def send(self) -> None:
        """Hand the screen in."""
        self.settle()
        with self.page.expect_response("**/log-response") as answer:
            self.page.locator("#button_next").click()
        assert answer.value.json() == "ok", answer.value.text()
