"""Setting a campaign up from its pages: lock, settings, clone, guidelines, invitations, tables of texts, raters."""

from __future__ import annotations

import csv
import io
import re

import pytest
from openpyxl import Workbook
from playwright.sync_api import expect

from tests.browser.desk import glance, sign_in
from tests.browser.test_accessible import check

HOSTILE = "<img src=x onerror=window.hacked=1>"


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


# `test_refused_fields` looks at the other two with what they say of a fault.
@pytest.mark.parametrize(
    "path", ["/audit", *(pytest.param(path, marks=pytest.mark.soak) for path in ("/new-campaign", "/tokens"))]
)
def test_pages_of_no_campaign_are_right_for_everybody(manager, path):
    manager.open(path)
    check(manager.page, path)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "This is not a valid key"),
        pytest.param("de", "Das kann kein Schlüssel", marks=pytest.mark.soak),
    ],
)
def test_a_key_with_a_space_is_told_in_the_words_of_the_page(manager, ask, language, said):
    page = manager.page
    draft = ask("POST", "/campaigns", {"key": f"spaced-{language}", "protocol": "da"}).json()["key"]
    for path in ("/new-campaign", f"/campaigns/{draft}/clone", f"/campaigns/{draft}/tutorial"):
        manager.open(f"{path}?lang={language}")
        form = page.locator("form:has(#key)")
        form.locator("#key").fill("my campaign")
        form.locator("select[required]").evaluate_all("all => all.forEach((one) => { one.selectedIndex = 1; })")
        form.locator("button:not([type=button])").click()
        expect(form.locator(".fault")).to_contain_text(said)
        expect(form.locator("#key")).to_be_focused()
    glance(page, "a key that cannot be one")


def test_recipe_and_rules_are_locked_then_amended_with_a_reason(manager, ask):
    ask("POST", "/campaigns", {"key": "locked", "protocol": "da"})
    page = manager.page
    manager.open("/campaigns/locked/lock")
    page.get_by_label("Recipe", exact=True).select_option("wmt-da")
    page.get_by_label("Hypotheses").fill("A is better than B.\n" + HOSTILE)
    page.get_by_label("Exclusion rules").fill("Raters below half of their controls are left out.")
    page.get_by_role("button", name="Lock", exact=True).click()
    expect(page.get_by_text("This analysis was registered before the first judgment.")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text=HOSTILE)).to_be_visible()
    page.get_by_text("Lock, or amend the lock").click()
    page.get_by_label("When data collection ends").fill("When all is handed in.")
    page.get_by_label("Reason", exact=True).fill("it was forgotten")
    page.get_by_role("button", name="Lock", exact=True).click()
    expect(page.get_by_role("heading", name="Amendment 1")).to_be_visible()
    glance(page, "lock")
    entries = ask("GET", "/campaigns/locked/lock").json()["entries"]
    assert [one["stopping_rule"] for one in entries] == [None, "When all is handed in."]
    assert entries[1]["hypotheses"] == ["A is better than B.", HOSTILE]
    assert page.evaluate("window.hacked") is None


