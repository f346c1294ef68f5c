"""The pages of a campaign: what is on them, who sees what, and that axe-core finds nothing wrong on any of them."""

from __future__ import annotations

import os

import httpx
import pytest
from playwright.sync_api import expect

from app.reports import registry
from app.services.campaigns.campaigns import NewCampaign, create_campaign
from tests.browser.conftest import changing
from tests.browser.desk import enter, glance, heard_errors, sign_in, status
from tests.browser.edges import widths_beyond
from tests.browser.test_accessible import EVERY_LOOK, LOOKS, check
from tests.browser.test_languages import PATHS
from tests.browser.test_refused_fields import WITH_FORMS
from tests.collecting import collect
from tests.judged_demo import load_judged
from tests.working import draining

OK, FORBIDDEN = 200, 403
HOSTILE = "<img src=x onerror=window.hacked=1>"
QUICK = [kind.name for kind in registry.ALL.values() if kind.over == "campaign" and not kind.long]


@pytest.fixture(scope="module")
def demo(spine):
    """A campaign with judgments."""
    return load_judged(spine.database)


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


# Pages that axe-core looks at in other tests, too, as full as here.
ALSO_ELSEWHERE = {
    "": "test_cards",
    "/overview": "test_manager_way",
    "/texts": "test_manager_setup",
    "/items": "test_items_filters",
    "/raters": "test_manager_setup",
    "/problems": "below",
    "/design": "test_manager_way",
    "/recipes": "test_charts",
    "/gate": "below",
    "/series": "test_manager_steering",
    "/jobs": "test_manager_steering",
    "/audit": "test_manager_setup",
}


