"""The raters' pages in their further languages, one of them from right to left, and in a campaign's own words."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from app.ui import messages
from tests.browser.desk import sign_in
from tests.browser.hands import word_boxes
from tests.browser.rater import Rater
from tests.browser.test_accessible import check

OF_RATERS = sorted(set(messages.NAMES) - set(messages.MANAGERS_NAMES))
ONE_OF_EACH = ("hi", "es")  # a writing of its own, and Latin letters


@pytest.fixture
def mqm(campaign):
    return campaign(protocol="mqm", segments=2)


def at_work(open_context, served, spine, live, language):
    """A rater whose browser asks for a language, at the task."""
    hands = Rater(open_context(locale=language).new_page(), served.url, live, spine)
    assert hands.page.context.request.post(f"{served.url}/v1/session", data={"token": live.secrets["r1"]}).ok
    hands.page.goto(f"{served.url}/rate")
    hands.page.wait_for_selector("#work .row, #asked dl")
    if hands.page.url.endswith("/guidelines"):
        hands.page.locator("#begin").click()
        hands.page.wait_for_selector("#work .row")
    return hands


@pytest.mark.parametrize(
    "language",
    [*ONE_OF_EACH, *(pytest.param(one, marks=pytest.mark.soak) for one in OF_RATERS if one not in ONE_OF_EACH)],
)
def test_a_task_speaks_the_language_and_fits(open_context, served, spine, mqm, language):
    page = at_work(open_context, served, spine, mqm, language).page
    said = messages.load_page_messages(language, "rater/task").translate
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.get_by_role("button", name=said("There are no errors")).first).to_be_visible()
    expect(page.get_by_text("There are no errors")).to_have_count(0)
    check(page, language, colours=False)  # `test_accessible` has them of the same task in English


def test_right_to_left_the_page_is_mirrored_and_words_are_marked_and_handed_in(open_context, served, spine, mqm):
    hands = at_work(open_context, served, spine, mqm, "ar")
    page, say = hands.page, messages.load_page_messages("ar", "rater/task").translate
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.locator("html").get_attribute("dir") == "rtl"
    source, output = (hands.row(1).locator(".body").nth(n).bounding_box() for n in (0, 1))
    assert source["x"] > output["x"]
    start, end = word_boxes(hands.row(1).locator(".body").last, 1)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    tools = page.locator(".tools.at-mark")
    box = tools.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280
    tools.get_by_role("button", name=say("Minor")).click()
    kinds = tools.get_by_role("group", name=say("Category"))
    kinds.get_by_role("button", name=say("Style")).click()
    kinds.get_by_role("button", name=f"1 {say('Awkward')}").click()
    hands.saved()
    [marked] = [said["errors"] for said in hands.latest().values() if said["errors"]]
    assert [(one["severity"], one["category"]) for one in marked] == [("minor", "Style/Awkward")]


def test_a_campaign_says_phrases_in_its_own_words(page, open_context, served, spine, mqm):
    desk = sign_in(page, served.url, spine, "manager")
    desk.open(f"/campaigns/{mqm.key}/wording")
    check(desk.page, "wording")
    phrases = desk.page.locator("#phrases label")
    expect(phrases.filter(has_text=re.compile("^Hand in$"))).to_have_count(1)  # what raters read in a task comes first
    expect(phrases.filter(has_text="Access token")).to_have_count(0)
    desk.page.get_by_label("Search").fill("There are no errors")
    desk.page.get_by_label("There are no errors", exact=True).fill("Nothing to mark")
    desk.page.get_by_label("Search").fill("")
    desk.page.get_by_label("Language of the page").select_option("fr")
    desk.page.get_by_label("Search").fill("Segment suivant")
    desk.page.get_by_label("Segment suivant", exact=True).fill("Phrase suivante")
    desk.page.get_by_role("button", name="Save").click()
    expect(desk.page.locator("#saved")).to_have_text("Saved.")
    english = at_work(open_context, served, spine, mqm, "en-GB").page
    expect(english.get_by_role("button", name="Nothing to mark").first).to_be_visible()
    french = at_work(open_context, served, spine, mqm, "fr").page
    expect(french.get_by_role("button", name="Phrase suivante").first).to_be_visible()
    expect(french.get_by_role("button", name="Il n’y a pas d’erreur").first).to_be_visible()
