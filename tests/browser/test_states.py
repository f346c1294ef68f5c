"""What the page says when something is missing, lost, over or wrong, and what raters can do about it."""

from __future__ import annotations

import re

import httpx
import psycopg
import pytest
from playwright.sync_api import expect

from app.services.access import organization_prefixes
from tests.browser.hands import type_number
from tests.browser.test_every_protocol import PREFILL
from tests.browser.test_nothing_is_lost import check_once, score

RAN_OUT = "UPDATE tasks SET leased_until = now() - interval '1 hour' WHERE campaign_id = %s"


def run(spine, statement: str, *values: object) -> None:
    """A statement as the owner."""
    with psycopg.connect(spine.url) as db:
        db.execute(statement.encode(), values)


def manager(served, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
    """A request of somebody who may do everything."""
    sent = {"Authorization": f"Bearer {served.secret}", **headers}
    answer = httpx.request(method, f"{served.url}{path}", json=body, headers=sent, timeout=60)
    assert answer.is_success, answer.text
    return answer


@pytest.fixture
def hands(campaign, rater):
    """A rater at two documents of two segments."""
    return rater(campaign(protocol="da", segments=2))


def test_why_it_cannot_be_handed_in_names_each_thing_and_jumps_there(hands):
    page = hands.page
    for segment in (1, 2):
        score(hands, segment, 70)
    page.get_by_role("button", name="Hand in").click()
    missing = page.locator(".missing")
    expect(missing.get_by_role("listitem")).to_have_text(
        ["Document 2, Segment 1: the score", "Document 2, Segment 2: the score"]
    )
    missing.get_by_role("button", name="Document 2, Segment 2").click()

    expect(hands.row(2)).to_have_class(re.compile("open"))
    expect(hands.row(2).locator("input[type=range]")).to_be_focused()
    expect(page.locator(".pager [aria-current=page]")).to_contain_text("2")


def test_zero_is_a_score_and_untouched_is_none(hands):
    slider = hands.row(1).locator("input[type=range]")
    expect(slider).to_have_attribute("aria-valuetext", "not set")
    slider.focus()
    hands.page.keyboard.press("Home")
    hands.saved()

    assert hands.latest() == {(1, 1): {"protocol": "da", "score": 0}}


def test_what_is_judged_after_somebody_else_got_the_task_is_kept_and_said(campaign, rater, served, spine):
    live = campaign(protocol="da", segments=2, systems=("sysA",), raters=("r1", "r2"))
    hands = rater(live)
    score(hands, 1, 31)
    hands.saved()
    run(spine, RAN_OUT, live.id)
    taken = httpx.post(f"{served.url}/v1/campaigns/{live.key}/lease", headers=live.auth("r2"), timeout=60).json()
    assert taken["task"] is not None
    score(hands, 2, 32)

    expect(hands.page.locator("[data-notice=lease]")).to_contain_text("somebody else has it now")
    hands.saved()
    check_once(hands, {1: 31, 2: 32})
    hands.page.get_by_role("button", name="Get another task").click()
    expect(hands.page.locator("#work")).to_contain_text(re.compile("no more tasks|no task right now"))


def test_a_lease_that_ran_out_goes_on_while_nobody_else_has_the_task(hands, spine):
    run(spine, RAN_OUT, hands.live.id)
    score(hands, 1, 55)

    hands.saved()
    assert hands.page.locator("#notices > *").count() == 0


@pytest.mark.parametrize("presentation", ["segment", pytest.param("document", marks=pytest.mark.soak)])
def test_what_was_set_aside_in_a_reopened_task_is_asked_again(campaign, rater, served, spine, presentation):
    live = campaign(protocol="da", segments=2, systems=("sysA",), presentation=presentation)
    hands = rater(live)
    page = hands.page

    def judge(segment: int) -> None:
        type_number(hands.row(segment).locator("input[type=range]"), 40 + segment)
        if presentation == "segment":
            page.get_by_role("button", name="Save and continue").click()
        hands.saved()

    for segment in (1, 2):
        judge(segment)
    hands.hand_in()
    (task,) = manager(served, "GET", f"/v1/campaigns/{live.key}/tasks").json()["items"]
    one = {"filter": {"document": "doc1", "segment": 2}, "reason": "misread"}
    manager(served, "POST", f"/v1/campaigns/{live.key}/judgments/void", one)
    manager(served, "POST", f"/v1/campaigns/{live.key}/tasks/{task['task']}/reopen", {"reason": "again"})
    page.get_by_role("button", name="Next task").click()

    expect(page.locator("[data-notice=again]")).to_contain_text("One of your answers was voided")
    expect(page.locator(".progress-words")).to_have_text("1 of 2 judged")
    judge(2)  # the same score, once more
    page.reload()
    expect(page.locator(".progress-words")).to_have_text("2 of 2 judged")
    expect(page.locator("[data-notice=again]")).to_have_count(0)
    assert hands.hand_in()
    assert {place[1]: [said["score"] for said in history] for place, history in hands.stored().items()} == {
        1: [41],
        2: [42, 42],
    }


IN_VIEW = """element => {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}"""


def test_a_new_link_ends_the_old_one_and_sends_what_was_kept(campaign, rater, served):
    hands = rater(campaign(protocol="da", segments=6, systems=("sysA",)))
    page, scores = hands.page, {segment: 40 + segment for segment in range(1, 7)}
    score(hands, 1, scores[1])
    hands.saved()
    link = manager(served, "POST", f"/v1/campaigns/{hands.live.key}/raters/r1/link", **{"Idempotency-Key": "a" * 8})
    for segment in range(2, 7):
        score(hands, segment, scores[segment])
    page.get_by_role("button", name="Hand in").click()

    expect(page.locator(".missing")).to_contain_text("Not handed in. 5 answers are not saved")
    expect(page.locator(".missing")).to_contain_text("This link has expired. Ask the person who sent it for a new one")
    assert page.locator(".missing").evaluate(IN_VIEW)
    expect(page.locator(".save")).to_have_attribute("data-state", "signed-out")
    expect(page.locator(".save")).to_have_text("signed out · 5 answers in this browser only")
    for told in (".save", "[data-notice=signed-out]"):
        assert page.locator(told).evaluate(IN_VIEW)
    check_once(hands, {1: scores[1]})
    page.reload()
    expect(page.locator("#waiting")).to_contain_text("5 answers are stored only in this browser")
    hands.enter(link.json()["link"].split("#token=")[1])

    hands.saved()
    check_once(hands, scores)


def test_an_answer_after_the_campaign_was_closed_is_refused_in_words(hands, served, spine):
    run(spine, "UPDATE campaigns SET state = 'closed' WHERE id = %s", hands.live.id)
    score(hands, 1, 44)

    expect(hands.page.locator("[data-notice=refused]")).to_contain_text("The campaign is closed")
    expect(hands.page.locator(".save")).to_have_attribute("data-state", "refused")
    hands.page.get_by_role("button", name="Hand in").click()
    expect(hands.page.locator(".missing li").first).to_contain_text("was not accepted")


@pytest.mark.parametrize(("state", "words"), [("paused", "Your work is paused"), ("left", "no longer enrolled")])
def test_why_there_is_no_task_is_said(state, words, campaign, rater, spine):
    live = campaign(protocol="da")
    run(spine, "UPDATE enrolments SET state = %s WHERE campaign_id = %s", state, live.id)

    expect(rater(live).page.locator("#work")).to_contain_text(words)


def test_a_problem_is_reported_with_its_place(hands, spine):
    hands.row(1).get_by_role("button", name="Report a problem").click()
    hands.page.get_by_label("What is wrong").select_option("wrong_language")
    hands.page.get_by_label("Note (optional)").fill("This is Dutch.")
    hands.page.get_by_role("button", name="Send").click()
    hands.page.get_by_text("the problem is reported").wait_for()

    flags = spine.ask(f"SELECT reason, segment, note FROM flags WHERE campaign_id = {hands.live.id}")
    assert flags == [("wrong_language", 1, "This is Dutch.")]


def test_actions_go_out_with_heartbeats_and_count_as_time(campaign, rater, page):
    events = []  # of all that are sent: every 20 seconds one goes out by itself

    def note(sent):
        if "/heartbeat" in sent.url:
            events.extend((sent.post_data_json or {}).get("events", ()))

    page.on("request", note)
    score(rater(campaign(protocol="da", segments=2)), 1, 66)
    with page.expect_request(lambda sent: "/heartbeat" in sent.url and "pagehide" in (sent.post_data or "")):
        page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")

    assert {"open", "score", "view", "pagehide"} <= {event["kind"] for event in events}
    assert (1, 1) in {(event["item"], event["segment"]) for event in events}


def test_hours_are_shown_and_can_be_disputed(hands):
    page = hands.page
    page.goto(f"{hands.url}/rate/hours")
    page.get_by_label("How many minutes are missing?").fill("12")
    page.get_by_label("Why?").fill("I looked a term up.")
    page.get_by_role("button", name="Send").click()

    expect(page.locator("#content")).to_contain_text("You reported missing time (+0 h 12 min)")
    expect(page.locator("#content")).to_contain_text("not answered yet")


def test_ready_made_errors_are_kept_changed_and_taken_out(campaign, rater):
    hands = rater(campaign(protocol="esa", segments=2, systems=("sysA",), change=PREFILL))
    row = hands.row(1)
    expect(row.locator(".body").last.locator("mark.is-minor")).to_have_text("Voice")
    row.get_by_label("Severity of error 1").select_option("major")
    score(hands, 1, 50)
    hands.row(2).get_by_role("button", name="Segment 2").click()
    hands.row(2).get_by_label("Remove error 1").click()
    score(hands, 2, 90)
    hands.saved()

    said = hands.latest()
    assert [(e["prefill"], e["severity"]) for e in said[(1, 1)]["errors"]] == [("p1", "major")]
    assert said[(1, 2)]["errors"] == []


def test_the_keys_are_listed_by_a_question_mark_that_can_be_switched_off(hands):
    page = hands.page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    dialog.get_by_label("Single letters and “?” are keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("?")

    expect(dialog).to_have_count(0)


def test_the_page_speaks_german_where_the_browser_asks_for_it(campaign, rater, open_context):
    page = open_context(locale="de-AT").new_page()
    hands = rater(campaign(protocol="esa", segments=1, systems=("sysA",)), on=page)

    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(hands.row(1)).to_contain_text("Etwas fehlt")
    expect(hands.row(1)).to_contain_text("Das meiste erhalten")
    page.get_by_role("button", name="Abgeben").click()
    expect(page.locator(".missing")).to_contain_text("Segment 1: die Bewertung")


def test_an_invitation_of_a_platform_leads_to_a_task(campaign, served, page):
    live = campaign(protocol="da")
    body = {"count": 2, "platform": "prolific", "completion_url": "https://example.org/done?cc={code}"}
    made = manager(served, "POST", f"/v1/campaigns/{live.key}/invitations", body, **{"Idempotency-Key": live.key * 3})
    link = made.json()["link"].replace("/#", "/?PROLIFIC_PID=abc123#")
    page.goto(served.url + link[link.index("/?") :])

    page.wait_for_url("**/rate")
    assert organization_prefixes.MARK not in page.url
    expect(page.locator("#work > *").first).to_be_visible()


def test_a_message_is_shown_until_the_rater_says_that_they_read_it(hands, served):
    page, path = hands.page, f"/v1/campaigns/{hands.live.key}/messages"
    manager(served, "POST", path, {"raters": ["r1"], "text": "<b>Read</b> the new guidelines."})
    page.reload()
    shown = page.locator("[data-notice^=message]")
    expect(shown).to_contain_text("Message to you: <b>Read</b> the new guidelines.")
    shown.get_by_role("button", name="I have read it").click()
    expect(shown).to_have_count(0)
    with page.expect_response("**/v1/me/messages"):
        page.reload()
    expect(hands.row(1)).to_be_visible()
    expect(shown).to_have_count(0)
