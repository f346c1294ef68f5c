"""How soon a key shows on a page of 200 segments in five columns with 500 errors; what the first page weighs."""

from __future__ import annotations

import statistics
import sys

import httpx
import pytest
from playwright.sync_api import Request

from tests.browser.test_few_actions import SENTENCE

SEGMENTS, COLUMNS, SPANS = 200, 5, 500
WATCH = """() => {
  window.seen = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.interactionId) window.seen.push(entry.duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: false });
}"""
SOON = 100  # milliseconds
FIRST_PAGE = 300_000  # bytes on the line
MOST_REQUESTS = 15


def fill(served, live) -> None:
    """Judge half of the outputs, one error in each."""
    with httpx.Client(base_url=served.url, headers=live.auth("r1"), timeout=60) as web:
        task = web.post(f"/v1/campaigns/{live.key}/lease").json()["task"]["task"]
        error = {"side": "target", "start": 0, "end": 5, "severity": "minor"}
        answers = [
            {
                "item": n % COLUMNS + 1,
                "segment": n // COLUMNS + 1,
                "payload": {"protocol": "esa", "errors": [error], "score": 50},
            }
            for n in range(SPANS)
        ]
        assert web.post(f"/v1/tasks/{task}/judgments", json=answers).status_code == 200


@pytest.mark.soak
def test_a_long_document_in_five_columns_stays_responsive(campaign, served, rater, request):
    live = campaign(protocol="esa", segments=SEGMENTS, systems=tuple(f"s{n}" for n in range(COLUMNS)), columns=COLUMNS)
    fill(served, live)
    hands = rater(live)
    page = hands.page
    row = page.locator(".row.open")
    assert page.locator("mark.is-minor").count() == SPANS
    page.evaluate(WATCH)
    for _ in range(5):
        row.locator(".body").nth(1).focus()
        for key in ("Home", "ArrowRight", "ArrowRight", "1", "ArrowRight", "Shift+ArrowRight", "2"):
            page.keyboard.press(key)
        for column in range(COLUMNS):
            row.locator("input[type=range]").nth(column).focus()
            page.keyboard.type("7")
        page.keyboard.press("Alt+ArrowDown")
    page.wait_for_timeout(500)

    seen = sorted(page.evaluate("window.seen"))
    figures = f"input to paint: median {statistics.median(seen):.0f} ms, largest {seen[-1]:.0f} ms of {len(seen)}"
    request.node.user_properties.append(("figures", figures))
    sys.stderr.write(f"{figures}\n")
    assert statistics.median(seen) < SOON


@pytest.mark.parametrize("segments", [100, pytest.param(400, marks=pytest.mark.soak)])
def test_a_page_of_many_segments_weighs_less_than_300_kb_in_few_requests(segments, campaign, served, page, rater):
    asked: list[Request] = []
    page.on("requestfinished", lambda one: asked.append(one))  # noqa: PLW0108  (the driver marks what it calls)
    texts = [SENTENCE] * segments
    hands = rater(campaign(protocol="esa", systems=("sysA",), outputs=texts, sources=texts))
    page.wait_for_load_state("networkidle")
    asked.clear()
    hands.page.goto(f"{served.url}/rate")
    hands.page.wait_for_selector(".row.open")
    page.wait_for_load_state("networkidle")

    weight = {one.url: one.sizes()["responseBodySize"] for one in asked}
    assert {url.split("/")[2] for url in weight} == {served.url.split("/")[2]}
    assert SEGMENTS < sum(weight.values()) < FIRST_PAGE, weight
    assert len(asked) <= MOST_REQUESTS, sorted(weight)
