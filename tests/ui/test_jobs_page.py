"""A job leads to the page of the report that it makes, with the question that it answers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from app.reports import registry
from app.ui.manager.jobs import OWN_PAGES, make_report_address
from tests.ui.conftest import begin
from tests.working import drained

ASKED = "/campaigns/demo/reports/agreement"


def test_a_job_leads_to_its_report_under_way_and_done(demo, sign_in, database):
    browser = sign_in("manager")
    job = begin(browser, browser.get(ASKED).text).json()["job"]
    assert "start one with <code>plumbline worker</code>" in browser.get(ASKED).text
    for _ in ("under way", "done"):
        led = browser.get(f"/campaigns/demo/jobs/{job}")
        assert (led.status_code, led.headers["location"]) == (303, ASKED)
        drained(database)
    assert "<table" in browser.get(ASKED).text
    assert browser.get("/campaigns/demo/jobs/j_none").status_code == 404


KINDS = (*registry.ALL, *registry.WITH_OWN_ROUTES, *OWN_PAGES, "ranking")


def address_of(kind):
    request = SimpleNamespace(arguments={"recipe": {"name": "wmt-da"}} if kind == "ranking" else {})
    return make_report_address("demo", SimpleNamespace(kind=kind, campaigns={"demo": 1}, request=request))


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.soak)])
def test_every_kind_of_job_has_a_page(every, demo, sign_in):
    """Of the reports that have a page in common, each so many-th; `test_pages_begin_nothing` opens all of these."""
    browser = sign_in("manager")
    alike = [kind for kind in registry.ALL if kind not in OWN_PAGES]
    for kind in KINDS:
        if kind not in alike or alike.index(kind) % every == 0:
            assert browser.get(address_of(kind)).status_code in {200, 422}, kind


def test_the_address_of_a_job_is_that_of_its_kind():
    places = {"campaign": "reports", "campaigns": "comparisons"}
    for over, name in (kind.split("/") for kind in registry.ALL):
        place = f"/campaigns/demo/{places[over]}/{name}"
        assert address_of(f"{over}/{name}").partition("?")[0] == place or name in OWN_PAGES


def test_options_are_asked_as_a_form_sends_them():
    given = {"candidate": "a b", "margin": 0.5, "documents": [5, 10], "paired": True, "alpha": None}
    request = SimpleNamespace(arguments=given)
    view = SimpleNamespace(kind="campaigns/consistency", campaigns={"demo": 1, "other": 2}, request=request)
    assert make_report_address("demo", view) == (
        "/campaigns/demo/comparisons/consistency?with=other&candidate=a+b&margin=0.5&documents=5%2C10&paired=true"
    )
