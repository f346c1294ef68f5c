"""Whatever managers, coordinators and raters write about a campaign is shown as it is on every page, and never runs."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page, expect

from app.reports import registry
from tests.browser.desk import sign_in
from tests.browser.test_manager_steering import MANAGED, SEEN
from tests.browser.test_safe_and_blind import CORPUS, VIOLATED
from tests.browser.traffic import Traffic
from tests.collecting import Collecting, collect

KEY = "hostile-names"
NAMES = [f"n{i}" for i in range(len(CORPUS))]
ALL = "\n\n".join(CORPUS)
NEVER = ", ".join(
    f"body {element}"
    # A block of data is no script: nothing runs it.
    for element in (
        "script:not([type='application/json'])",
        "style",
        "iframe",
        "[onerror]",
        "[onload]",
        "[onmouseover]",
        "a[href^='javascript:']",
    )
)
SPACE = re.compile(r"\s+")
QUICK = [kind.name for kind in registry.ALL.values() if kind.over == "campaign" and not kind.long]
SERVED = """([ways, never]) => Promise.all(ways.map(async (way) => {
    const answer = await fetch(way, { headers: { Accept: "text/html" } });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    return [way, answer.status, found.querySelectorAll(never).length, found.body.textContent];
}))"""


@pytest.fixture(scope="module")
def written(spine, served) -> Collecting:
    """A campaign in which each text that somebody can write is hostile, put in through the front door."""
    live = collect(spine.database, key=KEY, raters=NAMES, systems=NAMES, documents=1, segments=1)
    with httpx.Client(base_url=f"{served.url}/v1", timeout=60) as web:
        manager = {"Authorization": f"Bearer {served.secret}"}

        def ask(method: str, path: str, body: object, who: dict[str, str] = manager) -> None:
            seen = web.get(path, headers=who).headers.get("etag") if method != "POST" else None
            answer = web.request(method, path, json=body, headers={**who, **({"If-Match": seen} if seen else {})})
            assert answer.is_success, (method, path, answer.text)

        ask("POST", f"/campaigns/{KEY}/lease", {}, live.auth(NAMES[0]))  # before there is a consent to give
        of_campaign(ask)
        for name, text in zip(NAMES, CORPUS, strict=True):
            of_one(ask, name, text)
            flag = {"reason": "other", "item": 1, "segment": 1, "note": f"flag {text}"}
            ask("POST", f"/tasks/{live.tasks[0]}/flags", flag, live.auth(NAMES[0]))
            ask("POST", f"/campaigns/{KEY}/messages", {"raters": [NAMES[0]], "text": f"message {text}"})
            ask("POST", "/me/hours/disputes", {"seconds": 60, "reason": f"dispute {text}"}, live.auth(NAMES[0]))
    return live


def of_campaign(ask: Callable[..., None]) -> None:
    """What there is one of, with all texts in it."""
    ask("PATCH", f"/campaigns/{KEY}", {"name": " ".join(CORPUS)})
    for kind in ("guidelines", "consent"):
        ask("PUT", f"/campaigns/{KEY}/{kind}", {"en": ALL})
    lines = {
        name: [f"{what} {text}" for text in CORPUS]
        for name, what in (("hypotheses", "hypothesis"), ("exclusion_rules", "rule"))
    }
    ask("POST", f"/campaigns/{KEY}/lock", {"normalize": "none", **lines})


def of_one(ask: Callable[..., None], name: str, text: str) -> None:
    """What there are many of: one with each text, preceded by what it is."""
    ask("PUT", f"/campaigns/{KEY}/teams/{name}", {"name": f"team {text}"})
    ask("PUT", f"/campaigns/{KEY}/raters/{name}", {"team": name})
    # No page says a system's lab or tags yet; one that comes to do so is looked at here, too.
    about = {"name": f"system {text}", "kind": "mt", "lab": f"lab {text}", "tags": [f"tag {text}"]}
    ask("PUT", f"/campaigns/{KEY}/systems/{name}", about)
    ask("POST", "/tokens", {"role": "viewer", "campaign": KEY, "name": f"token {printable(text)}"})
    adjusted = {"rater": NAMES[0], "seconds": 60, "reason": f"adjusted {text}"}
    ask("POST", f"/campaigns/{KEY}/hours/adjustments", adjusted)
    ask("POST", f"/campaigns/{KEY}/exclusions", {"system": name, "reason": f"excluded {text}"})


def printable(text: str) -> str:
    """Without signs that nobody sees; the name of a token is refused with them."""
    return "".join(sign for sign in text if sign.isprintable())


def check(page: Page) -> str:
    """Nothing of it became part of the page; all that is read there, on one line."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert (page.url, page.locator(NEVER).count(), page.title() == "ran") == (page.url, 0, False)
    return SPACE.sub(" ", page.locator("body").text_content() or "")


