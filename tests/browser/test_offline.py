"""A task page that is loaded while the server is away: it is there, with what was said, and goes on."""

from __future__ import annotations

import pytest
from playwright.sync_api import Error, expect

from tests.browser.conftest import changing
from tests.browser.desk import sign_in
from tests.browser.rater import Rater
from tests.browser.test_accessible import check
from tests.browser.test_nothing_is_lost import check_once, score

SYSTEM = "secret-sysA"
# Everything that the caches hold, as one text.
CACHED = """async () => {
  const found = [];
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      if (request.url.includes("/assets/")) found.push(request.url);
      else found.push(request.url + "\\n" + await (await cache.match(request, { ignoreVary: true })).text());
    }
  }
  return found;
}"""
KEPT = """async () => {
  let n = 0;
  for (const name of await caches.keys()) n += (await (await caches.open(name)).keys()).length;
  return n;
}"""


def ready(hands: Rater) -> None:
    """Wait until the page has been put away."""
    has_page = (
        "async () => Boolean(await caches.match('/rate', { ignoreVary: true }) && await caches.match('/rate/kept'))"
    )
    hands.page.wait_for_function(has_page)
    hands.page.wait_for_function(
        """async () => {
            for (const one of performance.getEntriesByType('resource')) {
                if (one.name.includes('/assets/') && !await caches.match(one.name, { ignoreVary: true })) return false;
            }
            return true;
        }"""
    )


@pytest.fixture
def service_worker() -> bool:
    """Here pages have theirs."""
    return True


@pytest.fixture
def hands(campaign, rater) -> Rater:
    """A rater at direct assessment of three segments."""
    found = rater(campaign(protocol="da", segments=3, systems=(SYSTEM,)))
    ready(found)
    return found


def test_a_page_that_is_loaded_without_a_network_shows_the_task_and_goes_on(hands):
    score(hands, 1, 11)
    hands.saved()
    hands.page.context.set_offline(True)
    score(hands, 2, 22)
    hands.page.reload()
    expect(hands.row(1).locator(".margin")).to_contain_text("11")
    expect(hands.row(2).locator(".margin")).to_contain_text("22")
    expect(hands.page.locator("[data-notice=kept]")).to_contain_text("stored in this browser")
    check(hands.page, "a task without a network")
    score(hands, 3, 33)
    score(hands, 1, 12)
    hands.page.context.set_offline(False)
    hands.saved()
    expect(hands.page.locator("[data-notice=kept]")).to_have_count(0)
    check_once(hands, {1: 12, 2: 22, 3: 33})
    hands.hand_in()


def test_comments_are_written_without_a_network_and_reach_the_manager(campaign, rater, spine):
    both = {"output_comments": True, "screen_comments": True}
    hands = rater(campaign(protocol="da", segments=1, systems=(SYSTEM,), settings=both))
    page = hands.page
    ready(hands)
    texts = page.locator("details.comment")
    texts.nth(0).locator("summary").click(position={"x": 40, "y": 10})  # on the words
    page.get_by_label("Comment on this text").fill("odd <b>name</b>")
    hands.saved()
    page.context.set_offline(True)
    texts.nth(1).locator("summary").click()
    page.get_by_label("Comment on this page").fill("hard")
    score(hands, 1, 11)
    check(page, "comments")
    page.reload()
    expect(page.get_by_label("Comment on this text")).to_have_value("odd <b>name</b>")
    expect(page.get_by_label("Comment on this page")).to_have_value("hard")
    page.context.set_offline(False)
    hands.saved()
    page.reload()
    expect(page.get_by_label("Comment on this page")).to_have_value("hard")
    hands.hand_in()
    staff = sign_in(page.context.browser.new_page(), hands.url, spine, "manager")
    staff.open(f"/campaigns/{hands.live.key}/items?commented=true")
    row = staff.page.locator("#items tbody tr")
    expect(row.locator("p.comment")).to_have_text(["Comment: odd <b>name</b>", "Comment on the screen: hard"])
    row.get_by_role("link").first.click()
    expect(staff.page.locator(".judged p.comment")).to_have_count(2)
    check(staff.page, "comments in Items")
    staff.page.close()


def test_control_without_a_service_worker_there_is_no_page(campaign, rater, open_context):
    context = open_context(service_workers="block")
    hands = rater(campaign(protocol="da", segments=1, systems=(SYSTEM,)), on=context.new_page())
    context.set_offline(True)
    with pytest.raises(Error, match="ERR_INTERNET_DISCONNECTED"):
        hands.page.reload()


def test_what_is_kept_tells_no_system_and_nothing_of_it_stays_after_signing_out(hands):
    page = hands.page
    score(hands, 1, 11)
    hands.saved()
    kept = page.evaluate(CACHED)
    assert any("/rate/kept" in one and "dog barked" in one for one in kept)
    outside = [one for one in kept if not one.startswith(f"{hands.url}/assets/")]
    assert {one.split("\n")[0].removeprefix(hands.url) for one in outside} <= {
        "/rate",
        "/rate/guidelines",
        "/rate/kept",
    }
    assert not [one for one in outside if SYSTEM in one or '"role"' in one or '"system"' in one]
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{hands.url}/")
    assert page.evaluate(KEPT) == 0
    assert not page.evaluate("Object.keys(localStorage).filter((key) => key.includes(':s:'))")
    page.context.set_offline(True)
    with pytest.raises(Error, match=r"ERR_FAILED|ERR_INTERNET_DISCONNECTED"):
        page.goto(f"{hands.url}/rate")


def test_the_next_rater_at_this_browser_sees_nothing_of_the_one_before(campaign, rater, open_context):
    context = open_context()
    page = context.new_page()
    first = rater(campaign(protocol="da", segments=1, systems=("sysA",)), on=page)
    ready(first)
    second = campaign(protocol="da", segments=1, systems=("sysB",), raters=("r2",))
    page.goto(f"{first.url}/#token={second.secrets['r2']}")
    page.wait_for_url(f"{first.url}/rate*")
    theirs = (f'data-campaign="{first.live.key}"', f'"campaign":"{first.live.key}"')
    assert not [one for one in page.evaluate(CACHED) if any(text in one for text in theirs)]


def test_a_link_that_has_ended_leaves_no_page_behind(hands, spine):
    with changing(spine) as run:
        run("UPDATE tokens SET revoked_at = now() WHERE campaign_id = %(id)s", hands.live.id)
    hands.page.goto(f"{hands.url}/rate/guidelines")
    hands.page.wait_for_url(f"{hands.url}/*")
    expect(hands.page.locator("[data-sign-in]")).to_be_visible()
    assert not [one for one in hands.page.evaluate(CACHED) if "<html" in one]


def test_a_document_that_is_judged_as_a_whole_takes_one_comment(campaign, rater):
    settings = {"output_comments": True}
    hands = rater(campaign(protocol="da_document", segments=2, systems=(SYSTEM,), settings=settings))
    page = hands.page
    box = page.locator("details.comment")
    expect(box).to_have_count(1)
    box.locator("summary").click(position={"x": 40, "y": 10})
    page.get_by_label("Comment on this text").fill("long")
    hands.saved()
    check(page, "a comment on a document as a whole")
    page.reload()
    expect(page.locator(".whole").get_by_label("Comment on this text")).to_have_value("long")
