"""The pages: signing in, the list of campaigns, a ranking; who may see what; nothing runs that is not ours."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sqlalchemy import text

from app.demo import PLANTED_ORDER
from app.reports.registry import ALL as REPORTS
from app.services.campaigns import analysis_locks, recipes
from app.services.campaigns.campaigns import NewCampaign, create_campaign
from app.services.jobs import rankings
from app.ui import assets
from app.ui.manager.ranking import make_ranking_address
from tests.services.data.test_imports import MQM
from tests.spine import Spine
from tests.ui.conftest import begin
from tests.working import drained

TEMPLATES = Path(__file__).parents[2] / "app" / "ui" / "templates"
FORM, METHOD = re.compile(r"<form\b[^>]*>"), re.compile(r' method="(\w+)"')
# What is picked there belongs into the address, which can be passed on; nothing is typed that is secret.
ASK_BY_ADDRESS = {f"manager/{name}.html" for name in ("campaigns", "ranking", "recipes", "report", "series")}
HOSTILE = '"><script>alert(1)</script>{{7*7}}'


class Page(HTMLParser):
    """A parsed page: every element with its attributes, and the texts of table cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.in_cell = False
        self.inline = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.in_cell = tag == "td"
        if self.in_cell:
            self.cells.append("")

    def handle_endtag(self, tag):
        self.in_cell = self.in_cell and tag != "td"

    def handle_data(self, data):
        if self.in_cell:
            self.cells[-1] += data
        last, attributes = self.elements[-1] if self.elements else ("", {})
        # A block of data is no script: nothing runs it, and modules read it as text.
        if last in ("script", "style") and attributes.get("type") != "application/json":
            self.inline += data.strip()

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def check_strict(answer):
    """The policy is strict, and the page keeps it: no inline script or style, no other host."""
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    page = Page(answer.text)
    assert page.inline == ""
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("href", "src", "action"):
            assert not re.match(r"(https?:)?//|javascript:|data:", attributes.get(name) or "")
    return page


def test_the_landing_page_asks_for_a_token_and_keeps_the_policy(browser):
    answer = browser.get("/")

    page = check_strict(answer)
    assert answer.status_code == 200
    assert page.of("input")[0]["type"] == "password"
    assert [s["type"] for s in page.of("script")] == ["module"]


def test_whoever_is_signed_in_is_shown_the_way_on_by_the_landing_page(browser, sign_in):
    assert [link["href"] for link in check_strict(browser.get("/")).of("a") if link.get("class") == "button"] == []
    sign_in("manager")
    assert [link["href"] for link in check_strict(browser.get("/")).of("a") if link.get("class") == "button"] == [
        "/campaigns"
    ]


@pytest.mark.parametrize("path", ["/campaigns", "/campaigns/demo"])
def test_a_browser_that_is_not_signed_in_is_led_to_the_landing_page_and_back(browser, path):
    answer = browser.get(path)

    assert answer.status_code == 303
    assert answer.headers["location"] == "/#next=" + path.replace("/", "%2F")


def test_a_program_that_is_not_signed_in_gets_a_problem_instead_of_a_page(browser):
    answer = browser.get("/campaigns", headers={"Accept": "application/json"})

    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_list_shows_every_campaign_with_a_link(sign_in, demo):
    answer = sign_in().get("/campaigns")

    page = check_strict(answer)
    assert f"/campaigns/{demo}" in [a.get("href") for a in page.of("a")]
    assert "en → de" in answer.text


def test_an_empty_list_says_what_to_do_next(sign_in):
    assert "Managers create campaigns" in sign_in().get("/campaigns").text
    assert "plumbline import" in sign_in("manager").get("/campaigns").text


def test_a_long_list_goes_on_on_further_pages(sign_in, database, monkeypatch):
    monkeypatch.setattr("app.ui.manager.campaigns.ON_A_PAGE", 2)
    with database.transaction() as session:
        for key in ("a", "b", "c"):
            create_campaign(session, NewCampaign(key=key, protocol="mqm"), actor="test")
    browser = sign_in()

    first = Page(browser.get("/campaigns").text)
    following = next(a["href"] for a in first.of("a") if "cursor=" in (a.get("href") or ""))
    second = browser.get(following).text

    assert "/campaigns/b/overview" in [a.get("href") for a in first.of("a")]
    assert "/campaigns/c/overview" in second
    assert "cursor=" not in second


def test_a_campaign_that_is_closed_between_two_pages_of_the_list_stands_on_the_second(sign_in, database, monkeypatch):
    monkeypatch.setattr("app.ui.manager.campaigns.ON_A_PAGE", 2)
    with database.transaction() as session:
        for key in ("a", "b+b", "c"):
            create_campaign(session, NewCampaign(key=key, protocol="mqm"), actor="test")
    browser = sign_in()

    first = Page(browser.get("/campaigns").text)
    following = next(a["href"] for a in first.of("a") if "cursor=" in (a.get("href") or ""))
    with database.transaction() as session:
        session.execute(text("UPDATE campaigns SET state = 'closed' WHERE key = 'b+b'"))
    second = Page(browser.get(following).text)

    shown = [a["href"] for a in second.of("a") if (a.get("href") or "").startswith("/campaigns/")]
    assert shown == ["/campaigns/c/overview", "/campaigns/b%2Bb/overview"]


