"""Steering a campaign from its pages: a new plan, exclusions, jobs; comparisons, series, files; and who sees what."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from app.api.kit import job_responses
from app.api.kit.job_responses import JobOut
from app.domain.recipe import NAMED, ExclusionTarget
from app.services.jobs import exclusion_preview, rankings
from app.services.plans import compile_time_estimate
from tests.browser.conftest import changing
from tests.browser.desk import glance, sign_in, status
from tests.browser.test_accessible import check
from tests.judged_demo import load_judged
from tests.working import draining

LONG = 60_000  # milliseconds: of what is worked out while the page waits
FORBIDDEN = 403
HOSTILE = "<img src=x onerror=window.hacked=1>"
SEEN = ("lock", "jobs", "comparisons", "comparisons/xsts", "series")
MANAGED = (
    "settings",
    "guidelines",
    "tutorial",
    "questionnaires",
    "qualification",
    "invitations",
    "replan",
    "exclusions",
    "exports",
    "clone",
)


@pytest.fixture(scope="module")
def demo(spine):
    """A campaign with judgments."""
    return load_judged(spine.database)


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


def test_after_a_dropout_a_new_plan_is_looked_at_and_then_done(manager, ask):
    key = ask.opened("moving")
    ask("PUT", f"/campaigns/{key}/documents/late", {"segments": [{"source": "It came late."}]})
    for system in ("good", "fair", "poor"):
        ask("PUT", f"/campaigns/{key}/systems/{system}/outputs/late", {"segments": [f"Spät, {system}."]})
    page = manager.page
    manager.open(f"/campaigns/{key}/replan")
    done = page.get_by_role("button", name="Apply the new plan")
    expect(done).to_be_disabled()
    page.get_by_role("button", name="r2 has left").click()
    page.get_by_role("button", name="They have left").click()
    expect(page.locator(".toast")).to_contain_text("1 rater has left.")
    expect(page.get_by_text("raters gone: r2")).to_be_visible()
    page.get_by_role("button", name="Withdraw poor").click()
    expect(page.get_by_role("button", name="poor takes part")).to_be_visible()
    page.get_by_role("button", name="Capacity of r3").click()
    page.get_by_label("Maximum amount of work").fill("500")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("cell", name="500 items")).to_be_visible()
    check(page, "what changed")
    page.get_by_label("Reason", exact=True).fill("r2 has left")
    page.get_by_role("button", name="Preview the changes").click()
    moves = page.get_by_role("region", name="What happens to the ratings")
    expect(moves).to_contain_text("go to another rater", timeout=LONG)
    expect(moves).to_contain_text("are new")
    glance(page, "preview the new plan")
    assert ask("GET", f"/campaigns/{key}/plan").json()["version"] == 1
    page.get_by_role("checkbox", name="late", exact=True).uncheck()
    expect(done).to_be_disabled()  # what was looked at was another plan
    page.get_by_role("checkbox", name="late", exact=True).check()
    page.get_by_role("button", name="Preview the changes").click()
    expect(done).to_be_enabled(timeout=LONG)
    done.click()
    expect(page.get_by_role("heading", name="Plan 2 is in force")).to_be_visible(timeout=LONG)
    plan = ask("GET", f"/campaigns/{key}/plan").json()
    assert (plan["version"], plan["change"]["reason"]) == (2, "r2 has left")
    assert not [one for one in plan["report"]["raters"] if one["rater"] == "r2" and one["tasks"]]
    assert {one["document"] for one in plan["change"]["changes"] if one["what"] == "new"} == {"late"}


def test_a_plan_that_a_job_compiles_is_waited_for_and_then_frozen(manager, ask, spine, monkeypatch):
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", 0.0)  # as if the campaign were large
    monkeypatch.setattr(job_responses, "WAIT", 0)
    key = ask.draft("large")
    ask("PUT", f"/campaigns/{key}/raters/r1", {})
    page = manager.page
    manager.open(f"/campaigns/{key}/design")
    page.get_by_label("Share rated twice").fill("")
    look, place = page.get_by_role("button", name="Preview the plan"), page.locator("#plan")
    look.click()
    expect(place).to_contain_text("queued")
    expect(place.locator("progress")).to_be_visible()
    check(page, "a plan that is compiled")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator("#design .said")).to_contain_text("cancelled")
    expect(place).to_contain_text("There is no plan yet.")
    with draining(spine.database):
        look.click()
        expect(page.get_by_role("heading", name="Preview of the plan")).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Freeze it").click()
    expect(page.get_by_role("heading", name="Plan 1, frozen")).to_be_visible(timeout=LONG)
    assert [one["state"] for one in ask("GET", f"/campaigns/{key}/jobs").json()["items"]] == ["done"]


def test_a_plan_that_is_looked_at_is_a_map_and_a_file(manager, ask):
    key = ask.draft("mapped", protocol="mqm")
    for rater in ("r1", "r2"):
        ask("PUT", f"/campaigns/{key}/raters/{rater}", {})
    page = manager.page
    manager.open(f"/campaigns/{key}/design")
    page.get_by_label("Share rated twice").fill("")
    page.get_by_label("Ratings of an item").fill("2")
    page.get_by_role("button", name="Preview the plan").click()
    expect(page.get_by_role("heading", name="Preview of the plan")).to_be_visible(timeout=LONG)
    with page.expect_download() as waited:
        page.locator("#plan .fetch").get_by_role("link", name="JSON").click()
    assert waited.value.suggested_filename == "mapped-plan.json"
    plan = json.loads(waited.value.path().read_text())
    assert (plan["version"], ask("GET", f"/campaigns/{key}").json()["state"]) == (None, "draft")
    assert plan["report"]["srp"]["mean_significant_pairs"] < 1
    expect(page.locator("#plan")).to_contain_text("a high SRP says little here")
    for label, counts in (
        ("Items of each system by rater", plan["report"]["rater_system"]),
        ("Tasks that contain both systems", plan["report"]["system_system"]),
    ):
        cells = (
            page.get_by_role("region", name=label)
            .locator("tbody tr")
            .evaluate_all("rows => rows.map((row) => [...row.cells].map((cell) => [cell.textContent, cell.className]))")
        )
        shown = {row[0][0]: [(int(text), look.split("heat-")[1]) for text, look in row[1:]] for row in cells}
        most = max(n for of in counts.values() for n in of.values())
        assert {name: [n for n, _ in row] for name, row in shown.items()} == {
            name: [of[system] for system in sorted(of)] for name, of in counts.items()
        }
        assert {look for row in shown.values() for n, look in row if n == most} == {"5"}
        assert {look for row in shown.values() for n, look in row if n == 0} <= {"0"}
    darkest, ground = (
        page.locator(where).first.evaluate("cell => getComputedStyle(cell).backgroundColor")
        for where in ("td.heat-5", "#plan td:not([class*=heat])")
    )
    assert darkest != ground
    check(page, "a plan as a map")


SHOWN_ROLES = "role=admin&role=manager&role=coordinator&role=viewer&role=frontend"


def test_pages_that_list_something_lead_to_it_as_json(manager, ask):
    key = ask.opened("links")
    item = {"source": "One.", "choices": ["yes", "no"], "choice": "yes"}
    ask("PUT", f"/campaigns/{key}/qualification", {"items": [item], "pass_mark": 1.0, "attempts": 3})
    known = {"text": "Gut.", "payload": {"protocol": "da", "score": 90}, "tolerance": {"score": 10}}
    for kind in ("tutorial", "attention"):
        segment = {"source": "Well.", "meta": {kind: known}}
        ask("PUT", f"/campaigns/{key}/documents/{kind}", {"kind": kind, "segments": [segment]})
    at, page = f"/v1/campaigns/{key}", manager.page
    for path, lists in {
        f"/campaigns/{key}/raters": [f"{at}/raters?sort=key&limit=200"],
        f"/campaigns/{key}/tutorial": [
            f"{at}/documents?limit=200",
            f"{at}/tutorial/results?sort=rater&limit=200",
            f"{at}/attention-checks/results?sort=rater&limit=200",
        ],
        f"/campaigns/{key}/qualification": [f"{at}/qualification", f"{at}/qualification/results?sort=rater&limit=200"],
        f"/campaigns/{key}/replan": [f"{at}/plan", f"{at}/raters?sort=key&limit=200"],
        f"/campaigns/{key}/audit": [f"/v1/audit?campaign={key}&limit=200"],
        "/audit": ["/v1/audit?limit=200"],
        "/tokens": [f"/v1/tokens?sort=-made&{SHOWN_ROLES}&live=true&limit=200"],
    }.items():
        manager.open(path)
        found = page.locator(".fetch a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
        assert (path, found) == (path, lists)
        for address in found:
            answer = ask("GET", address.removeprefix("/v1"))
            assert answer.headers["content-type"] == "application/json"
            assert "limit=200" in address or "next" not in answer.json()


def test_a_campaign_without_a_plan_has_nothing_to_plan_anew(manager, ask):
    ask.draft("unplanned")
    manager.open("/campaigns/unplanned/replan")
    expect(manager.page.get_by_text("There is no plan yet to change.")).to_be_visible()
    expect(manager.page.get_by_role("button", name="Apply the new plan")).to_be_hidden()


def look_later(page, spine, demo, monkeypatch, wanted):
    """The next preview of an exclusion is a job, as the server would make it, were the campaign large."""

    def later(route):
        monkeypatch.setattr(rankings, "AT_ONCE", 0.0)
        view = exclusion_preview.find_or_queue_exclusion_preview(
            spine.database, demo, wanted, recipe=NAMED["recommended"]
        )
        route.fulfill(status=202, json=JobOut.from_view(view).model_dump(mode="json"))

    page.route("**/exclusions?dry_run=*", later, times=1)


def test_a_system_is_excluded_after_the_preview_and_the_exclusion_is_lifted(manager, demo, ask, spine, monkeypatch):
    page = manager.page
    look_later(page, spine, demo, monkeypatch, ExclusionTarget("system", "Birke"))
    manager.open(f"/campaigns/{demo}/exclusions")
    done = page.get_by_role("button", name="Exclude", exact=True)
    page.get_by_label("Leave out a").select_option("system")
    expect(page.locator("#known option")).not_to_have_count(0)
    page.get_by_label("Key", exact=True).fill("Birke")
    page.get_by_label("Reason", exact=True).fill(HOSTILE)
    expect(done).to_be_disabled()
    page.get_by_role("button", name="Preview the effect").click()
    expect(page.locator("#effect")).to_contain_text("queued")
    expect(page.locator("#effect progress")).to_be_visible()
    with draining(spine.database):
        effect = page.get_by_role("region", name="Ranking before and after")
        expect(effect).to_contain_text("not ranked", timeout=LONG)
    glance(page, "what an exclusion would do")
    page.get_by_label("Key", exact=True).fill("Eibe")
    expect(done).to_be_disabled()  # its preview was another one's
    page.get_by_label("Key", exact=True).fill("Birke")
    page.get_by_role("button", name="Preview the effect").click()
    expect(done).to_be_enabled(timeout=LONG)
    done.click()
    standing = page.get_by_role("region", name="What is left out")
    expect(standing).to_contain_text("system Birke")
    page.get_by_role("button", name="Lift the exclusion of Birke").click()
    page.get_by_label("Why it no longer holds").fill("it is back")
    page.get_by_role("button", name="Lift", exact=True).click()
    expect(standing).to_contain_text("it is back")
    assert page.evaluate("window.hacked") is None
    (one,) = ask("GET", f"/campaigns/{demo}/exclusions").json()["items"]
    assert (one["key"], one["lifted"]["reason"]) == ("Birke", "it is back")


@pytest.mark.soak  # the page of exclusions waits for one above, and `test_manager_way` has the dialog without a job
def test_a_preview_on_the_page_of_quality_that_a_job_makes_is_waited_for(manager, demo, ask, spine, monkeypatch):
    page = manager.page
    look_later(page, spine, demo, monkeypatch, ExclusionTarget("rater", "rater-1"))
    manager.open(f"/campaigns/{demo}/quality")
    page.get_by_role("button", name="Exclude rater-1").click()
    dialog = page.get_by_role("dialog")
    done = dialog.get_by_role("button", name="Exclude", exact=True)
    dialog.get_by_label("Reason").fill("rates everything alike")
    dialog.get_by_role("button", name="Preview the effect").click()
    expect(dialog.get_by_role("status")).to_contain_text("queued")
    expect(dialog.locator("progress")).to_be_visible()
    expect(done).to_be_disabled()
    with draining(spine.database):
        expect(dialog.get_by_role("region", name="Ranking before and after")).to_be_visible(timeout=LONG)
    expect(done).to_be_enabled()
    assert ask("GET", f"/campaigns/{demo}/jobs").json()["items"][0]["state"] == "done"


def test_jobs_are_listed_with_how_far_they_are_and_cancelled(manager, demo, ask):
    ask("GET", f"/campaigns/{demo}/reports/validation?studies=3", Prefer="wait=0")
    page = manager.page
    manager.open(f"/campaigns/{demo}/jobs")
    row = page.get_by_role("row", name="validation").first
    expect(row).to_contain_text("waiting")
    check(page, "jobs")
    assert page.locator(".fetch a").get_attribute("href") == f"/v1/campaigns/{demo}/jobs?limit=200"
    row.get_by_role("button", name="Cancel the job for validation").click()
    page.get_by_role("button", name="Cancel it").click()
    expect(row).to_contain_text("cancelled")
    assert ask("GET", f"/campaigns/{demo}/jobs").json()["items"][0]["state"] == "cancelled"


COMPARISONS = ("linking", "protocols", "postediting_da", "robustness", "ui", "xsts")


@pytest.mark.parametrize("kinds", [COMPARISONS[:1], pytest.param(COMPARISONS, marks=pytest.mark.soak)], ids=len)
def test_campaigns_are_compared_with_a_picture(manager, demo, ask, spine, kinds):
    twin = f"twin-{len(kinds)}"
    ask("POST", f"/campaigns/{demo}/clone", {"key": twin, "systems": True})
    ask("POST", f"/campaigns/{twin}/carry-over", {"from": demo})
    page = manager.page
    manager.open(f"/campaigns/{demo}/comparisons")
    page.get_by_role("link", name="Agreement between campaigns").click()
    page.get_by_role("checkbox", name=twin).check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#job progress")).to_be_visible()
    with draining(spine.database):
        expect(page.locator(".fetch a")).to_have_count(5, timeout=LONG)
    expect(page.locator("svg.plot").first).to_be_visible()
    check(page, "a comparison")
    for kind in kinds:
        manager.open(f"/campaigns/{demo}/comparisons/{kind}?with={twin}")
        expect(page.locator(".fetch a, .note[role=status], [data-begin]").first).to_be_visible()
        glance(page, f"comparison {kind}")
    manager.open(f"/campaigns/{demo}/comparisons/linking?with=nowhere")
    expect(page.get_by_role("heading", level=1)).to_contain_text("no such campaign")


def test_the_campaigns_of_a_series_stand_in_one_table(manager, demo, ask):
    for key in ("pair-a", "pair-b"):
        ask("POST", f"/campaigns/{demo}/clone", {"key": key, "series": "pairs-of-two", "systems": True})
        ask("POST", f"/campaigns/{key}/carry-over", {"from": demo})
    page = manager.page
    manager.open(f"/campaigns/{demo}/series")
    expect(page.get_by_text("This campaign does not belong to a series.")).to_be_visible()
    assert ask("GET", f"/campaigns/{demo}").json()["state"] == "draft"
    expect(page.get_by_role("link", name="Choose a series")).to_have_attribute(
        "href", f"/campaigns/{demo}/settings#series"
    )
    manager.open("/campaigns/pair-a/series?recipe=google-mqm")
    expect(page.locator(".members li")).to_contain_text(["(this one) pair-a draft", "pair-b draft"])
    table = page.get_by_role("region", name="Rank, and cluster in brackets, by campaign")
    expect(table.get_by_role("columnheader", name="pair-b")).to_be_visible()
    expect(page.locator("svg.plot")).to_be_visible()
    check(page, "a series")


def test_files_are_fetched_from_the_page_that_lists_them(manager, demo):
    page = manager.page
    manager.open(f"/campaigns/{demo}/exports")
    with page.expect_download() as waited:
        page.get_by_role("link", name="jsonl", exact=True).click()
    path = waited.value.path()
    assert json.loads(path.read_text().splitlines()[0])["version"] == 1
    assert page.get_by_role("link", name="Download the bundle").get_attribute("href").endswith("/exports/bundle")


def test_on_a_phone_the_way_to_this_page_is_in_sight(manager, demo):
    page = manager.page
    page.set_viewport_size({"width": 360, "height": 740})
    for way in ("audit", "exclusions", "overview"):
        manager.open(f"/campaigns/{demo}/{way}")
        folded = page.locator(".sidebar > summary")
        expect(folded).to_contain_text(way.capitalize())
        menu = page.locator(".sidebar").bounding_box()
        assert menu
        assert menu["height"] < 60  # the page itself begins on the first screen
        folded.click()
        expect(page.locator(".sidebar [aria-current=page]").last).to_be_visible()
        assert page.evaluate("window.scrollY") == 0


def test_a_viewer_sees_what_is_locked_and_compared_and_who_nobody_is(page, served, spine, demo):
    desk = sign_in(page, served.url, spine, "viewer")
    for way in SEEN:
        desk.open(f"/campaigns/{demo}/{way}")
        shown = page.content()
        assert "rater-1" not in shown
        assert page.locator("main form[id]").count() == 0
    for way in MANAGED:
        assert status(page, f"{served.url}/campaigns/{demo}/{way}") == FORBIDDEN


def test_a_coordinator_opens_none_of_them(page, served, spine, ask):
    key = ask.draft("teamed")
    ask("PUT", f"/campaigns/{key}/teams/bonn", {"name": "Bonn"})
    sign_in(page, served.url, spine, "coordinator", campaign=key, team="bonn")
    for way in (*SEEN, *MANAGED):
        assert status(page, f"{served.url}/campaigns/{key}/{way}") == FORBIDDEN


def test_whose_credential_is_good_for_one_campaign_is_told_so(page, served, spine, ask):
    key = ask.draft("bound")
    desk = sign_in(page, served.url, spine, "manager", campaign=key)
    for way in ("clone", "comparisons"):
        desk.open(f"/campaigns/{key}/{way}")
        expect(page.get_by_text("Your access is limited to this campaign.")).to_be_visible()
    assert page.goto(f"{served.url}/campaigns/{key}/comparisons/linking").status == FORBIDDEN


@pytest.mark.soak  # `test_hostile_names` has such names, and more that is hostile, on each of these pages
def test_hostile_names_are_text_on_these_pages_too(manager, spine, ask):
    key = ask.opened("hostile-too")
    found = ask("GET", f"/campaigns/{key}").json()
    assert found["state"] == "open"
    ((identity,),) = spine.ask(f"SELECT id FROM campaigns WHERE key = '{key}'")
    with changing(spine) as run:
        for table in ("campaigns", "systems", "documents"):
            column = "id" if table == "campaigns" else "campaign_id"
            run(f"UPDATE {table} SET name = '{HOSTILE}' WHERE {column} = %(id)s", identity)
    page = manager.page
    for way in (*SEEN, *MANAGED):
        manager.open(f"/campaigns/{key}/{way}")
        assert HOSTILE in page.locator("h1").inner_text()
        assert page.locator("img[src=x]").count() == 0
    assert page.evaluate("window.hacked") is None
