"""From a figure to the text: filters in the address, two systems side by side, and what is filtered as files."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.desk import sign_in
from tests.browser.test_accessible import check
from tests.judged_demo import load_judged

MOST_ACTIONS = 3
NEAR = 6  # pixels
# Where the first line of each cell of a row begins.
FIRST_LINES = """(rows) => rows.map((row) => [...row.cells].map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return Math.min(...[...range.getClientRects()].map((line) => line.top));
}))"""


@pytest.fixture(scope="module")
def demo(spine):
    """A campaign with judgments."""
    return load_judged(spine.database)


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


def test_the_worst_disagreements_of_a_pair_are_read_in_their_texts_after_two_clicks(manager, demo):
    page, actions = manager.page, 0
    manager.open(f"/campaigns/{demo}")
    page.locator(".chart").nth(1).locator(".mark a").nth(3).click()
    actions += 1
    worst = page.get_by_role("region", name="The largest disagreements")
    expect(worst.locator("tbody tr").nth(9)).to_be_attached()
    apart = [float(text) for text in worst.locator("tbody td:nth-child(5)").all_inner_texts()]
    assert apart == sorted(apart, reverse=True)
    worst.locator("tbody a").first.click()
    actions += 1
    expect(page.locator(".side-by-side .output")).to_have_count(2)
    expect(page.locator("h2 .of")).to_have_text(re.compile(rf" {apart[0]:g} apart"))
    assert actions <= MOST_ACTIONS


def test_a_document_with_all_systems_is_read_by_few_requests(manager, demo):
    page, asked = manager.page, []
    page.on("request", lambda request: asked.append(request.url) if "/v1/" in request.url else None)
    manager.open(f"/campaigns/{demo}/items?document=news-01")
    expect(page.locator("#segment-1 .output")).to_have_count(8)
    expect(page.locator("#segment-1 .judged").first).to_be_visible()
    assert len(asked) <= 6, asked  # documents, systems, the text, its outputs, its judgments


def test_a_document_with_very_many_judgments_shows_some_systems_at_a_time(manager, demo):
    page, asked = manager.page, []
    page.goto("about:blank")

    def look_through_others(route):
        """As the server answers where a document has more judgments than it finds at once."""
        if "system=" in route.request.url:
            return route.fallback()
        return route.fulfill(json={"items": [], "next": "1"})

    page.route(re.compile(r"/judgments\?"), look_through_others)
    page.on("request", lambda request: asked.append(request.url) if "/v1/" in request.url else None)
    manager.open(f"/campaigns/{demo}/items?document=news-01")
    expect(page.locator("#segment-1 .output")).to_have_count(6)
    assert len(asked) <= 6 + 6, asked  # the judgments of each system that is shown
    page.get_by_role("button", name="Show 2 more systems").click()
    expect(page.locator("#segment-1 .output")).to_have_count(8)
    expect(page.locator("#segment-1 .judged").last).to_be_visible()
    assert len(asked) <= 6 + 6 + 3, asked


def manager_word(page, row):
    """A word of the source that a row is about."""
    document = row.get_by_role("link").first.inner_text().partition(",")[0]
    text = page.evaluate(
        "path => fetch(path).then((answer) => answer.json())", f"/v1/campaigns/demo/documents/{document}"
    )
    return max(re.findall(r"[a-z]+", text["segments"][0]["source"]), key=len)


def test_filters_stand_in_the_address_and_judgments_of_all_documents_lead_to_their_texts(manager, demo):
    page = manager.page
    manager.open(f"/campaigns/{demo}/items?severity=major&system=Birke")
    rows = page.locator("#items tbody tr")
    expect(rows.first).to_contain_text("major")
    assert all("major" in text for text in rows.all_inner_texts())
    check(page, "judgments of all documents")
    for width in (700, 1136):
        page.set_viewport_size({"width": width, "height": 844})
        assert all(max(tops) - min(tops) <= NEAR for tops in rows.evaluate_all(FIRST_LINES)), width
    page.set_viewport_size({"width": 390, "height": 844})  # cards: one value below the other
    assert all(tops == sorted(set(tops)) for tops in rows.evaluate_all(FIRST_LINES))
    tools = page.get_by_role("search", name="Judgments")
    tools.get_by_label("Severity").select_option("minor")
    expect(rows.first).to_contain_text("minor")
    assert "severity=minor" in page.url
    word = manager_word(page, rows.first)
    tools.get_by_label("Search in sources and translations").fill(word)
    expect(page.locator("#items .fetch a").first).to_have_attribute("href", re.compile(f"q={word}"))
    expect(rows.first).to_contain_text("minor")
    assert f"q={word}" in page.url
    rows.first.get_by_role("link").first.click()
    expect(page.locator(".output mark.is-minor").first).to_be_visible()
    page.reload()
    expect(page.locator(".output mark.is-minor").first).to_be_visible()


def test_what_is_filtered_is_fetched_as_tables(manager, demo):
    page = manager.page
    manager.open(f"/campaigns/{demo}/items?severity=major&system=Birke")
    for name, separator in (("CSV", ","), ("TSV", "\t")):
        address = page.locator("#items .fetch").get_by_role("link", name=name, exact=True).get_attribute("href")
        text = page.request.get(f"{manager.url}{address}").text()
        lines = text.splitlines()
        assert lines[0].split(separator)[:4] == ["id", "document", "segment", "systems"]
        assert len(lines) > 1
        assert all("major" in line for line in lines[1:])