def test_a_deadline_is_saved_and_what_somebody_else_changed_meanwhile_is_not_overwritten(manager, ask):
    key = ask.opened("dated", raters=("r1",))
    page = manager.page
    manager.open(f"/campaigns/{key}/settings")
    page.get_by_label("Deadline").fill("2031-05-04T12:00")
    page.get_by_label("Notes").fill("Ask Bonn for two more.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text("Saved.")
    expect(page.get_by_text("Days left")).to_be_visible()
    expect(page.get_by_label("Source language")).to_be_disabled()
    glance(page, "settings")
    stored = ask("GET", f"/campaigns/{key}")
    assert stored.json()["settings"]["notes"] == "Ask Bonn for two more."
    assert stored.json()["settings"]["deadline"].startswith("2031-05-04T")
    ask("PATCH", f"/campaigns/{key}", {"name": "From elsewhere"}, If_Match=stored.headers["ETag"])
    page.get_by_label("Name", exact=True).fill("From the page")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#settings .said")).to_contain_text("Somebody else has changed these settings")
    assert ask("GET", f"/campaigns/{key}").json()["name"] == "From elsewhere"


def test_a_campaign_is_cloned_and_judgments_are_taken_over(manager, ask):
    key = ask.draft("model")
    page = manager.page
    manager.open(f"/campaigns/{key}/clone")
    page.get_by_label("Key", exact=True).fill("copy")
    page.get_by_label("Series").fill("pairs")
    page.get_by_role("button", name="Create copy").click()
    page.wait_for_url("**/campaigns/copy/overview")
    expect(page.locator(".toast")).to_contain_text(f"This is the copy of {key}, without its raters")
    assert len(ask("GET", "/campaigns/copy/systems").json()["items"]) == 3
    manager.open("/campaigns/copy/clone")
    page.get_by_label("From the campaign").fill(key)
    page.get_by_role("button", name="Copy the judgments").click()
    expect(page.locator("#carried")).to_contain_text("0 judgments were copied.")
    page.get_by_label("From the campaign").fill("nowhere")
    page.get_by_role("button", name="Copy the judgments").click()
    expect(page.locator("#carry .said")).not_to_be_empty()
    glance(page, "clone")


def test_guidelines_and_consent_are_written_by_language_with_their_earlier_versions(manager, ask):
    ask("POST", "/campaigns", {"key": "texts", "protocol": "da"})
    page = manager.page
    manager.open("/campaigns/texts/guidelines")
    guide = page.get_by_role("region", name="Guidelines")
    for n, text in enumerate(("# Read\n\n" + HOSTILE, "# Read *all*"), 1):
        guide.get_by_label("Text in English (en)").fill(text)
        guide.get_by_role("button", name=f"Save as version {n}").click()
        expect(guide.get_by_text(f"Version {n}, as raters see it:")).to_be_visible()
        assert page.locator("img[src=x]").count() == 0
    guide.get_by_label("Another language").fill("no language!")
    guide.get_by_role("button", name="Add").click()
    expect(guide.locator(".fault")).to_contain_text("Enter the language as a code")
    guide.get_by_label("Another language").fill("de")
    guide.get_by_role("button", name="Add").click()
    guide.get_by_label("Text in German (de)").fill("# Lesen")
    guide.get_by_role("button", name="Save as version 3").click()
    guide.get_by_text("de", exact=True).click()
    expect(guide.get_by_role("heading", name="Lesen")).to_be_visible()
    check(page, "guidelines")
    guide.get_by_role("button", name="Earlier versions").click()
    expect(page.get_by_role("dialog").locator("pre")).to_have_text("# Read *all*")
    glance(page, "earlier versions")
    page.keyboard.press("Escape")
    consent = page.get_by_role("region", name="Consent text")
    consent.get_by_label("Text in English (en)").fill("I take part.")
    consent.get_by_role("button", name="Save as version 1").click()
    expect(consent.get_by_text("Version 1, as raters see it:")).to_be_visible()
    assert ask("GET", "/campaigns/texts/guidelines").json()["texts"] == {"en": "# Read *all*", "de": "# Lesen"}


def test_an_invitation_shows_its_link_once_and_is_ended(manager, ask):
    ask.draft("crowd")
    page = manager.page
    manager.open("/campaigns/crowd/invitations")
    page.get_by_label("Places").fill("40")
    page.get_by_label("Platform", exact=True).select_option("prolific")
    page.get_by_label("Where to go after the last page").fill("https://app.prolific.com/done?cc={code}")
    page.get_by_role("button", name="Invite").click()
    expect(page.locator(".secret")).to_contain_text("#invitation=i_")  # and no key: nothing is signed
    row = page.get_by_role("region", name="Invitations").locator("tbody tr")
    expect(row.get_by_role("cell")).to_contain_text(["40", "0", "20", "not signed"])
    check(page, "invitations")
    page.get_by_text("Codes that show whose work passed").click()
    codes = page.locator("#codes")
    expect(codes.get_by_label("Control items")).to_be_checked()
    codes.get_by_label("Code of those who pass").fill("GOOD-{code}")
    codes.get_by_label("Code of those who fail").fill("NO")
    codes.get_by_label("Right answers needed in the tutorial").fill("80")
    codes.get_by_label("Speed").check()
    codes.get_by_role("button", name="Save the codes").click()
    expect(page.locator("#saved")).to_have_text("Saved.")
    rules = {"code_checks": ["controls", "speed"], "code_tutorial": 0.8}
    assert ask("GET", "/campaigns/crowd").json()["settings"]["quality"] == {
        "code_pass": "GOOD-{code}",
        "code_fail": "NO",
        **rules,
    }
    page.get_by_role("button", name="End the invitation").click()
    page.get_by_role("button", name="End it", exact=True).click()
    expect(row).to_contain_text("ended")
    (one,) = ask("GET", "/campaigns/crowd/invitations").json()["items"]
    assert (one["count"], one["platform"], one["live"]) == (40, "prolific", False)
    manager.open("/campaigns/crowd/invitations")
    assert page.locator(".secret").count() == 0
    page.get_by_role("heading", name="Invite raters").click()
    page.get_by_label("Places").fill("9")
    page.get_by_label("New raters per hour").fill("7")
    page.get_by_label("The platform signs its ids").check()
    page.get_by_role("button", name="Invite").click()
    expect(page.locator(".secret")).to_contain_text(["#invitation=i_", re.compile("^[0-9a-f]{64}$")])
    first, second = ask("GET", "/campaigns/crowd/invitations").json()["items"]
    told = {(one["count"], one["per_hour"], one["signed"]) for one in (first, second)}
    assert told == {(40, 20, False), (9, 7, True)}


HEADINGS = ("Doc ID", "Source", "Reference", "Alpha MT", "Beta, new", "Comment")
ROWS = (
    ("d1", "One.", "Eins.", "Ein.", 'Eins, "ja".', ""),
    ("d1", "Two\nlines.", "Zwei.", "Zwei.", "Zwo.", "looks odd"),
    ("d2", "Three.", "Drei.", "Drei.", "Dreie.", ""),
)


def as_csv() -> bytes:
    """As spreadsheets write it, with semicolons between, and quotes only where they are needed."""
    held = io.StringIO()
    csv.writer(held, delimiter=";").writerows((HEADINGS, *ROWS))
    return "\ufeff".encode() + held.getvalue().encode()


def as_unicode_text() -> bytes:
    """As Excel writes "Unicode text"."""
    held = io.StringIO()
    csv.writer(held, delimiter="\t").writerows((HEADINGS, *ROWS))
    return held.getvalue().encode("utf-16")


def as_xlsx() -> bytes:
    book, out = Workbook(), io.BytesIO()
    for row in (HEADINGS, *ROWS):
        book.active.append(row)
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("mine.csv", as_csv(), marks=pytest.mark.soak),
        ("mine.tsv", as_unicode_text()),
        ("mine.xlsx", as_xlsx()),
    ],
)
def test_a_table_with_columns_of_ones_own_is_shown_and_read_as_its_columns_are_chosen(manager, ask, name, content):
    key = f"own-{name.partition('.')[2]}"
    ask("POST", "/campaigns", {"key": key, "protocol": "esa"})
    page = manager.page
    manager.open(f"/campaigns/{key}/texts")
    page.get_by_label("Files").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})
    shown = page.get_by_role("region", name="The first rows, and the meaning of each column")
    expect(shown.locator("tbody tr")).to_have_count(3)
    expect(shown).to_contain_text('Eins, "ja".')
    assert page.locator("#format").input_value() == "table"
    guessed = [shown.get_by_label(heading, exact=True).input_value() for heading in HEADINGS]
    assert guessed == ["document", "source", "reference", "output", "output", ""]
    shown.get_by_label("Beta, new", exact=True).select_option("")
    if name.endswith("xlsx"):  # the choice is the same whatever it was read from
        check(page, "a choice of columns")
    page.get_by_role("button", name="Check only").click()
    expect(page.get_by_role("heading", name="As it would be stored")).to_be_visible()
    shown.get_by_label("Beta, new", exact=True).select_option("output")
    page.get_by_role("button", name="Read and store").click()
    expect(page.get_by_role("heading", name="Stored", exact=True).first).to_be_visible()
    systems = ask("GET", f"/campaigns/{key}/systems").json()["items"]
    assert [one["name"] for one in systems] == ["Alpha MT", "Beta, new"]
    outputs = ask("GET", f"/campaigns/{key}/systems/{systems[1]['key']}/outputs/d1").json()["segments"]
    assert [one["text"] for one in outputs] == ['Eins, "ja".', "Zwo."]
    first, second = ask("GET", f"/campaigns/{key}/documents/d1").json()["segments"]
    assert (first["source"], first["references"], second["source"]) == ("One.", {"Reference": "Eins."}, "Two\nlines.")


