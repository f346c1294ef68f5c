"""Reports by the question that they answer."""

from __future__ import annotations

from typing import Any

from app.reports import registry
from app.ui.manager.report_groups import GROUPS, NEEDS


def test_every_report_of_a_campaign_stands_in_one_group() -> None:
    named = [name for _, names in GROUPS for name in names]
    known = {
        report.name
        for report in (*registry.ALL.values(), *registry.WITH_OWN_ROUTES.values())
        if report.over == "campaign"
    }
    assert sorted(named) == sorted(known)
    assert set(NEEDS) <= set(named)


def test_reports_that_do_not_apply_are_folded_away_with_the_reason(sign_in: Any, demo: str) -> None:
    shown = sign_in("manager").get(f"/campaigns/{demo}/reports").text
    fitting, _, folded = shown.partition("<summary>5 reports do not apply")
    assert folded.count("<li>") == 5
    for name, why in (("metrics", "scores of automatic metrics"), ("postediting", "post-edits"), ("arms", "arms")):
        assert f"/reports/{name}" in folded
        assert why in folded
        assert f"/reports/{name}" not in fitting
    assert "/reports/mqm2" in fitting


def test_a_ranking_says_what_may_be_claimed_and_whether_it_can_be_trusted(sign_in: Any, demo: str) -> None:
    for role, questions in (("viewer", 3), ("manager", 5)):
        shown = sign_in(role).get(f"/campaigns/{demo}").text
        claims = shown.partition('<section class="claims"')[2].partition("</section>")[0]
        assert (
            "Human translations aside: Linde ranks first. You may claim that it is better than all others except Ahorn"
            in claims
        )
        assert "25 of 28 pairs differ significantly." in claims
        trusted = shown.partition("Can it be trusted?")[2].partition("</ul>")[0]
        assert trusted.count("<li>") == questions
