"""Charts that can be touched: values by pointing and by keyboard, ways to the texts, series, zoom, and a table."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.desk import sign_in
from tests.browser.test_accessible import LOOKS, check
from tests.judged_demo import load_judged

MOST_TRANSFERRED = 350_000
"""Bytes for the library, on a page that has a chart."""
LARGEST_SHIFT = 0.1
WORDS = "(svg) => [...svg.querySelectorAll('text')].map((one) => one.textContent)"
CUT_OFF = """
(svg) => { const whole = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('g text')].filter((text) => text.textContent).filter((text) => {
    const box = text.getBoundingClientRect(); return box.left < whole.left || box.top < whole.top;
  }).map((text) => text.textContent); }
"""
WATCH = """
window.shifts = 0;
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifts += one.value; })
  .observe({ type: "layout-shift", buffered: true });
"""

PHONE, DESK = LOOKS


@pytest.fixture(scope="module")
def demo(spine):
    """A campaign with judgments."""
    return load_judged(spine.database)


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


@pytest.fixture
def ranking(manager, demo):
    """The page of the ranking, with its charts drawn."""
    manager.page.add_init_script(WATCH)
    manager.open(f"/campaigns/{demo}")
    expect(manager.page.locator("svg.plot")).to_have_count(2)
    return manager.page


def test_pointing_at_a_mark_shows_its_values(ranking):
    forest = ranking.locator(".chart").first
    forest.locator(".mark > *").first.hover()
    expect(forest.locator(".chart-said")).to_contain_text("score")
    expect(forest.locator("svg.plot [pointer-events=none] text", has_text="rank").first).to_be_visible()


def test_names_of_wide_letters_are_whole(manager, demo):
    def widen(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=re.sub(r"\b(Eibe|Linde|Ulme)\b", "WMMMMWM", answer.text()))

    manager.page.route(f"**/campaigns/{demo}", widen)
    manager.open(f"/campaigns/{demo}")
    plots = manager.page.locator("svg.plot")
    expect(plots).to_have_count(2)
    for plot in plots.all():
        assert "WMMMMWM" in plot.evaluate(WORDS)
        assert plot.evaluate(CUT_OFF) == []


def test_a_system_leads_to_its_texts_and_a_pair_to_its_disagreements(ranking):
    row = ranking.locator(".chart").first.locator(".mark a").first
    assert re.search(r"/items\?system=", row.evaluate("(a) => a.href.baseVal"))
    ranking.locator(".chart").nth(1).locator(".mark a").first.click()
    expect(ranking).to_have_url(re.compile(r"/reports/disagreements\?system=.+&other=.+"))
    expect(ranking.locator("h1")).to_be_visible()


def test_the_keyboard_goes_from_mark_to_mark_and_into_one(ranking):
    marks = ranking.locator(".chart").nth(1).locator(".mark > *")
    first, second = marks.nth(0), marks.nth(1)
    first.focus()
    told = ranking.locator(".chart").nth(1).locator(".chart-said")
    before = told.inner_text()
    ranking.keyboard.press("ArrowRight")
    expect(second).to_be_focused()
    expect(told).not_to_have_text(before)
    assert (first.get_attribute("tabindex"), second.get_attribute("tabindex")) == ("-1", "0")
    ranking.keyboard.press("Enter")
    expect(ranking).to_have_url(re.compile(r"/reports/disagreements"))


def test_a_chart_is_zoomed_and_its_values_are_a_table_that_sorts(ranking):
    chart = ranking.locator(".chart").first
    whole = chart.locator("svg.plot").evaluate(WORDS)
    chart.get_by_role("button", name="Zoom in").click()
    assert chart.locator("svg.plot").evaluate(WORDS) != whole
    chart.get_by_role("button", name="Whole chart").click()
    assert chart.locator("svg.plot").evaluate(WORDS) == whole
    chart.get_by_text("Values as a table").click()
    heading = chart.get_by_role("columnheader", name="Value")
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    values = [float(text.replace("−", "-")) for text in chart.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values)


def test_series_are_switched_off_and_on(manager, demo):
    manager.open(f"/campaigns/{demo}/recipes")
    page = manager.page
    dots = page.locator(".mark > *")
    expect(dots.first).to_be_visible()
    all_dots = dots.count()
    page.locator(".series input").first.uncheck()
    assert dots.count() < all_dots
    page.locator(".series input").first.check()
    assert dots.count() == all_dots


def test_the_library_is_light_and_comes_only_where_there_is_a_chart(manager, demo):
    page, fetched = manager.page, []
    page.on("requestfinished", lambda request: fetched.append(request) if "/vendor/" in request.url else None)
    # The browser's own list of what a page fetched sometimes lacks the library for good; what was sent is always told.
    with page.expect_event("requestfinished", lambda request: "/vendor/" in request.url):
        manager.open(f"/campaigns/{demo}")
    expect(page.locator("svg.plot")).to_have_count(2)
    # By what the answers say, as the browser may have them from an earlier page.
    assert 0 < sum(int(request.response().header_value("content-length")) for request in fetched) <= MOST_TRANSFERRED
    fetched.clear()
    manager.open(f"/campaigns/{demo}/reports")
    assert fetched == []


CHARTED = ("", "/recipes", "/reports/difficulty", "/reports/distributions")


@pytest.mark.parametrize(
    ("size", "look", "paths"),
    [
        ((1440, 900), DESK, CHARTED[1:2]),
        ((390, 800), PHONE, CHARTED[:1]),
        pytest.param((1440, 900), DESK, (*CHARTED[:1], *CHARTED[2:]), marks=pytest.mark.soak),
        pytest.param((390, 800), PHONE, CHARTED[1:], marks=pytest.mark.soak),
    ],
)
def test_nothing_moves_when_charts_are_drawn_and_axe_finds_nothing(manager, demo, size, look, paths):
    page = manager.page
    page.add_init_script(WATCH)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for path in paths:
        manager.open(f"/campaigns/{demo}{path}")
        expect(page.locator("svg.plot").first).to_be_attached()
        assert page.evaluate("window.shifts") < LARGEST_SHIFT, path
        check(page, path, [look])
        page.set_viewport_size({"width": size[0], "height": size[1]})


def test_a_table_filters_and_copies(manager, demo):
    page = manager.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    manager.open(f"/campaigns/{demo}")
    page.locator("#main").get_by_role("button", name="Copy as TSV").first.click()
    rows = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert rows[0].split("\t")[2] == "System"
    assert len(rows) == 1 + page.locator("[data-table]").first.locator("tbody tr").count()
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    for button in page.locator("#main").get_by_role("button", name="Copy as TSV").all()[1:]:
        button.click()
        expect(button).to_have_class(re.compile("is-done"))
        rows += page.evaluate("navigator.clipboard.readText()").split("\n")
    cells = [cell for row in rows for cell in row.split("\t")]
    assert any(re.fullmatch(r"-[\d.]+", cell) for cell in cells), "a spreadsheet reads it as a number"
    assert not any(re.fullmatch(r"−[\d.]+", cell) for cell in cells)
    page.get_by_role("button", name="Copy LaTeX").first.click()
    expect(page.locator("[data-copy-from].is-done")).to_be_visible()
    assert "\\begin{table" in page.evaluate("navigator.clipboard.readText()")


def test_a_picture_has_its_room_before_it_has_come_and_is_whole_on_paper(page, manager, demo):
    manager.open(f"/campaigns/{demo}/print")
    room, image = page.locator(".picture").first, page.locator(".picture img").first
    image.evaluate("(one) => { one.loading = 'eager'; return one.decode(); }")
    with_picture = room.bounding_box()["height"]
    page.emulate_media(media="print")
    assert room.bounding_box()["height"] == pytest.approx(image.bounding_box()["height"], abs=2)
    page.emulate_media(media="screen")
    image.evaluate("(one) => one.remove()")
    assert room.bounding_box()["height"] == with_picture > 0