def test_languages_come_from_a_list_lists_of_raters_are_checked_and_who_left_comes_back(manager, ask):
    page = manager.page
    manager.open("/new-campaign")
    page.get_by_label("Key", exact=True).fill("listed")
    page.get_by_label("Protocol", exact=True).select_option("esa")
    page.get_by_label("Source language").fill("German")
    page.get_by_label("Target language").fill("Englisch!")
    page.get_by_role("button", name="Create campaign").click()
    assert page.get_by_label("Source language").input_value() == "de"
    assert page.locator("#languages option[value=de]").get_attribute("label") == "German"
    page.get_by_label("Target language").fill("pt-BR")
    page.get_by_role("button", name="Create campaign").click()
    page.wait_for_url("**/campaigns/listed/texts")
    told = ask("GET", "/campaigns/listed").json()
    assert (told["source_language"], told["target_language"]) == ("de", "pt-BR")

    manager.open("/campaigns/listed/raters")
    keys = page.get_by_label("Keys of raters")
    keys.fill("r1, r2, r1, é")
    page.get_by_role("button", name="Enrol").click()
    said = page.locator("#enrol .fault")
    expect(said).to_contain_text("(3) 'r1' is in the list twice")
    expect(said).to_contain_text("is not a valid key")
    assert ask("GET", "/campaigns/listed/raters").json()["items"] == []
    keys.fill("r1, r2")
    page.get_by_role("button", name="Enrol").click()
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("button", name="r1 has left").click()
    expect(page.get_by_role("button", name="r1 has not left")).to_be_visible()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="r1 has left")).to_be_visible()
    assert ask("GET", "/campaigns/listed/raters/r1").json()["state"] == "active"


