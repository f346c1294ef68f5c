"""Stability in its page: what stands first, and what to do where nothing can be simulated or told."""

from __future__ import annotations

import re

from app.ui.manager.stability import group_alike_warnings
from tests.spine import Spine
from tests.stats.stability.worlds import as_mqm, made_up
from tests.ui.conftest import begin
from tests.working import drained

ASKED = "designs=by+grouping&studies=20&studies_per_document_set=10&permutations=100"
FORECAST = '/campaigns/{}/reports/forecast"'


def test_warnings_that_differ_in_their_figures_alone_stand_together():
    assert group_alike_warnings(
        ["a, 5 documents: 97 % claim nothing", "a pool", "b, 5 documents: 1.5 % claim nothing"]
    ) == [
        ["a, 5 documents: 97 % claim nothing", "b, 5 documents: 1.5 % claim nothing"],
        ["a pool"],
    ]


def test_counts_that_nothing_can_be_significant_with_lead_on_and_single_ratings_lead_to_the_forecast(
    database_url, database, sign_in
):
    spine = Spine(database_url, database)
    spine.take("eight", "mqm-tsv", as_mqm(made_up(1, documents=8)))
    spine.take("once", "mqm-tsv", as_mqm(made_up(1, documents=4, pools=((0,), (1,)))))
    browser = sign_in()
    few, more = (f"/campaigns/eight/stability?{ASKED}{documents}" for documents in ("", "&documents=6%2C7%2C8"))
    single = f"/campaigns/once/stability?{ASKED}"
    for path in (few, more, single):
        begun = begin(browser, browser.get(path).text)
        assert begun.status_code == 202, begun.text
        assert "<progress" in browser.get(path).text
    drained(database)
    shown = browser.get(few).text
    assert more.replace("&", "&amp;") in shown
    assert len(re.findall("<b>Warning:</b> .*no difference can be significant with 5 documents", shown)) == 1
    assert "And 2 more like it." in shown
    assert "simulate studies of" not in browser.get(more).text
    none = browser.get(f"/campaigns/eight/stability?{ASKED}&documents=0")
    assert none.status_code == 422
    assert "greater than or equal to 1" in none.text
    assert browser.get("/campaigns/eight/stability-report.csv?documents=0").status_code == 422
    refused = browser.get(single)
    assert refused.status_code == 422
    assert "Studies cannot be simulated from these data: " in refused.text
    assert FORECAST.format("once") in refused.text
