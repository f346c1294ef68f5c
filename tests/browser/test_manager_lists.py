"""What the pages of managers read: lists that are long, to their end; and what the network or the server kept back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from app.api import flags, raters, tokens
from app.api.kit import job_responses
from app.api.models import hours
from tests.browser.desk import enter_with, glance, sign_in

MANY = 1105
EVERY = 2000  # milliseconds between looks at jobs
TRIED_AGAIN = 5000  # milliseconds after which progress that did not come is asked for again
CUT = "The server cannot be reached. Try again in a moment."
AGAIN = "Retry"
QUALIFICATION = {"items": [{"source": "One.", "choices": ["yes", "no"], "choice": "yes"}], "pass_mark": 1.0}
READ_AT_FIRST = (  # by modules, once the page is there
    "texts",
    "raters",
    "design",
    "quality",
    "problems",
    "lock",
    "settings",
    "guidelines",
    "tutorial",
    "questionnaires",
    "webhooks",
    "qualification",
    "invitations",
    "replan",
    "exclusions",
    "audit",
    "jobs",
)
# Lists, one that is followed, forms of fields and of texts, and what is made of several readings.
ONE_OF_EACH = ("raters", "design", "quality", "settings", "guidelines", "jobs")


@pytest.fixture(scope="module")
def draft(ask):
    """A campaign whose lists the tests make long."""
    return ask.draft("long-lists")


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


def listing(page, path, *entries):
    """Answer for the interface with entries, in its pages; of flags, those that are asked for."""

    def answer(route):
        query = parse_qs(urlsplit(route.request.url).query)
        wanted = query.get("answered", [None])[0]
        found = [one for one in entries if wanted is None or (one["answer"] is not None) == (wanted == "true")]
        if "role" in query:
            found = [one for one in found if one["role"] in query["role"] and str(one["live"]).lower() in query["live"]]
        start, limit = int(query.get("cursor", ["0"])[0]), int(query.get("limit", ["50"])[0])
        end = start + limit
        body = {"items": found[start:end], "next": str(end) if end < len(found) else None}
        route.fulfill(body=json.dumps(body), content_type="application/json")

    page.route(f"**{path}?*", answer)


def many(example, **each):
    """A page's example, again and again, with what is each one's own."""
    plain = example.model_dump(mode="json")
    return [{**plain, **{name: value(n) for name, value in each.items()}} for n in range(MANY)]


# What is over a thousand is shown with its comma by `test_more_problems_than_the_server_changes_at_once_…`.
@pytest.mark.parametrize("raters_in_all", [205, pytest.param(MANY, marks=pytest.mark.soak)])
def test_all_raters_can_be_seen(manager, ask, draft, raters_in_all):
    page, theirs = manager.page, many(raters.EXAMPLE, key="r{:04}".format)[:raters_in_all]
    listing(page, f"/campaigns/{draft}/raters", *theirs)
    rows = page.get_by_role("region", name="Raters", exact=True).locator("tbody tr")
    manager.open(f"/campaigns/{draft}/raters")
    for first in range(0, len(theirs), 100):
        expect(page.get_by_text(f"{first + 1:,} to {min(first + 100, len(theirs)):,}")).to_be_visible()
        expect(rows.first).to_contain_text(f"r{first:04}")
        if first + 100 < len(theirs):
            page.get_by_role("button", name="Next", exact=True).click()
    expect(page.get_by_role("button", name="Next", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Previous").click()
    expect(rows.first).to_contain_text(theirs[-105]["key"])

    planned = ask.opened("long-list-in-a-plan")
    listing(page, f"/campaigns/{planned}/raters", *theirs[:105])
    manager.open(f"/campaigns/{planned}/replan")
    expect(rows).to_have_count(100)
    expect(page.get_by_text("1 to 100")).to_be_visible()
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.get_by_text("101 to 105")).to_be_visible()
    expect(rows).to_have_count(5)
    expect(rows.last).to_contain_text("r0104")


def test_a_token_that_is_live_is_shown_without_the_links_of_a_thousand_raters(manager):
    page = manager.page
    theirs = many(tokens.OUT, prefix="{:012x}".format, role=lambda _: "rater", live=lambda _: True)
    ended, live = ({**theirs[0], "role": "viewer", "prefix": c * 12, "live": c == "f"} for c in "ef")
    listing(page, "/v1/tokens", *theirs, ended, live)
    manager.open("/tokens")
    rows = page.get_by_role("region", name="Tokens", exact=True).locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first.get_by_role("button", name="Revoke ffffffffffff")).to_be_visible()
    page.get_by_label("Role", exact=False).last.select_option("rater")
    expect(rows).to_have_count(100)
    expect(page.get_by_text("1 to 100")).to_be_visible()


def test_what_is_copied_is_whole_and_nothing_in_it_runs_in_a_spreadsheet(manager, ask, draft):
    page = manager.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    reasons = {"first": "=1+cmd|' /C calc'!A0", "second": "-2 points,\n\tover two lines"}
    for rater, reason in reasons.items():
        ask("PUT", f"/campaigns/{draft}/raters/{rater}", {})
        made = ask("POST", f"/campaigns/{draft}/exclusions", {"rater": rater, "reason": reason}).json()
    lifted = ask("DELETE", f"/campaigns/{draft}/exclusions/{made['exclusion']}?reason=they+asked").json()["lifted"]
    manager.open(f"/campaigns/{draft}/exclusions?sort=made")
    page.get_by_role("button", name="Copy as TSV").click()
    expect(page.locator(".copy.is-done")).to_be_visible()
    rows = [row.split("\t") for row in page.evaluate("navigator.clipboard.readText()").split("\n")]
    assert [len(row) for row in rows] == [6, 6, 6]
    assert [row[2] for row in rows[1:]] == ["'=1+cmd|' /C calc'!A0", "'-2 points, over two lines"]
    assert rows[2][5] == f"{lifted['at']} they asked"


def test_what_nobody_has_answered_is_shown_and_all_of_it(manager, draft):
    page = manager.page
    open_ = many(flags.EXAMPLE, flag="f_{:032x}".format, note="open {}".format)
    done = {**open_[0], "flag": "f_done", "note": "done", "answer": "so it is"}
    listing(page, f"/campaigns/{draft}/flags", done, *open_)
    manager.open(f"/campaigns/{draft}/problems")
    rows = page.get_by_role("region", name="Problems with items").locator("tbody tr")
    expect(rows).to_have_count(100)
    expect(rows.first).to_contain_text("open 0")
    page.get_by_role("button", name="Next", exact=True).first.click()
    expect(rows.first).to_contain_text("open 100")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Problems with items"
    page.locator("#flags").get_by_label("State").select_option("answered")
    expect(rows).to_have_count(1)
    expect(rows.last).to_contain_text("so it is")
    assert "answered=true" in page.url


def test_a_page_whose_rows_were_all_answered_gives_way_to_the_one_before(manager, draft):
    page = manager.page
    open_ = many(flags.EXAMPLE, flag="f_{:032x}".format, note="open {}".format)[:105]
    listing(page, f"/campaigns/{draft}/flags", *open_)
    manager.open(f"/campaigns/{draft}/problems")
    page.locator("#flags").get_by_role("button", name="Next", exact=True).click()
    rows = page.get_by_role("region", name="Problems with items").locator("tbody tr")
    expect(rows).to_have_count(5)
    page.unroute(f"**/campaigns/{draft}/flags?*")
    listing(page, f"/campaigns/{draft}/flags", *open_[:100])
    page.route(f"**/campaigns/{draft}/flags", lambda route: route.fulfill(json={"before": open_[100:]}))
    page.get_by_label("Choose all rows of this page").first.check()
    page.get_by_role("button", name="Open again").click()
    expect(page.get_by_text("5 problems are open again.")).to_be_visible()
    expect(rows).to_have_count(100)
    expect(rows.first).to_contain_text("open 0")


def test_more_problems_than_the_server_changes_at_once_are_sent_in_parts(manager, draft):
    page = manager.page
    most = flags.MOST_CHANGED
    open_ = many(flags.EXAMPLE, flag="f_{:032x}".format, note="open {}".format)
    listing(page, f"/campaigns/{draft}/flags", *open_)
    sent = []

    def change(route):
        asked = route.request.post_data_json
        sent.append(asked)
        if len(sent) == 2:
            route.fulfill(status=503, json={"detail": "There is too much to do."})
        elif "expected" in asked and len(asked["flags"]) == most:
            changed = {"loc": ["body", "flags", 1], "msg": "was changed meanwhile"}
            name = "urn:plumbline:problem:flags-changed-meanwhile"
            route.fulfill(status=409, json={"type": name, "detail": "changed", "errors": [changed]})
        else:
            route.fulfill(json={"before": [one for one in open_ if one["flag"] in asked["flags"]]})

    page.route(f"**/campaigns/{draft}/flags", change)
    manager.open(f"/campaigns/{draft}/problems")
    for last in [False] * (MANY // 100) + [True]:
        page.locator("#flags").get_by_label("Choose all rows of this page").check()
        if not last:
            with page.expect_response("**/flags?*"):
                page.locator("#flags").get_by_role("button", name="Next", exact=True).click()
            expect(page.locator("#flags").get_by_label("Choose all rows of this page")).not_to_be_checked()
    expect(page.locator("#flags").get_by_text("1,101 to 1,105")).to_be_visible()
    page.get_by_role("button", name="Answer …").last.click()
    page.get_by_label("Answer that these raters see").fill("so it is")
    answer = page.get_by_role("dialog").get_by_role("button", name="Answer", exact=True)
    answer.click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("There is too much to do.")
    expect(page.get_by_text(f"{MANY - most} chosen")).to_be_attached()
    answer.click()
    expect(page.get_by_text(f"{MANY - most} problems are answered.")).to_be_visible()
    assert [len(one["flags"]) for one in sent] == [most, MANY - most, MANY - most]
    page.get_by_role("button", name="Undo").first.click()
    expect(page.locator("#said")).to_contain_text("1 problem was changed by somebody else meanwhile")
    assert [len(one["flags"]) for one in sent[3:]] == [most, most - 1]
    assert open_[1]["flag"] not in sent[4]["flags"]
    assert (sent[4]["answer"], sent[4]["expected"]) == (None, {"answer": "so it is"})


def test_disputes_that_can_be_answered_are_though_others_cannot(manager, draft):
    page = manager.page
    asked = {**hours.ENTRY.model_dump(mode="json"), "kind": "dispute", "answer": None, "answered": None}
    refusals = {
        2: (
            409,
            {"type": "urn:plumbline:problem:answered-already", "detail": "This dispute has been answered already."},
        ),
        3: (503, {"detail": "There is too much to do."}),
    }
    answered, reads = [], []

    def answer(route):
        number = route.request.post_data_json["dispute"]
        answered.append(number)
        status, body = refusals.get(number, (201, asked))
        route.fulfill(status=status, json=body)

    def read(route):
        reads.append(route.request.url)
        route.fulfill(json={"items": [{**asked, "id": n, "rater": f"r{n}"} for n in range(1, 5)], "next": None})

    page.route(f"**/campaigns/{draft}/hours/adjustments?*", read)
    page.route(f"**/campaigns/{draft}/hours/refusals", answer)
    manager.open(f"/campaigns/{draft}/problems")
    page.locator("#hours").get_by_label("Choose all rows of this page").check()
    page.get_by_role("button", name="Refuse …").last.click()
    page.get_by_label("Reason for paying nothing to them").fill("no work then")
    refuse = page.get_by_role("dialog").get_by_role("button", name="Refuse", exact=True)
    refuse.click()
    said = page.get_by_role("dialog").get_by_role("alert")
    expect(said).to_have_text("3 of 4 are done. The first failure: There is too much to do.")
    expect(page.get_by_text("2 disputes are refused.")).to_be_visible()
    expect(page.get_by_text("1 dispute was answered already.")).to_be_visible()
    expect(page.locator("#hours").get_by_text("1 chosen")).to_be_attached()
    assert (answered, len(reads)) == ([1, 2, 3, 4], 2)
    del refusals[3]
    refuse.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert (answered[4:], len(reads)) == ([3], 3)


def test_tokens_that_can_be_revoked_are_though_one_cannot(manager):
    page = manager.page
    live = many(tokens.OUT, prefix="{:012x}".format, role=lambda _: "viewer", live=lambda _: True)[:3]
    listing(page, "/v1/tokens", *live)
    revoked = []

    def revoke(route):
        revoked.append(route.request.url.rpartition("/")[2])
        wrong = revoked == [live[0]["prefix"]]
        route.fulfill(status=503, json={"detail": "There is too much to do."}) if wrong else route.fulfill(status=204)

    page.route("**/v1/tokens/*", revoke)
    manager.open("/tokens")
    page.get_by_label("Choose all rows of this page").check()
    with page.expect_response("**/v1/tokens?*"):
        page.get_by_role("region", name="What to do with the chosen rows").get_by_role(
            "button", name="Revoke …"
        ).click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    expect(page.locator("#said")).to_contain_text("2 of 3 are done.")
    expect(page.get_by_text("2 tokens are revoked.")).to_be_visible()
    expect(page.get_by_text("1 chosen")).to_be_visible()
    assert revoked == [one["prefix"] for one in live]


def test_a_token_that_ends_with_its_makers_says_when(page, served, ask):
    ends = datetime.now(UTC) + timedelta(days=3)
    token = ask("POST", "/tokens", {"role": "manager", "expires_at": ends.isoformat()}).json()["token"]
    enter_with(page, served.url, token).open("/tokens")
    page.get_by_text("Create a token").click()
    page.get_by_role("button", name="Create token").click()
    expect(page.locator("#made")).to_contain_text("with your own token.")
    page.get_by_label("Days until it ends").fill("1")
    page.get_by_role("button", name="Create token").click()
    expect(page.locator("#made")).not_to_contain_text("with your own token.")
    expect(page.locator("#made")).to_contain_text("It ends on ")


def cut(page):
    """The network is away for the interface, until what is handed back is detached; pages come.

    A route would do the same, but no page would have its scripts from the browser's cache then.
    """
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setBlockedURLs", {"urls": ["*/v1/*"]})
    return session


def mended(page, path, away):
    """Every button that asks again brings what was missed."""
    away.detach()
    again = page.get_by_role("button", name=AGAIN)
    for left in range(again.count(), 0, -1):
        expect(again).to_have_count(left)
        again.first.click()
        expect(again).to_have_count(left - 1)
    missed = [text for text in page.locator(".said").all_inner_texts() if text]
    assert (path, missed) == (path, [])


@pytest.mark.parametrize("ways", [ONE_OF_EACH, pytest.param(READ_AT_FIRST, marks=pytest.mark.soak)], ids=len)
def test_a_page_whose_first_reading_fails_says_so_and_asks_again(ways, manager, ask):
    key = ask.opened(f"cut-off-{len(ways)}")
    ask("PUT", f"/campaigns/{key}/guidelines", {"en": "Read slowly."})
    ask("PUT", f"/campaigns/{key}/qualification", QUALIFICATION)  # what is not there is not asked for
    ask("POST", f"/campaigns/{key}/lock", {"normalize": "none"})
    page = manager.page
    for path in (*(f"/campaigns/{key}/{way}" for way in ways), "/audit", "/tokens"):
        away = cut(page)
        manager.open(path)
        expect(page.get_by_text(CUT).locator("visible=true").first).to_be_visible()
        assert (path, page.get_by_role("button", name=AGAIN).count() > 0) == (path, True)
        assert page.locator(".said[lang]").count() == 0  # in the page's own language
        if path.endswith("raters"):
            glance(page, "a page that is cut off")
        mended(page, path, away)
    manager.open(f"/campaigns/{key}/raters")
    expect(page.get_by_role("cell", name="active")).to_have_count(3)


def test_a_page_that_is_cut_off_says_so_in_german_and_refusals_in_english(manager, ask):
    key = ask.draft("cut-off-in-german")
    page = manager.page
    away = cut(page)
    manager.open(f"/campaigns/{key}/raters?lang=de")
    expect(page.get_by_text("Der Server ist nicht erreichbar.")).to_be_visible()
    away.detach()
    page.route(
        "**/v1/**", lambda route: route.fulfill(status=503, json={"detail": "There is too much to do."}), times=1
    )
    page.get_by_role("button", name="Noch einmal fragen").click()
    refused = page.get_by_text("There is too much to do.")
    expect(refused).to_have_attribute("lang", "en")
    page.get_by_role("button", name="Noch einmal fragen").click()
    said = page.get_by_text("Noch ist niemand aufgenommen.")  # by the list, and by what comes next
    expect(said).to_have_count(2)
    assert [said.nth(place).get_attribute("lang") for place in range(2)] == [None, None]


def test_a_form_is_not_sent_before_it_is_known_what_it_changes(manager, ask):
    key = ask.opened("unknown-yet")
    ask("PUT", f"/campaigns/{key}/qualification", QUALIFICATION)
    page = manager.page
    for way, button in (("settings", "Save"), ("qualification", "Save the test"), ("replan", "Preview the changes")):
        away = cut(page)
        manager.open(f"/campaigns/{key}/{way}")
        send = page.locator("form[id]").get_by_role("button", name=button, include_hidden=True)
        expect(page.get_by_text(CUT).first).to_be_visible()
        assert (way, send.is_enabled() and send.is_visible()) == (way, False)
        mended(page, way, away)
        expect(send).to_be_visible()
        expect(send).to_be_enabled()


def test_progress_that_does_not_come_is_missed_and_then_shown(manager, ask):
    key = ask.opened("cut-off-live")
    page = manager.page
    away = cut(page)
    page.clock.install()
    page.goto(f"{manager.url}/campaigns/{key}/overview")
    expect(page.locator("#live")).to_have_text("The server cannot be reached; trying again.")
    away.detach()
    page.clock.run_for(TRIED_AGAIN)
    expect(page.locator("#live")).to_contain_text("Judgments")


def test_more_jobs_that_do_not_come_are_missed_and_then_shown(manager, draft):
    page = manager.page
    listing(
        page, f"/campaigns/{draft}/jobs", *many(job_responses.EXAMPLE, job="j_{:032x}".format, state=lambda _: "done")
    )
    manager.open(f"/campaigns/{draft}/jobs")
    rows = page.get_by_role("region", name="Jobs", exact=True).locator("tbody tr")
    expect(rows).to_have_count(100)
    away = cut(page)
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.get_by_text(CUT)).to_be_visible()
    away.detach()
    page.get_by_role("button", name=AGAIN).click()
    expect(page.get_by_text("101 to 200")).to_be_visible()
    expect(rows).to_have_count(100)


def test_jobs_under_way_that_a_filter_brings_are_followed(manager, draft):
    page = manager.page
    job = job_responses.EXAMPLE.model_dump(mode="json")
    states = {"": "done", "running": "running"}

    def answer(route):
        wanted = parse_qs(urlsplit(route.request.url).query).get("state", [""])[0]
        route.fulfill(json={"items": [{**job, "state": states[wanted]}], "next": None})

    page.route(f"**/campaigns/{draft}/jobs?*", answer)
    page.clock.install()
    manager.open(f"/campaigns/{draft}/jobs")
    rows = page.get_by_role("region", name="Jobs", exact=True).locator("tbody tr")
    expect(rows.first).to_contain_text("done")
    page.locator("#jobs").get_by_label("State").select_option("running")
    expect(rows.first).to_contain_text("running")
    for state, told in (("queued", "waiting"), ("done", "done")):
        states["running"] = state
        page.clock.run_for(EVERY)
        expect(rows.first).to_contain_text(told)


def test_jobs_are_asked_for_again_while_the_server_is_busy_and_no_more_once_it_refuses(manager, draft):
    page, told = manager.page, "There is too much to do."
    path = f"**/campaigns/{draft}/jobs?*"
    listing(page, f"/campaigns/{draft}/jobs", job_responses.EXAMPLE.model_dump(mode="json"))
    page.clock.install()
    manager.open(f"/campaigns/{draft}/jobs")
    page.route(path, lambda route: route.fulfill(status=503, json={"detail": told}), times=1)
    page.clock.run_for(EVERY)
    expect(page.locator("#said")).to_have_text(told)
    page.clock.run_for(EVERY)
    expect(page.locator("#said")).to_have_text("")
    page.route(path, lambda route: route.fulfill(status=401, json={"detail": "Sign in again."}))
    page.clock.run_for(EVERY)
    expect(page.locator("#said")).to_have_text("Sign in again.")
    asked = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.clock.run_for(5 * EVERY)
    page.evaluate("() => fetch('/v1/me').then((answer) => answer.status)")
    assert asked == ["/v1/me"]


def test_a_rater_is_shown_while_a_worker_counts_a_very_large_campaign(manager, draft, ask):
    page, told = manager.page, "The judgments of this large campaign are not counted yet."
    ask("PUT", f"/campaigns/{draft}/teams/bonn", {"name": "Bonn"})
    ask("PUT", f"/campaigns/{draft}/raters/r1", {"team": "bonn"})
    path, place = f"**/campaigns/{draft}/progress", page.locator("#rater")
    page.route(path, lambda route: route.fulfill(status=503, json={"detail": told}), times=1)
    manager.open(f"/campaigns/{draft}/raters/r1")
    expect(place.get_by_role("button", name="Pause")).to_be_visible()
    expect(place.locator("dl").first).to_contain_text("bonn")
    expect(place).to_contain_text(told)
    expect(place).not_to_contain_text("0 of 0")
    manager.open(f"/campaigns/{draft}/raters/r1")
    expect(place).to_contain_text("0 of 0")
    expect(place).not_to_contain_text(told)
