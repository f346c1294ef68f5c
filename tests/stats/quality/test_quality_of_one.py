"""One rater looked at while a campaign runs: what the report on all finds, in a part of its time."""

from __future__ import annotations

import pytest

from app.stats.quality import report as module
from app.stats.quality.change_within_tasks import (
    RaterJudgmentsInOrder,
    WithinTaskChange,
    measure_rater_change_within_tasks,
)
from app.stats.quality.quality_criteria import CHECKS, Check
from app.stats.quality.report import RaterQualityReport, evaluate_one_rater_quality, make_rater_quality_report
from tests.stats.quality.test_flags import BAD
from tests.stats.quality.worlds import Design, World, world

SMALL = Design(raters=28, documents=140, group=4)


@pytest.fixture(scope="module")
def made() -> World:
    return world(3, "esa", SMALL, kinds=BAD, drift=-30.0)


@pytest.fixture(scope="module")
def everybody(made: World) -> RaterQualityReport:
    return make_rater_quality_report(made.ratings, made.events, made.words)


@pytest.mark.parametrize("check", CHECKS)
def test_by_each_check_alone_the_same_raters_fail(made: World, everybody: RaterQualityReport, check: Check) -> None:
    of_all = {one.rater: one for one in everybody.raters}
    failing = [key for key, one in of_all.items() if check in one.beyond]
    others = [key for key, one in of_all.items() if check not in one.beyond]
    for rater in (failing or others)[:1]:
        whole, one = (
            of_all[rater],
            evaluate_one_rater_quality(made.ratings, rater, frozenset({check}), made.events, made.words),
        )
        assert one is not None
        assert [name for name in one.beyond if name != "controls"] == [
            name for name in whole.beyond if name == check != "controls"
        ]
        assert (one.verdict, one.why, one.completion, one.n_judgments) == (
            whole.verdict,
            whole.why,
            whole.completion,
            whole.n_judgments,
        )
        assert set(one.flags) <= set(whole.flags)
        assert bool(one.flags) == (check in whole.beyond and check != "controls")


def test_the_world_holds_raters_who_fail_by_most_checks(everybody: RaterQualityReport) -> None:
    failed = {check for one in everybody.raters for check in one.beyond}

    assert failed >= {"controls", "habits", "drift", "within_tasks"}


def test_orders_are_drawn_for_everybody_only_where_ones_own_are_rare(
    made: World, everybody: RaterQualityReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def counted(raters: dict[int, RaterJudgmentsInOrder]) -> dict[int, WithinTaskChange]:
        drawn.append(len(raters))
        return measure_rater_change_within_tasks(raters)

    monkeypatch.setattr(module, "measure_rater_change_within_tasks", counted)
    by_p = sorted((one.within_tasks.p_value, one.rater) for one in everybody.raters if one.within_tasks)
    for p_value, rater in (by_p[0], by_p[-1]):
        drawn.clear()
        evaluate_one_rater_quality(made.ratings, rater, frozenset({"within_tasks"}), made.events, made.words)
        assert drawn == ([1, 28] if p_value < everybody.choices.limits.chance else [1])
    assert by_p[0][0] < everybody.choices.limits.chance < by_p[-1][0]


def test_who_has_rated_nothing_has_no_evidence(made: World) -> None:
    assert evaluate_one_rater_quality(made.ratings, "nobody", frozenset(CHECKS), made.events, made.words) is None
