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


def test_a_page_says_that_signing_out_did_not_work(campaign, rater, open_context):
    page = open_context(**PHONE).new_page()
    rater(campaign(protocol="esa", segments=2), on=page)
    here = page.url
    for fails in (lambda route: route.abort(), lambda route: route.fulfill(status=503)):

        def refuse(route, *, fails=fails):
            if route.request.method == "DELETE":
                fails(route)
            else:
                route.continue_()

        page.route("**/v1/session", refuse)
        page.get_by_role("button", name="Sign out").click()
        said = page.get_by_role("alert").filter(has_text="You are still signed in")
        expect(said).to_have_count(1)
        expect(said).to_be_in_viewport(ratio=0.99)
        expect(page.get_by_role("button", name="Sign out")).to_be_enabled()
        assert page.url == here
        page.unroute("**/v1/session")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(lambda address: "/rate" not in address)
