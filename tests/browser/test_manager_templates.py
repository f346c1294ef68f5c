"""A campaign from a template, and options and settings as fields: nobody writes JSON."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.desk import glance, sign_in
from tests.browser.test_accessible import check


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


def test_a_template_fills_the_form_and_its_campaign_begins_with_guidelines_and_design(manager, ask):
    page = manager.page
    manager.open("/new-campaign")
    page.get_by_label("Name", exact=True).fill("Küchen-Rezepte, EN–DE")
    expect(page.get_by_label("Key", exact=True)).to_have_value("kuchen-rezepte-en-de")
    page.get_by_label("MQM by professionals").check()
    expect(page.get_by_label("Protocol", exact=True)).to_have_value("mqm")
    expect(page.get_by_label("Weights of errors")).to_have_value("freitag2021")
    page.get_by_label("ESA with a crowd").check()
    page.get_by_label("Document score").select_option("yes")
    check(page, "a template")
    page.get_by_role("button", name="Create campaign").click()
    page.wait_for_url("**/campaigns/kuchen-rezepte-en-de/texts")
    told = ask("GET", "/campaigns/kuchen-rezepte-en-de").json()
    assert (told["protocol"], told["options"]) == ("esa", {"document_score": True})
    assert told["settings"]["template"] == "esa-crowd"
    manager.open("/campaigns/kuchen-rezepte-en-de/design")
    expect(page.get_by_label("Maximum segments per task")).to_have_value("50")
    expect(page.get_by_label("Share of degraded control items")).to_have_value("0.12")
    manager.open("/campaigns/kuchen-rezepte-en-de/design?lang=de")
    expect(page.locator("#degraded")).to_have_value("0,12")
    manager.open("/campaigns/kuchen-rezepte-en-de/guidelines?lang=en")
    expect(page.get_by_text("Version 1, as raters see it:")).to_be_visible()


def test_choosing_another_protocol_leaves_the_template(manager, ask):
    page = manager.page
    manager.open("/new-campaign")
    page.get_by_label("XSTS across languages").check()
    page.get_by_label("Protocol", exact=True).select_option("da")
    expect(page.get_by_label("No template")).to_be_checked()
    page.get_by_label("Key", exact=True).fill("no-template")
    page.get_by_role("button", name="Create campaign").click()
    page.wait_for_url("**/campaigns/no-template/texts")
    assert "template" not in ask("GET", "/campaigns/no-template").json()["settings"]


def test_criteria_of_ones_own_are_groups_of_fields(manager, ask):
    page = manager.page
    manager.open("/new-campaign")
    page.get_by_label("Key", exact=True).fill("own-criteria")
    page.get_by_label("Protocol", exact=True).select_option("rating")
    for n, (name, highest) in enumerate((("fluency", "5"), ("tone", "3")), 1):
        group = page.get_by_role("group", name=f"Criteria {n}")
        group.get_by_label("Name of the criterion").fill(name)
        group.get_by_label("Lowest value").fill("1")
        group.get_by_label("Highest value").fill(highest)
        if n == 1:
            group.get_by_label("Labels of values").fill("1: incomprehensible\n5: flawless")
            page.get_by_role("button", name="Add one more").click()
    glance(page, "criteria")
    page.get_by_role("button", name="Create campaign").click()
    page.wait_for_url("**/campaigns/own-criteria/texts")
    first, second = ask("GET", "/campaigns/own-criteria").json()["options"]["criteria"]
    assert first["labels"] == {"1": "incomprehensible", "5": "flawless"}
    assert (second["name"], second["maximum"]) == ("tone", 3)


def test_weights_of_ones_own_are_lines(manager, ask):
    page = manager.page
    manager.open("/new-campaign")
    page.get_by_label("Key", exact=True).fill("own-weights")
    page.get_by_label("Protocol", exact=True).select_option("mqm")
    page.get_by_label("Weights of errors").select_option("a table of your own")
    page.get_by_label("Weights, one per line").fill("Major: 5\nMinor")
    page.get_by_role("button", name="Create campaign").click()
    expect(page.locator("#new .fault")).to_contain_text("“Minor” is not a key and a value")
    page.get_by_label("Weights, one per line").fill("Major: 5\nMinor/Fluency: 0.5")
    page.get_by_role("button", name="Create campaign").click()
    page.wait_for_url("**/campaigns/own-weights/texts")
    assert ask("GET", "/campaigns/own-weights").json()["options"] == {"weights": {"Major": 5, "Minor/Fluency": 0.5}}


def test_protocol_presentation_and_lease_are_fields_of_the_settings(manager, ask):
    ask("POST", "/campaigns", {"key": "fields", "protocol": "da", "settings": {"automatic_score": 7}})
    page = manager.page
    manager.open("/campaigns/fields/settings")
    page.get_by_label("Protocol", exact=True).select_option("postedit")
    page.get_by_label("Rank by").select_option("chrF")
    page.get_by_label("Presentation").select_option("one segment at a time")
    page.get_by_label("Lease, in hours").fill("1.5")
    page.get_by_label("Expected seconds per word").fill("fast")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#settings .fault")).to_contain_text("“fast” is not a number.")
    page.get_by_label("Expected seconds per word").fill("2")
    page.get_by_label("Tags in texts").select_option("shown as layout")
    page.get_by_label("Colours of sliders").select_option("by comparison of the columns")
    page.get_by_label("Glossary", exact=True).fill("dog")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#settings .fault")).to_contain_text("“dog” is not a term and its translation.")
    terms = b'term,translation\n"dog,\nold","der ""alte"" Hund"\ncat,Katze\n'
    page.get_by_label("Read it from a CSV").set_input_files({"name": "t.csv", "mimeType": "text/csv", "buffer": terms})
    expect(page.get_by_label("Glossary", exact=True)).to_have_value('dog, old\tder "alte" Hund\ncat\tKatze')
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text("Saved.")
    check(page, "settings")
    told = ask("GET", "/campaigns/fields").json()
    assert (told["protocol"], told["options"]) == ("postedit", {"rank_by": "chrf"})
    kept = {"automatic_score": 7, "presentation": "segment", "lease_seconds": 5400, "seconds_per_word": 2}
    assert told["settings"].items() >= kept.items()
    assert (told["settings"]["markup"], told["settings"]["slider_colors"]) == (True, True)
    assert told["settings"]["glossary"] == [
        {"term": "dog, old", "translation": 'der "alte" Hund'},
        {"term": "cat", "translation": "Katze"},
    ]


def test_a_campaign_with_data_says_why_its_protocol_stays(manager, ask):
    key = ask.opened("settled", raters=("r1",))
    page = manager.page
    manager.open(f"/campaigns/{key}/settings")
    expect(page.get_by_label("Protocol", exact=True)).to_be_disabled()
    expect(page.locator("#settled")).to_contain_text("protocol and options cannot change")
    page.get_by_label("Presentation").select_option("one segment at a time")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text("Saved.")
