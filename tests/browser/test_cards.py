"""On a phone a row of a table of many columns is a card, so that nothing is read by scrolling sideways."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.desk import sign_in
from tests.browser.test_accessible import PHONE, check
from tests.browser.test_few_actions import MOST_SHIFT, WATCH_SHIFTS
from tests.judged_demo import load_judged

# Tables that are maps of counts, and pictures, may be wider than the screen.
OVER = """() => [...document.querySelectorAll(".scroll:has(table.cards)")]
  .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
  .map((one) => [one.getAttribute("aria-label"), one.scrollWidth - one.clientWidth])"""
PAGES = (
    "",
    "/raters",
    "/quality",
    "/problems?answered=",
    "/webhooks",
    "/exclusions",
    "/texts",
    "/design",
    "/audit",
    "/recipes",
)
# By module, by the server, and of long addresses that nobody breaks into words; in German, whose words are longer.
ONE_OF_EACH = ("/raters", "/webhooks", "/recipes")


@pytest.fixture(scope="module")
def demo(spine):
    """A campaign with judgments."""
    return load_judged(spine.database)


@pytest.mark.parametrize(
    ("language", "paths"),
    [
        ("de", ONE_OF_EACH),
        pytest.param("de", [path for path in PAGES if path not in ONE_OF_EACH], marks=pytest.mark.soak),
        pytest.param("en", PAGES, marks=pytest.mark.soak),
    ],
)
def test_no_table_scrolls_sideways_or_pushes_what_is_below_it_on_a_phone(
    page, served, spine, ask, demo, language, paths
):
    ask(
        "POST",
        f"/campaigns/{demo}/webhooks",
        {"url": f"https://{'long.' * 9}example.org/{language}", "events": ["task.handed_in"]},
    )
    manager = sign_in(page, served.url, spine, "manager")
    page.set_viewport_size({"width": 390, "height": 844})
    page.add_init_script(WATCH_SHIFTS)
    for path in paths:
        manager.open(f"/campaigns/{demo}{path}{'&' if '?' in path else '?'}lang={language}")
        assert (path, page.evaluate("window.shifted") < MOST_SHIFT) == (path, True)
        page.locator("details:not([open]):has(table)").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        assert (path, page.evaluate(OVER)) == (path, [])


def test_the_head_of_a_table_has_the_room_of_its_buttons_before_they_come(page, served, spine, demo):
    manager = sign_in(page, served.url, spine, "manager")
    page.set_viewport_size({"width": 390, "height": 844})
    manager.open(f"/campaigns/{demo}/recipes")
    head = page.locator("[data-table] thead").first
    expect(head.locator("button")).not_to_have_count(0)
    with_buttons = head.bounding_box()["height"]
    head.locator("button").evaluate_all("all => all.forEach((one) => one.replaceWith(...one.childNodes))")
    assert head.bounding_box()["height"] == pytest.approx(with_buttons, abs=0.5)


def test_pairs_under_many_recipes_are_seen_at_once_on_a_laptop_also_with_long_names(page, served, spine, demo):
    manager = sign_in(page, served.url, spine, "manager")
    manager.open(f"/campaigns/{demo}/recipes")
    table = page.get_by_role("region", name="Pairs on which the recipes disagree")
    assert table.locator("th").count() > 10
    table.locator("td:nth-child(n + 3)").evaluate_all(
        "all => all.forEach((one) => { one.textContent = 'Online-A-46 *'; })"
    )
    assert page.evaluate(OVER) == []


def test_a_table_of_two_columns_is_read_without_scrolling_sideways_on_a_phone(page, served, spine, demo):
    manager = sign_in(page, served.url, spine, "manager")
    page.set_viewport_size({"width": 390, "height": 844})
    manager.open(f"/campaigns/{demo}/gate?candidate=Linde&baseline=Ulme&claim=better")
    tables = page.locator(".scroll[data-table]")
    expect(tables).not_to_have_count(0)
    assert tables.evaluate_all("all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length") == 0


def test_a_page_is_as_wide_as_the_screen_before_its_main_element_has_come(page, served, spine, demo):
    manager = sign_in(page, served.url, spine, "manager")
    page.set_viewport_size({"width": 390, "height": 844})
    manager.open(f"/campaigns/{demo}/series")
    page.locator("main").evaluate("(main) => main.remove()")
    assert page.locator(".desk").bounding_box()["width"] == 390


def test_a_card_on_the_page_for_printing_has_its_headings(page, served, spine, demo):
    manager = sign_in(page, served.url, spine, "manager")
    page.set_viewport_size({"width": 390, "height": 844})
    manager.open(f"/campaigns/{demo}/print")
    table = page.get_by_role("region", name="Ranking of the systems")
    headings = table.locator("thead th").evaluate_all('all => all.map((one) => `"${one.textContent}"`)')
    label = "(cell) => getComputedStyle(cell, '::before').content"
    shown = table.locator("tbody tr").first.locator("td").evaluate_all(f"all => all.map({label})")
    assert len(shown) > 5
    assert shown == headings
    expect(table.locator("thead th").filter(visible=True)).to_have_count(0)  # no buttons: said by each card alone


def test_a_card_has_its_headings_and_is_sorted_and_copied_as_the_table_is(page, served, spine, demo):
    manager = sign_in(page, served.url, spine, "manager")
    manager.open(f"/campaigns/{demo}")
    page.set_viewport_size({"width": 390, "height": 844})
    table = page.get_by_role("region", name="Ranking of the systems")
    first = table.locator("tbody tr").first
    label = "(cell) => getComputedStyle(cell, '::before').content"
    assert first.locator("td:visible").evaluate_all(f"all => all.map({label})") == [
        f'"{cell.get_attribute("data-label")}"' for cell in first.locator("td:visible").all()
    ]
    tops = [cell.bounding_box()["y"] for cell in first.locator("td:visible").all()]
    assert tops == sorted(set(tops))
    before = first.inner_text()
    table.get_by_role("button", name="System", exact=True).click()
    expect(table.locator("th[aria-sort]")).to_have_text("System")
    assert first.inner_text() != before
    check(page, "cards of the ranking", [PHONE])
