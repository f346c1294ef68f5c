"""Pages of managers in a second language: what they say, what stays English and says so, and what caches are told."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from pydantic import BaseModel

from app.ui import messages
from app.ui.manager import page_table
from app.ui.manager.forms import select_filled_form_values
from app.ui.messages import PageMessages

GERMAN = {"Accept-Language": "de-DE,de;q=0.9,en;q=0.8"}
OF_REPORTS = {
    "/campaigns/demo/reports/card": "Datenkarte",
    "/campaigns/demo/comparisons/linking": "Kampagnen auf einer Skala durch gemeinsame Items",
}


def in_german(page):
    """The name of a page."""
    return messages.load_page_messages("de", page.template.removesuffix(".html")).translate(page.name)


PATHS = {
    page.route_pattern.format(campaign="demo"): in_german(page)
    for page in (*page_table.ABOVE, *page_table.PAGES.values())
}
VOID = {"meta", "link", "img", "input", "br"}


class Heard(HTMLParser):
    """What a screen reader says in the page's own language: all but what is marked as another, or is for machines."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.own: list[str] = []
        self.marked: list[str] = []
        self.open: list[bool] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        foreign = tag == "code" or (tag != "html" and "lang" in given) or (bool(self.open) and self.open[-1])
        if not foreign:
            self.own += [given[name] for name in ("aria-label", "title", "alt", "placeholder") if given.get(name)]
        if tag not in VOID:
            self.open.append(foreign)

    def handle_endtag(self, tag):
        if tag not in VOID:
            self.open.pop()

    def handle_data(self, data):
        if data.strip():
            (self.marked if self.open and self.open[-1] else self.own).append(" ".join(data.split()))


@pytest.fixture
def manager(sign_in, demo):
    """A manager whose browser asks for German; the demo is there."""
    browser = sign_in("manager")
    browser.headers.update(GERMAN)
    return browser


def test_every_page_speaks_german_and_no_english_that_it_could_say_in_german(manager):
    for path, says in (PATHS | OF_REPORTS).items():
        answer = manager.get(path)
        heard = Heard(answer.text)
        assert '<html lang="de">' in answer.text, path
        assert answer.headers["content-language"] == "de", path
        assert (path, heard.own[0].partition(" · ")[0]) == (path, says)
        known = messages.load_catalogue("de", page_of(answer.text))
        english = {one for one, text in known.items() if text != one and " " in one and "{" not in one}
        assert (path, english & set(heard.own)) == (path, set())


def page_of(text):
    """The page whose catalogue a page's modules fetch."""
    address = re.search(r'name="messages" content="/assets/\w+/messages/de/([\w/]+)\.json"', text)
    assert address
    return address[1]


def test_what_the_services_say_is_english_and_marked_so(manager):
    heard = Heard(manager.get("/campaigns/demo").text)
    assert any(text.startswith("Z-scores by rater") for text in heard.marked)
    assert not any("Z-scores by rater" in text for text in heard.own)
    problem = Heard(manager.get("/campaigns/none").text)
    assert "Alle Kampagnen" in problem.own
    assert "There is no such campaign" in " ".join(problem.marked)


def test_figures_of_tables_have_the_marks_of_the_language_and_keys_stay(manager):
    assert "[−0,62; −0,42]" in Heard(manager.get("/campaigns/demo").text).own
    assert "[−0.62, −0.42]" in manager.get("/campaigns/demo", headers={"Accept-Language": "en"}).text


def test_a_switch_leads_to_the_same_question_and_is_remembered(manager):
    answer = manager.get("/campaigns/demo?recipe=google-mqm&lang=en")
    assert '<html lang="en">' in answer.text
    assert 'href="/campaigns/demo?recipe=google-mqm&amp;lang=de"' in answer.text
    assert '<html lang="en">' in manager.get("/tokens").text  # though the browser asks for German
    manager.get("/campaigns?lang=de")
    assert '<html lang="de">' in manager.get("/tokens", headers={"Accept-Language": "en"}).text


def test_no_page_of_one_language_is_kept_for_another(manager):
    for path in ("/", "/campaigns", "/campaigns/demo", "/campaigns/none"):
        answer = manager.get(path)
        assert {"Accept-Language", "Cookie"} <= {one.strip() for one in answer.headers["vary"].split(",")}, path
        assert answer.headers["cache-control"] == "no-store", path
        assert "etag" not in answer.headers, path


def test_a_page_fetches_its_own_catalogue_and_what_all_pages_share(manager):
    address = re.search(r'name="messages" content="([^"]+)"', manager.get("/campaigns/demo/quality").text)
    known = json.loads(manager.get(address[1]).content)
    assert known["Sign out"] == "Abmelden"
    assert known["Back"] == "Zurück"
    assert known["failed"] == "nicht bestanden"
    assert messages.load_catalogue("de", "manager/report")["failed"] == "gescheitert"
    assert 'name="messages"' not in manager.get("/campaigns/demo/quality?lang=en").text


class Question(BaseModel):
    """A question with a number and a list of them."""

    margin: float = 0.5
    documents: str = ""


def test_a_number_may_be_typed_as_the_language_writes_it():
    given = {"margin": "0,25", "documents": "4,8"}
    assert select_filled_form_values(Question, given, "de") == {"margin": "0.25", "documents": "4,8"}
    assert select_filled_form_values(Question, given) == given
    assert select_filled_form_values(Question, {"margin": "0.25"}, "de") == {"margin": "0.25"}


def test_a_language_with_more_forms_of_plural_has_them_under_the_second_text(monkeypatch):
    def form(n):
        few = n % 10 in (2, 3, 4) and n % 100 not in (12, 13, 14)
        return "one" if n == 1 else "few" if few else "many"

    polish = messages.Language("Polski", form, "\u00a0", ",")
    monkeypatch.setattr(messages, "LANGUAGES", {**messages.LANGUAGES, "pl": polish})
    forms = {"one": "{n} błąd", "few": "{n} błędy", "many": "{n} błędów", "other": "{n} błędu"}
    words = PageMessages("pl", {"{n} errors": forms})
    said = [words.translate_count(n, "{n} error", "{n} errors") for n in (1, 3, 5, 1022)]
    assert said == ["1 błąd", "3 błędy", "5 błędów", "1\u00a0022 błędy"]
    assert words.translate("{n} errors", n=2) == "2 błędu"


def test_values_are_put_in_once_and_what_tells_meanings_apart_is_not_shown():
    words = PageMessages("de", {"{a} of {b}": "{b}: {a}", "Rank|by a recipe": "Anwenden"})
    assert words.translate("{a} of {b}", a="{b}", b="x") == "x: {b}"
    assert words.translate("Rank|by a recipe") == "Anwenden"
    assert PageMessages("en", {}).translate("Rank|by a recipe") == "Rank"
    assert str(PageMessages("en", {}).translate_service_text("a|b {c}")) == "a|b {c}"
    assert str(PageMessages("de", {}).translate_service_text("<i>")) == '<span lang="en">&lt;i&gt;</span>'
