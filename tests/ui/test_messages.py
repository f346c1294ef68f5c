"""Catalogues hold every message of pages and modules, with the same places for values, and the page speaks them."""

from __future__ import annotations

import re

import pytest

from app.ui import messages
from app.ui.assets import load_static_files
from app.ui.manager.wording import IN_TASKS
from tests.ui import spoken
from tests.ui.from_services import may_say
from tests.ui.literals import literal_strings

OTHERS = [language for language in messages.NAMES if language != messages.ENGLISH]
SAYS_THE_NUMBER = {"zero", "one", "two"}  # forms of plural that may be said without the figure
ENGLISH_WORDS = {  # of pydantic, for which the translation gives an example
    "Input should be a valid datetime, {1}": "{1}",
    "Input should be a valid datetime or date, {1}": "{1}",
    "Input should be a valid date or datetime, {1}": "{1}",
    "Input should be a valid URL, {1}": "{1}",
    "Input should be a valid dictionary or instance of {1}": "{1}",
    **{
        f"{{1}} should have at {bound} {{2}} {items} after validation, not {{3}}": "{1}"
        for bound in ("least", "most")
        for items in ("item", "items")
    },
}
PLURALS = {"zero", "one", "two", "few", "many", "other"}  # as CLDR names them


@pytest.mark.parametrize("page", spoken.PAGES)
@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_says_all_that_its_page_says(language, page):
    if language not in messages.list_page_languages(page):
        assert page.startswith(messages.OF_MANAGERS)
        return
    assert sorted(spoken.on(page) - set(messages.load_catalogue(language, page))) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_says_nothing_that_no_page_says(language):
    for place, known in spoken.own(language).items():
        if place == messages.REFUSALS:
            continue  # of no page: tests/ui/test_error_messages.py
        of = [page for page in spoken.PAGES if place in (messages.ALL, page) or page.startswith(f"{place}/")]
        assert (place, sorted(set(known) - {one for page in of for one in spoken.on(page) | may_say(page)})) == (
            place,
            [],
        )


def test_all_catalogues_have_the_same_messages():
    managers = [language for language in OTHERS if language in messages.MANAGERS_NAMES]
    assert all(spoken.keys(language) == spoken.keys(managers[0]) for language in managers)
    of_raters = {key for key in spoken.keys(managers[0]) if key[0].split("/")[0] not in {"manager", "archive"}}
    assert all(spoken.keys(language) == of_raters for language in set(OTHERS) - set(managers))


@pytest.mark.parametrize("language", OTHERS)
def test_every_translation_has_the_places_of_its_message(language):
    for known in spoken.own(language).values():
        for message, entry in known.items():
            forms = {"other": entry} if isinstance(entry, str) else entry
            assert "other" in forms, message
            assert set(forms) <= PLURALS, message
            for form, text in forms.items():
                optional = {"{n}"} if form in SAYS_THE_NUMBER else {ENGLISH_WORDS.get(message)}
                assert set(spoken.places(message)) - optional <= set(spoken.places(text)), message
                assert set(spoken.places(text)) <= set(spoken.places(message)), message
                assert text.strip(), message


@pytest.mark.parametrize("path", sorted(spoken.TEMPLATES.rglob("*.html")), ids=lambda path: path.stem)
def test_no_word_of_a_template_stands_outside_the_catalogues(path):
    assert spoken.literal_words(path) == []


def test_words_that_stand_outside_are_found(tmp_path):
    path = tmp_path / "x.html"
    shown = '<p>{{ _("Known") }}</p><p title="Tip">Lost {{ n }} words</p>'
    path.write_text(f'{shown}<input placeholder="{{{{ x }}}} hint"><code>x y</code>')
    assert spoken.literal_words(path) == ["title: Tip", "Lost ¤ words", "placeholder: ¤ hint"]


@pytest.mark.parametrize("path", spoken.MODULES, ids=lambda path: path.stem)
def test_no_word_of_a_module_stands_outside_the_catalogues(path):
    assert literal_strings(path.read_text()) == []


def test_strings_that_stand_outside_are_found():
    said = 't("Known words"), count(n, "{n} tree", "{n} trees")'
    text = f'h("p", {{ class: "a b" }}, "Two words", {said}, `${{n}} more words`)'
    assert literal_strings(text) == ["Two words", "¤ more words"]


def test_phrases_of_tasks_that_a_campaign_may_change_are_in_the_catalogue_of_raters():
    assert set(IN_TASKS) - set(messages.load_catalogue("de", messages.RATER)) == set()


def test_a_catalogue_is_served_with_all_that_its_page_says():
    found = [name for name in load_static_files() if name.startswith("messages/")]
    assert {messages.catalogue_file_name("de", page) for page in spoken.PAGES} <= set(found)
    assert messages.catalogue_file_name("en", "manager/overview") is None


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de-DE,de;q=0.9,en;q=0.8", "de"),
        ("fr,en;q=0.5", "fr"),
        ("pl,en;q=0.5", "en"),
        ("", "en"),
        ("de;q=0, en", "en"),
        ("de;q=x", "en"),
    ],
)
def test_the_browser_says_which_language_and_a_choice_is_kept(browser, header, language):
    answer = browser.get("/", headers={"Accept-Language": header})
    assert f'<html lang="{language}">' in answer.text
    assert answer.headers["content-language"] == language
    assert browser.get("/?lang=de").headers["content-language"] == "de"
    assert "Anmelden" in browser.get("/", headers={"Accept-Language": "en"}).text


def test_a_language_that_there_is_not_is_english(browser):
    assert '<html lang="en">' in browser.get("/?lang=%22%3E").text


def test_managers_pages_are_not_offered_in_a_language_that_only_raters_have(browser):
    answer = browser.get("/", headers={"Accept-Language": "ar"})
    assert '<html lang="ar" dir="rtl">' in answer.text
    assert messages.list_page_languages("manager/overview") == {"en": "English", "de": "Deutsch"}
    assert set(messages.list_page_languages("rater/task")) == set(messages.LANGUAGES)


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_a_number_takes_a_form_that_there_is(language):
    forms = {messages.LANGUAGES[language].form(n) for n in (*range(130), 10**6)}
    assert forms <= PLURALS
    assert "other" in forms


def test_german_has_one_word_for_a_judgment_and_one_for_saving():
    others = re.compile(r"Beurteilung|\bSichern\b")
    said = [text for known in spoken.own("de").values() for entry in known.values() for text in forms_of(entry)]
    assert [text for text in said if others.search(text)] == []


def forms_of(entry):
    return [entry] if isinstance(entry, str) else entry.values()