@pytest.mark.parametrize("looks", [None, pytest.param(LOOKS, marks=pytest.mark.soak)], ids=["in turn", "both"])
def test_every_way_of_a_campaign_leads_to_a_page_that_is_right_for_everybody(manager, demo, looks):
    """Each page that no other test looks at in one look, the next one in the other; the soak has every page in both.

    `test_refused_fields` opens and looks at each page of forms, filled in.
    """
    page, all_of_them = manager.page, looks or EVERY_LOOK in os.environ
    with_forms = {of.route_pattern.replace("{campaign}", demo) for of in WITH_FORMS}
    full = {f"/campaigns/{demo}{end}" for end in PATHS}
    elsewhere = {f"/campaigns/{demo}{end}" for end in ALSO_ELSEWHERE}
    manager.open(f"/campaigns/{demo}/quality")  # the overview shows verdicts where there are some
    first = ("/campaigns", f"/campaigns/{demo}")
    for path in first:
        manager.open(path)
        if all_of_them or path not in elsewhere:
            check(page, path, looks or LOOKS[1:])
            assert widths_beyond(page) == {}
    there = page.locator(".sidebar a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
    ways = [way for way in dict.fromkeys(there) if all_of_them or way in full or way not in with_forms]
    assert elsewhere <= {*ways}
    faults = heard_errors(page)
    for n, way in enumerate(ways):
        manager.open(way)
        assert (way, faults, widths_beyond(page)) == (way, [], {})
        expect(page.locator("h1")).to_be_visible()
        if way.endswith("/overview"):
            expect(page.locator(".control-verdict")).to_have_count(3)
        if way not in first and (all_of_them or way not in elsewhere):
            check(page, way, looks or LOOKS[n % 2 : n % 2 + 1])


MAY_BE_ABSENT = ("overview", "tutorial", "qualification", "exclusions", "design", "lock", "replan", "exports", "audit")


def test_a_campaign_without_anything_is_asked_for_nothing_that_is_not_there(manager, spine):
    with spine.database.transaction() as session:
        create_campaign(session, NewCampaign(key="nothing-yet", protocol="esa"), actor="test")
    page = manager.page
    faults = heard_errors(page)
    for way in MAY_BE_ABSENT:
        manager.open(f"/campaigns/nothing-yet/{way}")
        assert (way, faults, widths_beyond(page)) == (way, [], {})


# One chart, most tables, most charts, and a picture: the others are made of the same by one template, and
# `test_hostile_names` reads the page of each.
ONE_OF_EACH = ("card", "datasheet", "distributions", "rater_groups")


@pytest.mark.parametrize("kinds", [ONE_OF_EACH, pytest.param(QUICK, marks=pytest.mark.soak)], ids=["each", "all"])
def test_every_quick_report_is_shown_with_its_picture_and_where_to_fetch_it(manager, demo, kinds):
    page = manager.page
    for kind in kinds:
        manager.open(f"/campaigns/{demo}/reports/{kind}")
        if not page.locator(".note[role=status]").count():  # where it does not fit the campaign, the page says why
            assert page.locator(".fetch a").count() == 5
            expect(page.locator("svg.plot, .picture img").first).to_be_attached()
        glance(page, kind)


def test_a_report_that_takes_long_is_a_job_that_can_be_cancelled_with_a_way_to_its_report(manager, demo, spine):
    page = manager.page
    manager.open(f"/campaigns/{demo}/reports/validation?studies=2")
    page.get_by_role("button", name="Compute").click()
    expect(page.locator("#job progress")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-told]")).to_contain_text("Cancelled")
    with draining(spine.database):
        page.get_by_role("link", name="Retry").click()
        expect(page.locator(".fetch a")).to_have_count(5, timeout=180_000)
    glance(page, "validation")


def test_the_gate_says_what_it_finds_and_what_it_cannot_be_asked(manager, demo):
    page = manager.page
    manager.open(f"/campaigns/{demo}/gate?candidate=human-A&baseline=nobody")
    expect(page.get_by_label("Baseline")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#baseline-fault")).to_contain_text("nobody")
    page.get_by_label("Baseline").fill("Eibe")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("svg.plot")).to_be_visible()
    glance(page, "gate")


@pytest.fixture(scope="module")
def live(spine):
    """An open campaign with a team; somebody of it has judged."""
    found = collect(
        spine.database, key="roles", systems=("secret-sysA", "secret-sysB"), raters=("secret-r1", "secret-r2")
    )
    with changing(spine) as run:
        run("INSERT INTO teams (campaign_id, key, name) VALUES (%(id)s, 'bonn', 'Bonn')", found.id)
        run(
            """UPDATE enrolments SET team_id = (SELECT id FROM teams WHERE campaign_id = %(id)s)
               WHERE campaign_id = %(id)s AND rater_id = (SELECT id FROM raters
               WHERE campaign_id = %(id)s AND key = 'secret-r1')""",
            found.id,
        )
    return found


def once(what):
    """The header of a request that is made once."""
    return {"Idempotency-Key": f"{what}-0123456789abcdef"}


def heard(page):
    """Everything that reaches the browser from now on."""
    bodies: list[str] = []

    def keep(response):
        kind = response.headers.get("content-type", "")
        if "event-stream" not in kind and response.status == OK and "/assets/" not in response.url:
            bodies.append(f"{response.url}\n{response.text()}")

    page.on("response", keep)
    return bodies


def test_a_coordinator_sees_the_team_and_neither_systems_nor_scores(page, served, spine, live):
    bodies = heard(page)
    desk = enter(page, served.url, spine, "coordinator", campaign=live.key, team="bonn")
    page.get_by_role("link", name=live.key).click()
    expect(page.get_by_role("cell", name="secret-r1")).to_be_visible()
    ways = page.locator(".sidebar a").all_text_contents()
    assert ways == ["Overview", "People", "Raters"]  # quality: after the first judgments
    for way in ("raters", "quality"):
        desk.open(f"/campaigns/{live.key}/{way}")
        glance(page, f"coordinator {way}")
        shown = page.content()
        assert "secret-r2" not in shown
        bodies.append(shown)
    assert not [body for body in bodies if "secret-sys" in body or '"score"' in body]
    for refused in ("", "/reports", "/items", "/design", "/print", "/stability"):
        assert status(page, f"{served.url}/campaigns/{live.key}{refused}") == FORBIDDEN


def test_a_viewer_sees_results_and_no_rater(page, served, spine, live, demo):
    bodies = heard(page)
    desk = sign_in(page, served.url, spine, "viewer")
    desk.open(f"/campaigns/{live.key}/overview")
    expect(page.get_by_role("cell", name="secret-sysA")).to_be_visible()
    ways = page.locator(".sidebar a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
    assert f"/campaigns/{live.key}/raters" not in ways
    for way in (*ways, f"/campaigns/{live.key}/reports/card"):
        desk.open(way)
        bodies.append(page.content())
    for kind in ("card", "distributions", "document_scores"):
        desk.open(f"/campaigns/{demo}/reports/{kind}")
        bodies.append(page.content())
    assert not [body for body in bodies if "secret-r" in body or "rater-1" in body]
    for refused in ("raters", "quality", "items", "design", "texts", "audit"):
        assert status(page, f"{served.url}/campaigns/{live.key}/{refused}") == FORBIDDEN


def test_a_token_is_made_shown_once_and_revoked(manager):
    page = manager.page
    manager.open("/tokens")
    page.get_by_role("heading", name="Create a token").click()
    page.get_by_label("What it is for").fill("for the wall screen")
    page.get_by_role("button", name="Create token").click()
    secret = page.locator(".secret").last.inner_text()  # the first is the link of a person
    row = page.locator("tr", has_text="for the wall screen")
    expect(row).to_be_visible()
    check(page, "tokens")
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)
    page.get_by_label("State").select_option("ended or revoked")
    expect(row).to_contain_text("revoked")
    answer = httpx.get(f"{manager.url}/v1/me", headers={"Authorization": f"Bearer {secret}"}, timeout=60)
    assert answer.status_code == httpx.codes.UNAUTHORIZED


@pytest.mark.soak  # `test_hostile_names` has such names, and more that is hostile, on each of these pages
def test_hostile_names_are_text_on_every_page_of_a_campaign(manager, spine):
    found = collect(spine.database, key="hostile", raters=("r1",))
    with changing(spine) as run:
        for table in ("campaigns", "systems", "documents"):
            column = "id" if table == "campaigns" else "campaign_id"
            run(f"UPDATE {table} SET name = '{HOSTILE}' WHERE {column} = %(id)s", found.id)
    page = manager.page
    for path in ("overview", "texts", "raters", "items", "quality", "design", "reports", "audit"):
        manager.open(f"/campaigns/hostile/{path}")
        assert HOSTILE in page.locator("h1").inner_text()
        assert page.locator("img[src=x]").count() == 0
    assert page.evaluate("window.hacked") is None


def test_the_errors_of_an_item_are_drawn_where_they_were_marked(manager, demo):
    page = manager.page
    manager.open(f"/campaigns/{demo}/items?document=news-01&system=Birke")
    marks = page.locator(".judged mark.is-minor")
    expect(marks.first).to_have_text("beschlsosen")
    glance(page, "items")


@pytest.mark.parametrize(
    ("language", "said", "button"),
    [
        ("en", "The server cannot be reached. Press the button to try again.", "Show"),
        pytest.param(
            "de",
            "Der Server ist nicht erreichbar. Mit dem Knopf fragen Sie noch einmal.",
            "Zeigen",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_items_that_the_network_did_not_bring_are_asked_for_again_by_the_button(manager, demo, language, said, button):
    page = manager.page
    shown = page.locator("#said")
    show = page.get_by_role("button", name=button)
    items = f"/campaigns/{demo}/items?document=news-01&system=Birke&lang={language}"
    # What there is to choose from, then what was chosen.
    for cut, asks in (("**/systems?*", lambda: manager.open(items)), ("**/judgments?*", show.click)):
        page.route(cut, lambda route: route.abort(), times=1)
        with page.expect_event("requestfailed"):
            asks()
        expect(shown).to_have_text(said)
        assert shown.get_attribute("lang") is None  # in the page's own language
    show.click()
    expect(page.locator(".judged mark.is-minor").first).to_have_text("beschlsosen")
    expect(shown).to_be_empty()


def test_what_raters_report_is_answered_and_raters_are_paused(manager, spine, served):
    found = collect(spine.database, key="reported", raters=("r1",))
    with httpx.Client(base_url=served.url, headers=found.auth("r1"), timeout=60) as rater:
        rater.post(f"/v1/campaigns/{found.key}/lease", headers=once("lease")).raise_for_status()
        flag = {"reason": "bad_source", "item": 1, "segment": 1, "note": HOSTILE}
        task = found.tasks[0]
        rater.post(f"/v1/tasks/{task}/flags", json=flag, headers=once("flag")).raise_for_status()
        missing = {"seconds": 600, "reason": "the page was offline"}
        rater.post("/v1/me/hours/disputes", json=missing, headers=once("dispute")).raise_for_status()
    page = manager.page
    manager.open(f"/campaigns/{found.key}/problems")
    check(page, "problems")
    page.get_by_role("button", name="Answer r1").click()
    page.get_by_label("To r1").fill("the segment is left out")
    glance(page, "answering")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_text("No problem is open.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_label("Choose r1: bad source").check()
    page.get_by_role("button", name="Assign …").click()
    page.get_by_label("Name; empty").fill("Ada")
    page.get_by_role("button", name="Assign", exact=True).click()
    expect(page.get_by_role("cell", name="Ada")).to_be_visible()
    check(page, "a problem of somebody")
    page.get_by_role("button", name="Accept the dispute of r1").click()
    page.get_by_label("Reason for paying 10 minutes").fill("so it was")
    page.get_by_role("button", name="Accept", exact=True).click()
    expect(page.get_by_text("No dispute is open.")).to_be_visible()
    page.locator("#hours").get_by_label("State").select_option("answered disputes")
    expect(page.get_by_role("cell", name="accepted")).to_be_visible()
    assert "hours-answered=true" in page.url
    manager.open(f"/campaigns/{found.key}/raters")
    page.get_by_role("button", name="Pause: r1").click()
    expect(page.get_by_role("cell", name="paused")).to_be_visible()