def test_who_is_enrolled_or_taken_back_under_way_and_has_nothing_to_judge_is_named(manager, ask):
    page = manager.page
    key = ask.opened("under-way", raters=("r1",))
    manager.open(f"/campaigns/{key}/raters")
    made = page.locator("#made")
    page.locator("#enrolling summary").click()
    page.get_by_label("Keys of raters").fill("late1 late2")
    page.get_by_role("button", name="Enrol").click()
    expect(made).to_contain_text(
        "2 raters have nothing to judge in this plan, and are told so: late1, late2; redistribute the work"
    )
    page.get_by_role("button", name="Pause: late2").click()
    expect(page.get_by_role("button", name="Resume: late2")).to_be_visible()
    expect(made).to_be_empty()
    page.get_by_role("button", name="Resume: late2").click()
    expect(made).to_contain_text("1 rater has nothing to judge in this plan, and is told so: late2; redistribute")


def test_several_raters_are_uploaded_searched_paused_moved_and_excluded_at_once(manager, ask):
    key = ask.draft("at-once")
    page = manager.page
    manager.open(f"/campaigns/{key}/raters")
    people = b"name,email\nZoe,zoe@example.org\n"
    page.locator("#file").set_input_files({"name": "p.csv", "mimeType": "text/csv", "buffer": people})
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("The table has no column “rater”.")
    page.get_by_role("dialog").get_by_role("button", name="Back").click()
    table = "rater;team;name;email\nr1;bonn;Ada;ada@example.org\nr2;bonn;Ben;nowhere\nr3;;;\n"
    page.locator("#file").set_input_files({"name": "r.csv", "mimeType": "text/csv", "buffer": table.encode()})
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.locator("#upload .fault")).to_have_text(re.compile("^line 3: contact email"))
    right = table.replace("nowhere", "ben@example.org").encode()
    page.locator("#file").set_input_files({"name": "r.csv", "mimeType": "text/csv", "buffer": right})
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("3 raters are enrolled.")
    search = page.get_by_role("searchbox")
    search.fill("example.org")
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_label("Choose all rows of this page").check()
    search.fill("")
    expect(page.get_by_role("row")).to_have_count(4)
    bar = page.get_by_role("region", name="What to do with the chosen rows")
    expect(bar).to_contain_text("2 chosen")
    check(page, "chosen raters")
    bar.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("cell", name="paused")).to_have_count(2)
    page.locator(".toast").last.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("cell", name="active")).to_have_count(3)
    page.get_by_label("Choose r1").check()
    page.get_by_label("Choose r3").check()
    bar.get_by_role("button", name="Team …").click()
    page.get_by_label("Team; empty").fill("kyiv")
    page.get_by_role("button", name="Assign").click()
    expect(page.get_by_role("cell", name="kyiv")).to_have_count(2)
    page.locator(".toast").last.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("cell", name="kyiv")).to_have_count(0)
    assert {one["key"]: one["team"] for one in ask("GET", f"/campaigns/{key}/raters").json()["items"]} == {
        "r1": "bonn",
        "r2": "bonn",
        "r3": None,
    }
    page.get_by_label("Choose r2").check()
    bar.get_by_role("button", name="Exclude …").click()
    page.get_by_label("Reason").fill("a test account")
    page.get_by_role("button", name="Exclude", exact=True).click()
    expect(page.locator(".toast").last).to_contain_text("1 rater is excluded.")
    excluded = ask("GET", f"/campaigns/{key}/exclusions").json()["items"]
    assert [(one["what"], one["key"], one["lifted"]) for one in excluded] == [("rater", "r2", None)]
    page.locator(".toast").last.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast").filter(has_text="excluded")).to_have_count(0)
    assert ask("GET", f"/campaigns/{key}/exclusions").json()["items"][0]["lifted"]["reason"] == "undone"
    page.get_by_role("button", name="New link for r1").click()
    expect(page.get_by_role("img", name="The link as a QR code")).to_be_visible()
    page.get_by_text("Text for a message").click()
    expect(page.get_by_label("Message to r1")).to_have_value(re.compile("^Hello Ada,"))
    mail = page.get_by_role("link", name="Open in your mail program").get_attribute("href")
    assert mail.startswith("mailto:ada%40example.org?")
    glance(page, "a link with its picture")
    page.get_by_role("link", name="r1", exact=True).click()
    expect(page.get_by_role("heading", name="r1")).to_be_visible()
    page.get_by_label("Note, which only managers").fill("Mornings only.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("Saved.")
    page.get_by_role("button", name="Pause").click()
    page.locator(".toast").last.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    check(page, "a rater")
    stored = ask("GET", f"/campaigns/{key}/raters/r1").json()
    assert (stored["state"], stored["contact"]["note"], stored["team"]) == ("active", "Mornings only.", "bonn")
