"""The network cut, the server killed, the tab reloaded or doubled: every score is in the database exactly once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.hands import Mouse, type_number
from tests.browser.rater import Rater
from tests.faults.serving import Service

JUDGMENTS = "**/judgments/**"
# Until the page is loaded anew, nothing that it sends arrives.
CUT = "() => { window.fetch = () => Promise.reject(new TypeError('cut')); }"
# What one window wrote another's process hears of a little later: as if that took for ever, whichever was first.
LATE = """() => {
  const known = new Map(Object.entries(localStorage));
  const storage = Storage.prototype;
  const { setItem, removeItem } = storage;
  storage.getItem = (name) => known.get(name) ?? null;
  storage.key = (n) => [...known.keys()][n] ?? null;
  Object.defineProperty(storage, "length", { get: () => known.size });
  storage.setItem = function (name, text) { known.set(name, String(text)); setItem.call(this, name, text); };
  storage.removeItem = function (name) { known.delete(name); removeItem.call(this, name); };
}"""
# Windows send one after the other, in the order that they ask in: nobody does until this is let go.
HOLD = """() => new Promise((held) => navigator.locks.request(
  "plumbline-outbox", () => new Promise((letGo) => { window.letGo = letGo; held(); })))"""
WAITING = "async () => (await navigator.locks.query()).pending.length === 1"
# Keep an answer the way that earlier versions of the page did.
EARLIER = """() => {
  const key = Object.keys(localStorage).find((name) => /:a:.*\\/3@/.test(name));
  const answer = JSON.parse(localStorage.getItem(key));
  localStorage.removeItem(key);
  localStorage.setItem(key.replace(":a:", ":o:").split("@")[0], JSON.stringify({ ...answer, sent: [] }));
}"""
NO_STORAGE = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"


def score(hands: Rater, segment: int, value: int) -> None:
    """Open a segment where it is closed, and type its score."""
    row = hands.row(segment)
    if "open" not in (row.get_attribute("class") or ""):
        row.get_by_role("button", name=f"Segment {segment}").click()
    type_number(row.locator("input[type=range]"), value)


def check_once(hands: Rater, wanted: dict[int, int]) -> None:
    """The last revision says what was said last, and no revision says the same as the one before."""
    stored = {place[1]: [said["score"] for said in history] for place, history in hands.stored().items()}
    assert {segment: history[-1] for segment, history in stored.items()} == wanted
    for history in stored.values():
        assert all(one != other for one, other in pairwise(history))


@pytest.fixture
def service_worker() -> bool:
    """Here pages have theirs."""
    return True


@pytest.fixture
def hands(campaign, rater) -> Rater:
    """A rater at direct assessment of three segments."""
    return rater(campaign(protocol="da", segments=3, systems=("sysA",)))


def test_what_is_judged_without_a_network_is_sent_when_it_is_back(hands):
    score(hands, 1, 10)
    hands.saved()
    hands.page.context.set_offline(True)
    score(hands, 1, 11)
    score(hands, 2, 22)
    expect(hands.page.locator(".save")).to_have_attribute("data-state", "offline")
    hands.page.get_by_role("button", name="Hand in").click()
    expect(hands.page.locator(".missing")).to_contain_text("Segment 3")
    score(hands, 3, 33)
    hands.page.get_by_role("button", name="Hand in").click()
    expect(hands.page.locator(".missing")).to_contain_text("Not handed in. 3 answers are not saved")
    hands.page.context.set_offline(False)

    hands.saved()
    check_once(hands, {1: 11, 2: 22, 3: 33})


def test_a_tab_that_is_reloaded_before_anything_was_sent_sends_it_then(hands):
    hands.page.evaluate(CUT)
    score(hands, 1, 41)
    score(hands, 2, 42)
    score(hands, 3, 43)
    hands.page.evaluate(EARLIER)
    assert hands.stored() == {}
    hands.page.reload()

    expect(hands.row(1).locator(".margin")).to_contain_text("41")
    hands.saved()
    check_once(hands, {1: 41, 2: 42, 3: 43})


def test_control_without_the_browsers_storage_a_reload_loses_what_was_not_sent(campaign, rater, open_context):
    context = open_context()
    context.add_init_script(NO_STORAGE)
    hands = rater(campaign(protocol="da", segments=2, systems=("sysA",)), on=context.new_page())
    hands.page.evaluate(CUT)
    score(hands, 1, 41)
    hands.page.reload()
    hands.page.wait_for_selector(".row.open")
    hands.saved()

    with pytest.raises(AssertionError):
        check_once(hands, {1: 41})


@pytest.mark.parametrize("lost", [2, pytest.param(3, marks=pytest.mark.soak)])
def test_an_acknowledgement_that_is_lost_makes_no_second_revision_and_no_conflict(lost, hands):
    cut = 0

    def forward_then_cut(route: Route) -> None:
        nonlocal cut
        if route.request.method == "PUT" and cut < lost:
            cut += 1
            route.fetch()
            route.abort()
        else:
            route.continue_()

    hands.page.route(JUDGMENTS, forward_then_cut)
    score(hands, 1, 51)
    expect(hands.page.locator(".save")).to_have_attribute("data-state", "offline")
    score(hands, 1, 52)
    hands.saved()

    assert cut == lost
    assert hands.page.locator("[data-notice^=conflict]").count() == 0
    check_once(hands, {1: 52})


def test_two_tabs_show_the_same_and_send_it_once(hands):
    other = hands.page.context.new_page()
    other.goto(f"{hands.url}/rate")
    second = Rater(other, hands.url, hands.live, hands.spine)
    second.page.wait_for_selector(".row.open")
    score(hands, 1, 61)
    expect(other.locator(".row.open output")).to_have_text("61")
    score(second, 1, 62)
    score(second, 2, 63)
    expect(hands.row(2).locator(".margin")).to_contain_text("63")
    hands.saved()
    second.saved()

    check_once(hands, {1: 62, 2: 63})
    assert hands.page.locator("[data-notice^=conflict]").count() == 0


def test_an_answer_typed_while_another_tab_has_its_own_acknowledged_stays(hands):
    other = hands.page.context.new_page()
    other.goto(f"{hands.url}/rate")
    second = Rater(other, hands.url, hands.live, hands.spine)
    second.page.wait_for_selector(".row.open")
    other.evaluate(HOLD)
    score(hands, 1, 61)
    hands.page.wait_for_function(WAITING)
    hands.page.evaluate(LATE)
    score(second, 1, 62)
    other.evaluate("letGo()")
    hands.saved()
    second.saved()

    # Both, in this order: the first tab sent its own answer without knowing of the second's.
    assert [said["score"] for said in hands.stored()[(1, 1)]] == [61, 62]
    expect(other.locator(".row.open output")).to_have_text("62")
    assert hands.page.locator("[data-notice^=conflict]").count() + other.locator("[data-notice^=conflict]").count() == 0


def test_two_browsers_that_differ_ask_which_stands(hands, rater, open_context):
    elsewhere = rater(hands.live, on=open_context().new_page())
    stands: dict[int, int] = {}
    for segment, button, here in ((1, "Keep my answer from here", True), (2, "Use my answer from there", False)):
        score(hands, segment, 71)
        hands.saved()
        score(elsewhere, segment, 72)
        notice = elsewhere.page.locator("[data-notice^=conflict]")
        expect(notice).to_contain_text("There: 71")
        expect(elsewhere.page.locator(".save")).to_have_attribute("data-state", "conflict")
        notice.get_by_role("button", name=button).click()
        elsewhere.saved()
        assert elsewhere.page.evaluate("document.activeElement.closest('.row')?.dataset.segment") == str(segment)

        stands[segment] = 72 if here else 71
        expect(elsewhere.row(segment).locator("output")).to_have_text(str(stands[segment]))
        check_once(hands, stands)


def test_final_answers_are_sent_once_though_the_tab_is_doubled(campaign, rater):
    hands = rater(campaign(protocol="da", segments=3, systems=("sysA",), presentation="segment"))
    other = hands.page.context.new_page()
    other.goto(f"{hands.url}/rate")
    other.wait_for_selector(".row.open")
    for page in (hands.page, other):
        Mouse(page).slide(page.locator("input[type=range]"), 80)
    hands.page.get_by_role("button", name="Save and continue").click()
    expect(other.get_by_role("heading", level=2)).to_have_text("Segment 2")
    hands.saved()

    check_once(hands, {1: 80})


@dataclass
class OnSpine(Service):
    """The application in a process of its own, on a database that is there."""

    address: str = ""

    @property
    def url(self) -> str:
        return self.address


@contextmanager
def process(address: str, home: Path, server: object, **environment: str) -> Iterator[OnSpine]:
    """Start it; at the end it is gone."""
    run = OnSpine(home, home, server, address=address, environment=environment)
    run.start()
    try:
        yield run
    finally:
        if run.process is not None and run.process.poll() is None:
            run.stop(signal.SIGKILL)


def test_a_server_that_refuses_connections_and_comes_back_gets_everything(hands):
    score(hands, 1, 90)
    hands.saved()
    hands.page.route("**/v1/**", lambda route: route.abort("connectionrefused"))
    score(hands, 1, 91)
    score(hands, 2, 92)
    expect(hands.page.locator(".save")).to_have_attribute("data-state", "offline")
    hands.page.unroute("**/v1/**")
    score(hands, 3, 93)
    hands.saved()
    check_once(hands, {1: 91, 2: 92, 3: 93})
    assert len(hands.hand_in()) == 10


@pytest.mark.soak
def test_a_server_that_is_killed_and_comes_back_gets_everything(campaign, spine, postgres, tmp_path, chromium):
    live = campaign(protocol="da", segments=3, systems=("sysA",))
    with process(spine.url, tmp_path, postgres) as run, chromium.new_context(locale="en-GB") as context:
        hands = Rater(context.new_page(), run.origin, live, spine)
        hands.enter(live.secrets["r1"])
        score(hands, 1, 90)
        hands.saved()
        run.stop(signal.SIGKILL)
        score(hands, 1, 91)
        score(hands, 2, 92)
        expect(hands.page.locator(".save")).to_have_attribute("data-state", "offline")
        run.start()
        score(hands, 3, 93)
        expect(hands.page.locator(".save")).to_have_attribute("data-state", "saved", timeout=30_000)
        check_once(hands, {1: 91, 2: 92, 3: 93})
        assert len(hands.hand_in()) == 10
