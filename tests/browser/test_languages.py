"""The pages of a manager in German in a real browser: they fit, axe-core finds nothing wrong, modules speak it too."""

from __future__ import annotations

import json
import os
import re

import pytest
from playwright.sync_api import expect

from tests.browser.desk import Desk, sign_in
from tests.browser.edges import widths_beyond
from tests.browser.test_accessible import EVERY_LOOK, LOOKS, check
from tests.judged_demo import load_judged

# Quality comes before the overview, which shows verdicts where there are some.
PATHS = ("", "/quality", "/overview", "/recipes", "/reports", "/stability", "/texts", "/raters", "/design", "/items")
ONE_OF_EACH = ("/overview", "/quality", "/design")  # figures, tables, and a form


@pytest.fixture(scope="module")
def demo(spine):
    """A campaign with judgments."""
    return load_judged(spine.database)


@pytest.fixture
def german(open_context, served, spine) -> Desk:
    """A manager whose browser asks for German."""
    return sign_in(open_context(locale="de-DE").new_page(), served.url, spine, "manager")


@pytest.mark.parametrize("looks", [None, pytest.param(LOOKS, marks=pytest.mark.soak)], ids=["in turn", "both"])
def test_german_pages_fit_a_phone_and_a_desk_and_axe_finds_nothing(german, demo, looks):
    """One page of each kind in both widths, and what is of no campaign in one look; the soak has all in both.

    The markup and the colours are those of the English pages, which `test_manager_pages` checks; the soak checks them
    here, too.
    """
    page, everything = german.page, looks or EVERY_LOOK in os.environ
    of_none, of_one = ("/campaigns", "/tokens", "/new-campaign"), PATHS if everything else ONE_OF_EACH
    paths = (*of_none, *(f"/campaigns/{demo}{end}" for end in of_one))
    for n, path in enumerate(paths):
        german.open(path)
        assert page.locator("html").get_attribute("lang") == "de"
        if everything or path in of_none[1:]:
            check(page, path, looks or LOOKS[n % 2 : n % 2 + 1], colours=looks is not None)
        assert (path, widths_beyond(page)) == (path, {})


def test_modules_speak_german_with_its_figures_and_dates(german, demo):
    page = german.page
    german.open(f"/campaigns/{demo}/overview")
    expect(page.locator("#state")).to_have_text("Entwurf")
    facts = page.locator("#live .facts")
    expect(facts).to_contain_text("1.544")
    expect(facts).to_contain_text("0,997")
    # Exclusions of other tests, which share the demo, count it up.
    expect(page.locator("#live")).to_contain_text(re.compile(r"Datenstand \d"))
    german.open(f"/campaigns/{demo}/quality")
    expect(page.locator(".note")).to_contain_text("Achtung:")
    expect(page.locator(".note [lang=en]")).to_contain_text("No degraded items")


def test_what_is_refused_is_said_in_german_and_read_aloud_in_english_where_nobody_translated_it(german):
    page = german.page
    german.open("/new-campaign")
    page.get_by_label("Schlüssel").fill("demo-2")
    page.get_by_label("Protokoll", exact=True).select_option("mqm")
    page.get_by_label("Gewichte der Fehler").select_option("eine eigene Tabelle")
    weights = page.get_by_label("Gewichte, eines je Zeile")
    weights.fill("Major")
    page.get_by_role("button", name="Anlegen").click()
    said = page.locator(".fault span")
    expect(said).to_contain_text("kein Schlüssel mit Wert")
    assert said.get_attribute("lang") is None
    weights.fill("Major: -5")
    page.get_by_role("button", name="Anlegen").click()
    expect(said).to_contain_text("muss endlich sein und von 0 bis 1.000.000 gehen")
    assert said.get_attribute("lang") is None
    fault = {"loc": ["body", "key"], "msg": "nobody has translated this"}
    page.route("**/v1/campaigns", lambda route: route.fulfill(status=422, json={"title": "No", "errors": [fault]}))
    page.get_by_role("button", name="Anlegen").click()
    expect(said).to_have_text("nobody has translated this")
    expect(said).to_have_attribute("lang", "en")


def test_a_share_may_be_typed_with_a_comma(german, demo):
    page = german.page
    german.open(f"/campaigns/{demo}/design")
    page.get_by_label("Anteil der Wiederholungen").fill("0,1")
    page.get_by_text("Das ganze Design als JSON").click()
    share = json.loads(page.locator("#json").input_value())
    assert share["controls"] == {"repeat": {"rate": 0.1}}
    assert share["overlap"]["share"] == 0.15


def test_a_choice_of_language_is_kept(german):
    page = german.page
    german.open("/campaigns")
    page.get_by_role("link", name="English", exact=True).click()
    expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()
    german.open("/tokens")
    expect(page.get_by_role("heading", name="Tokens")).to_be_visible()


def test_modules_count_in_every_form_of_plural_that_a_catalogue_has(open_context, served, spine, demo):
    german = sign_in(open_context(locale="de-DE").new_page(), served.url, spine, "manager", campaign=demo)
    page = german.page
    forms = {"one": "{share} of one", "other": "{share} of several: {n}"}
    page.route(
        "**/messages/de/manager/campaigns.json", lambda route: route.fulfill(json={"{share} of {n} tasks": forms})
    )
    page.goto(f"{german.url}/campaigns")
    expect(page.locator(f"[data-progress*='/{demo}/']")).to_contain_text("100 % of several: 28")