def test_the_ranking_shows_the_systems_by_rank_the_picture_and_every_representation(sign_in, demo):
    answer = sign_in().get(f"/campaigns/{demo}")

    page = check_strict(answer)
    order = [cell.strip().removesuffix(" (human)") for cell in page.cells[2:88:11]]
    assert tuple(order) == PLANTED_ORDER
    assert len([row for row in page.of("tr") if row.get("class") == "break"]) >= 3
    assert page.of("img")[1]["src"] == make_ranking_address(demo, ".svg", "recommended")
    assert page.of("img")[1]["alt"]
    hrefs = [a.get("href") for a in page.of("a")]
    assert all(
        make_ranking_address(demo, suffix, "recommended") in hrefs for suffix in ("", ".csv", ".tex", ".md", ".svg")
    )


def test_all_pairs_are_a_picture_on_the_ranking_and_on_the_printed_page(sign_in, demo):
    known = sign_in()
    at = f"{make_ranking_address(demo, '.svg', 'recommended')}&picture=pairs"

    ranking, printed = [check_strict(known.get(f"/campaigns/{demo}{way}")) for way in ("", "/print")]

    assert [one["alt"][:19] for page in (ranking, printed) for one in page.of("img") if one["src"] == at] == [
        "Matrix of all pairs"
    ] * 2
    hrefs = [a.get("href") for a in ranking.of("a")]
    assert at in hrefs
    assert f"{make_ranking_address(demo, '.csv', 'recommended')}&table=pairs" in hrefs
    assert b"pairs" in known.get(at).content
    assert (
        b"better"
        in known.get(f"{make_ranking_address(demo, '.csv', 'recommended')}&table=pairs").content.splitlines()[0]
    )


def test_another_recipe_is_chosen_by_the_form(sign_in, demo):
    page = check_strict(sign_in().get(f"/campaigns/{demo}?recipe=google-mqm"))

    chosen = [o for o in page.of("option") if "selected" in o]
    assert len(chosen) == 1
    assert page.of("img")[1]["src"] == make_ranking_address(demo, ".svg", "google-mqm")


def test_the_recipes_of_the_campaign_and_the_locked_one_can_be_chosen(sign_in, demo, database):
    with database.transaction() as session:
        recipes.put_named_recipe(session, demo, "by-segment", {"name": "google-mqm", "alpha": 0.01}, actor="test")
        analysis_locks.set_or_amend_analysis_lock(
            session, demo, analysis_locks.AnalysisLockRequest(recipe="by-segment", reason="late"), actor="test"
        )
    offered = sign_in().get(f"/campaigns/{demo}").text
    assert offered.index("<option>by-segment</option>") < offered.index("<option>google-mqm</option>")
    for name in ("by-segment", "locked"):
        answer = sign_in().get(f"/campaigns/{demo}?recipe={name}")
        check_strict(answer)
        assert f"<option selected>{name}</option>" in answer.text
        assert "Recipe by-segment, checked against: nothing" in answer.text
        assert f"ranking.csv?recipe={name}" in answer.text


def test_a_ranking_that_takes_long_is_waited_for_on_every_page_that_has_it(sign_in, database, monkeypatch):
    with database.transaction() as session:
        create_campaign(session, NewCampaign(key="mqm", protocol="mqm", series="wmt"), actor="test")
    Spine(database.url, database).take("mqm", "mqm-tsv", MQM.encode())
    with database.transaction() as session:
        recipes.put_named_recipe(
            session, "mqm", "odd", {"name": "google-mqm", "scoring": {"from": "spans", "profile": "nope"}}, actor="t"
        )
    monkeypatch.setattr(rankings, "AT_ONCE", 0.0)
    browser = sign_in()
    paths = ["/campaigns/mqm", "/campaigns/mqm/print?recipe=google-mqm", "/campaigns/mqm/recipes?recipe=srp-paper"]
    paths.append("/campaigns/mqm/series?recipe=wmt22")
    for path in (*paths, "/campaigns/mqm?recipe=odd"):
        assert begin(browser, browser.get(path).text).status_code == 202, path
        answer = browser.get(path)
        waiting = check_strict(answer)
        assert (answer.status_code, len(waiting.of("progress"))) == (200, 1), path
        assert "/manager/job." in answer.text, "the module that follows it"
    drained(database)
    for path in paths:
        answer = browser.get(path)
        shown = check_strict(answer)
        assert (answer.status_code, len(shown.of("progress"))) == (200, 0), path
        assert shown.of("table"), path
    misfit = browser.get("/campaigns/mqm?recipe=odd")
    assert misfit.status_code == 422
    assert "This recipe does not fit this campaign: " in misfit.text


def test_a_recipe_that_does_not_exist_falls_back_to_the_recommended_one(sign_in, demo):
    answer = sign_in().get(f"/campaigns/{demo}", params={"recipe": HOSTILE})

    assert answer.status_code == 200
    assert "<script>alert" not in answer.text