def test_control_texts_that_become_part_of_a_page_are_found(page):
    found = """([texts, never]) => texts.map((text) => new DOMParser().parseFromString(
        `<main>${text}</main>`, "text/html").querySelectorAll(never).length)"""
    counted = dict(zip(CORPUS, page.evaluate(found, [CORPUS, NEVER]), strict=True))
    assert {text for text, n in counted.items() if n == 0} == {
        text for text in CORPUS if text.startswith(("javascript:", "{{", "&lt;"))
    }


def shown(read: str, *whats: str) -> dict[str, list[str]]:
    """Which of the texts stand there, by what they are written about."""
    return {what: [text for text in CORPUS if SPACE.sub(" ", f"{what} {text}") in read] for what in whats}


@pytest.fixture
def watched(open_context) -> Page:
    """A page that tells when its policy is broken."""
    context = open_context()
    context.add_init_script(VIOLATED)
    return context.new_page()


# Pages on which nothing of it stands but the name of the campaign, in the line that all pages have.
OF_THE_NAME = {
    "comparisons/xsts",
    "exports",
    "invitations",
    "jobs",
    "qualification",
    "questionnaires",
    "series",
    "tutorial",
    "webhooks",
    "wording",
}


@pytest.mark.parametrize("left_out", [OF_THE_NAME, pytest.param(set(), marks=pytest.mark.soak)], ids=["most", "all"])
def test_what_is_written_about_a_campaign_is_text_where_its_tabs_lead_to_and_over_all_campaigns(
    left_out, written, watched, served, spine
):
    desk = sign_in(watched, served.url, spine, "manager")
    desk.open(f"/campaigns/{KEY}")
    ways = dict.fromkeys(watched.locator(".sidebar a").evaluate_all("all => all.map((a) => a.getAttribute('href'))"))
    assert f"/campaigns/{KEY}/audit" in ways
    read = ""
    adjusted = f"/campaigns/{KEY}/problems?hours-answered="  # also those that nobody disputes
    rater = f"/campaigns/{KEY}/raters/{NAMES[0]}"
    others = {f"/campaigns/{KEY}/{end}" for end in (*SEEN, *MANAGED, "quality")} - {*ways}
    without = {f"/campaigns/{KEY}/{end}" for end in left_out}
    for way in ("/campaigns", "/new-campaign", "/audit", "/tokens", *ways, *sorted(others), adjusted, rater):
        if way in without:
            continue
        desk.open(way)
        read += check(watched)
    seen = shown(read, "team", "system", "adjusted", "dispute", "excluded", "flag", "hypothesis", "rule", "message")
    assert seen == {what: list(CORPUS) for what in seen}
    assert [text for text in CORPUS if SPACE.sub(" ", f"token {printable(text)}") not in read] == []


def test_what_is_written_about_a_campaign_is_text_on_the_page_of_every_report_that_is_quick(
    written, watched, served, spine
):
    sign_in(watched, served.url, spine, "manager").open("/tokens")
    ways = [f"/campaigns/{KEY}/reports/{kind}" for kind in QUICK]
    named = SPACE.sub(" ", " ".join(CORPUS))
    for way, status, ran, text in watched.evaluate(SERVED, [ways, NEVER]):
        # 422 is a page, too: the report does not fit the campaign
        assert (way, status in {200, 422}, ran, named in SPACE.sub(" ", text)) == (way, True, 0, True)


def test_what_is_written_to_a_rater_and_by_them_is_text_where_they_agree_read_and_are_paid(written, watched, served):
    signed = watched.context.request.post(f"{served.url}/v1/session", data={"token": written.secrets[NAMES[0]]})
    assert signed.ok
    read, traffic = "", Traffic(watched)
    for path in ("consent", "guidelines", "hours", "codes"):
        watched.goto(f"{served.url}/rate/{path}")
        traffic.settle()
        read += check(watched)
    seen = shown(read, "adjusted", "dispute")
    assert seen == {what: list(CORPUS) for what in seen}


def test_the_name_and_the_lines_of_a_file_that_cannot_be_read_are_text(written, watched, served, spine):
    desk = sign_in(watched, served.url, spine, "manager")
    desk.open(f"/campaigns/{KEY}/texts")
    files = [{"name": text, "mimeType": "text/plain", "buffer": text.encode()} for text in CORPUS]
    watched.get_by_label("Files").set_input_files(files)
    expect(watched.get_by_label("Format")).to_have_value("text")  # several files without a format: one for each system
    watched.get_by_label("Format").select_option("jsonl")
    watched.get_by_role("button", name="Check only").click()
    expect(watched.locator("#upload .said")).to_contain_text("__7_7")  # a file is named by the key made of its name
    check(watched)
