"""From the link to the completion code."""

from __future__ import annotations

import pytest

from app.services.people import guidelines
from tests.browser.rater import Rater


@pytest.fixture
def service_worker() -> bool:
    """Here pages have theirs."""
    return True


def test_a_rater_comes_by_the_link_consents_reads_judges_and_gets_the_code(campaign, spine, page, served):
    live = campaign(protocol="da", segments=2)
    with spine.database.transaction() as session:
        guidelines.put_guidelines(session, live.key, "consent", {"en": "I take part of my **own** will."}, actor="test")
    hands = Rater(page, served.url, live, spine)
    hands.enter(live.secrets["r1"])

    assert page.url.endswith("/rate/consent")
    assert page.locator(".prose strong").inner_text() == "own"
    page.get_by_role("button", name="I agree").click()
    page.wait_for_selector(".row.open")
    for item in (1, 2):
        for segment in (1, 2):
            hands.slide(hands.row(segment), 40 + item * 10 + segment)
            hands.row(segment).get_by_role("button", name="Next segment").click()
    code = hands.hand_in()

    assert len(code) == 10
    score = {place: said["score"] for place, said in hands.latest().items()}
    assert score == {(1, 1): 51, (1, 2): 52, (2, 1): 61, (2, 2): 62}
    page.get_by_role("button", name="Next task").click()
    page.get_by_text("There are no more tasks for you").wait_for()
    page.get_by_role("link", name="Your completion codes").click()
    page.get_by_text(code).wait_for()
    page.get_by_role("link", name="Go to the task").click()
    page.wait_for_url("**/rate")


def test_the_page_of_a_test_that_there_is_not_asks_for_nothing_that_there_is_not(campaign, rater, page, served):
    rater(campaign(protocol="da", segments=2))
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    page.goto(f"{served.url}/rate/test")
    page.get_by_text("This campaign has no test.").wait_for()
    assert failed == []