def test_the_list_leads_to_the_ranking_where_there_are_judgments_and_else_to_the_overview(sign_in, demo, database):
    with database.transaction() as session:
        create_campaign(session, NewCampaign(key="new", protocol="mqm"), actor="test")

    names = [a["href"] for a in Page(sign_in().get("/campaigns").text).of("a") if a.get("class") == "name"]
    assert sorted(names) == [f"/campaigns/{demo}", "/campaigns/new/overview"]


def test_a_campaign_without_judgments_says_so(sign_in, database):
    with database.transaction() as session:
        create_campaign(session, NewCampaign(key="new", protocol="mqm"), actor="test")

    answer = sign_in().get("/campaigns/new")

    assert answer.status_code == 200
    assert "There are no ratings yet" in answer.text
    assert {"class": "button", "href": "/campaigns/new/overview"} in Page(answer.text).of("a")


def test_a_hostile_campaign_name_is_text(sign_in, database):
    with database.transaction() as session:
        create_campaign(session, NewCampaign(key="x", name=HOSTILE, protocol="mqm"), actor="test")
    browser = sign_in()

    for path in ("/campaigns", "/campaigns/x"):
        answer = browser.get(path)
        check_strict(answer)
        assert "&lt;script&gt;alert(1)&lt;/script&gt;{{7*7}}" in answer.text


@pytest.mark.parametrize("path", ["/campaigns/none", "/campaigns/a%20b", "/campaigns/%3Cscript%3E"])
def test_an_unknown_campaign_is_a_page_that_says_so(sign_in, path):
    answer = sign_in().get(path)

    check_strict(answer)
    assert answer.status_code == 404


def test_a_credential_of_one_campaign_sees_no_other(sign_in, database, demo):
    with database.transaction() as session:
        create_campaign(session, NewCampaign(key="other", protocol="mqm"), actor="test")
    browser = sign_in(campaign=demo)

    assert browser.get(f"/campaigns/{demo}").status_code == 200
    assert browser.get("/campaigns/other").status_code == 404
    assert "other" not in browser.get("/campaigns").text


@pytest.mark.parametrize("role", ["coordinator", "frontend"])
def test_roles_without_a_right_to_scores_see_none(sign_in, demo, role):
    answer = sign_in(role=role).get(f"/campaigns/{demo}")

    assert answer.status_code == 403
    assert not [name for name in PLANTED_ORDER if name in answer.text]


def test_pages_are_never_stored_and_assets_are_kept_for_good(sign_in):
    browser = sign_in()

    assert browser.get("/campaigns").headers["cache-control"] == "no-store"
    for name, asset in assets.load_static_files().items():
        answer = browser.get(assets.asset_address(name))
        assert answer.content == asset.content
        assert "immutable" in answer.headers["cache-control"]
    assert browser.get("/assets/0000000000000000/style.css").status_code == 404


def test_signing_out_by_the_pages_proof_ends_the_session(sign_in):
    browser = sign_in()
    page = Page(browser.get("/campaigns").text)
    proof = next(m["content"] for m in page.of("meta") if m.get("name") == "csrf")

    headers = {"X-CSRF-Token": proof, "Sec-Fetch-Site": "same-origin"}
    assert browser.delete("/v1/session", headers=headers).status_code == 204

    assert browser.get("/campaigns").status_code == 303


def test_the_first_page_weighs_little(sign_in, demo):
    answer = sign_in().get(f"/campaigns/{demo}")

    page = Page(answer.text)
    named = {attributes.get("href") or attributes.get("src") or "" for _, attributes in page.elements}
    loaded = [asset for name, asset in assets.load_static_files().items() if assets.asset_address(name) in named]
    assert len(loaded) == 4
    assert (
        len(answer.content) + sum(len(asset.content) for asset in loaded) < 95_000
    )  # some 17 kB as they are sent, by gzip


def test_a_form_that_is_sent_before_its_script_is_there_stays_as_it_is():
    """Where it has no method it would be a request whose address holds what was typed: on the first page, the token."""
    found = [(path, form) for path in TEMPLATES.rglob("*.html") for form in FORM.findall(path.read_text("utf-8"))]
    shown = [(path.relative_to(TEMPLATES).as_posix(), METHOD.findall(form)) for path, form in found]
    assert len(shown) > 15
    assert not [one for one in shown if one[1] != ["get" if one[0] in ASK_BY_ADDRESS else "dialog"]]


OF_RATERS = sorted((kind.name, field) for kind in REPORTS.values() for field in kind.naming)


@pytest.mark.parametrize(("report", "field"), OF_RATERS)
def test_a_report_whose_question_names_raters_is_no_page_for_a_viewer(demo, sign_in, report, field):
    path = f"/campaigns/{demo}/reports/{report}"
    assert sign_in("viewer").get(path, params={field: "rater-1"}).status_code == 403
    assert sign_in("viewer").get(path).status_code == 200
    assert sign_in("manager").get(path, params={field: "rater-1"}).status_code == 200
