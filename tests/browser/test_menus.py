"""Menus on a phone: the way out of a page is in sight."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.desk import sign_in

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


def test_sign_out_is_in_sight_on_a_phone_for_raters_and_managers(campaign, rater, open_context, served, spine):
    live = campaign(protocol="esa", segments=2)
    page = open_context(**PHONE).new_page()
    rater(live, on=page)
    expect(page.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=0.99)

    desk = sign_in(open_context(**PHONE).new_page(), served.url, spine, "manager")
    desk.open(f"/campaigns/{live.key}/overview")
    expect(desk.page.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=0.99)
