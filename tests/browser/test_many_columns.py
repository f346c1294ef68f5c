"""Twelve columns side by side: readable on a desktop and a phone, by keyboard, compared, and coloured where asked."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.axe import violations
from tests.browser.hands import type_number

SYSTEMS = tuple(f"sys{n:02d}" for n in range(12))

OVER = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("main *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.tagName + "." + one.className)"""


def test_twelve_columns_are_judged_by_keyboard_and_fit_every_width(campaign, rater, page):
    live = campaign(
        protocol="da",
        systems=SYSTEMS,
        segments=1,
        columns=12,
        presentation="side_by_side",
        settings={"slider_colors": True},
        options={"preference": "best"},
    )
    hands = rater(live)
    row = hands.row(1)
    sliders = row.locator("input[type=range]")
    expect(sliders).to_have_count(12)
    for n in range(12):
        type_number(sliders.nth(n), 40 + n)
    page.locator(".whole .point").nth(11).click()
    hands.saved()
    expect(row.locator(".relation")).to_have_text(["▼", *[""] * 10, "▲"])
    assert sliders.nth(11).get_attribute("aria-valuetext").endswith("the highest so far")
    for width in (1440, 360):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = [cell.bounding_box() for cell in row.locator(".cell.own").all()]
        assert all(box["width"] >= min(200, width - 80) and box["x"] + box["width"] <= width for box in boxes)
        over = page.evaluate(OVER)
        assert over == []
        assert violations(page) == []
    hands.hand_in()
