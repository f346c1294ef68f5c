"""Flags beside their stated chance: honest raters of several protocols are left alone, bad ones are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from scipy import stats

from app.stats.quality.alike_raters import measure_rater_pair_similarity
from app.stats.quality.change_within_tasks import RaterJudgmentsInOrder, measure_rater_change_within_tasks
from app.stats.quality.controls import MOST_EXACT, run_control_tests, run_degraded_below_original_test
from app.stats.quality.monte_carlo_p_values import ExceedanceCount, refine_p_values
from app.stats.quality.outliers import compute_outlier_p_values
from app.stats.quality.pairing import find_original_rows, pair_with_originals
from app.stats.quality.panel import RaterItemMeans, compute_rater_item_means
from app.stats.quality.rater_q_values import compute_relative_deviation_in_group
from app.stats.quality.repeats import (
    _agreement,
    add_repeat_q_values,
    choose_default_repeat_tolerance,
    summarize_repeats,
)
from app.stats.quality.report import RaterQualityReport, make_rater_quality_report
from app.stats.ratings import Floats, RatingRole, Ratings, ScoreScale
from app.stats.testing.adjust import benjamini_hochberg
from tests.stats.components.worlds import needs_public_data, side_by_side
from tests.stats.quality.worlds import PROTOCOLS, Design, world

PLAIN = Design(raters=30, documents=180, segments=3)
GROUPS = Design(raters=40, documents=280, group=4)
BAD: Mapping[int, str] = {
    **dict.fromkeys((0, 4, 8), "random"),
    **dict.fromkeys((1, 5), "constant"),
    **dict.fromkeys((2, 6, 9), "part"),
    **dict.fromkeys((13, 17), "drift"),
    20: "copy:21",
    21: "copy:20",
}


def report(seed: int, protocol: str, design: Design, kinds: Mapping[int, str] | None = None) -> RaterQualityReport:
    """What is found where raters who drift become more severe by 30 points of 100."""
    made = world(seed, protocol, design, kinds=kinds, drift=-30.0)
    return make_rater_quality_report(made.ratings, made.events, made.words)


def flagged(found: RaterQualityReport) -> dict[str, tuple[str, ...]]:
    return {one.rater: one.beyond for one in found.raters if one.beyond}


def at_most(share: float, n: int) -> float:
    return n * share + 3 * np.sqrt(n * share * (1 - share))


def found_of(seeds: range, protocol: str) -> tuple[int, int, int]:
    """Bad raters found, honest ones flagged, and bad ones there are."""
    wrong = {f"r{r:03}" for r in BAD}
    reports = [set(flagged(report(seed, protocol, GROUPS, BAD))) for seed in seeds]
    return sum(len(one & wrong) for one in reports), sum(len(one - wrong) for one in reports), len(wrong) * len(seeds)


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_honest_raters_are_left_alone(protocol: str) -> None:
    assert len(flagged(report(1, protocol, PLAIN))) <= 1


@pytest.mark.soak
@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_honest_raters_of_fifty_campaigns_are_flagged_no_more_often_than_said(protocol: str) -> None:
    counts: Counter[str] = Counter()
    n = 50 * PLAIN.raters
    for seed in range(50):
        found = flagged(report(seed, protocol, PLAIN))
        counts.update(check for checks in found.values() for check in checks)
        counts["any"] += len(found)
    assert counts["any"] <= 50, counts  # one in thirty raters
    assert counts["drift"] <= at_most(0.01, n), counts
    assert counts["controls"] <= at_most(0.05, n), counts
    for check in ("habits", "speed", "panel", "repeats", "within_tasks", "alike"):
        assert counts[check] <= at_most(0.01 / PLAIN.raters, n) + 2, (check, counts)


@pytest.mark.soak
@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_twelve_bad_raters_of_forty_are_found_in_twenty_campaigns(protocol: str) -> None:
    found, honest, bad = found_of(range(20), protocol)
    assert found / (found + honest) >= 0.9
    assert found / bad >= 0.8


def test_the_chance_of_standing_out_is_as_said_whatever_the_number_of_raters() -> None:
    """The smallest of n chances, times n, is below .05 in at most one panel of twenty; one far out is always found."""
    rng = np.random.default_rng(4)
    for n in (5, 8, 30):
        drawn = rng.standard_normal((300, n))
        first = np.array([compute_outlier_p_values(values, floor=0.01).min() for values in drawn])
        assert (first < 0.05 / n).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
        assert compute_outlier_p_values(np.append(drawn[0], 60.0), floor=0.01)[-1] < 0.001


def test_a_rater_of_few_items_may_lie_farther_out() -> None:
    values = np.array([0.1, -0.2, 0.0, 0.2, -0.1, 0.1, 3.0])
    sure, unsure = (
        compute_outlier_p_values(values, floor=0.1, error=np.array([0.1] * 6 + [e]))[-1] for e in (0.1, 2.0)
    )
    assert sure < 0.001 < 0.05 < unsure


def given_twice(distance: Mapping[str, Floats]) -> Ratings:
    """Each rater scores outputs at 50 and once more by a distance above."""
    rows = [
        (who, n, far, role) for who, all_far in distance.items() for n, far in enumerate(all_far, 1) for role in (0, 1)
    ]
    return Ratings.from_columns(
        system=["s"] * len(rows),
        document=["d"] * len(rows),
        position=[n for _, n, _, _ in rows],
        rater=[who for who, *_ in rows],
        score=[50.0 + far * role for _, _, far, role in rows],
        role=[RatingRole(role) for *_, role in rows],
        higher_is_better=True,
        scale=ScoreScale(0, 100, 1),
    )


def test_repeats_beyond_a_tenth_of_the_scale_are_no_fault_where_all_raters_have_them() -> None:
    """Distances of 15 points on average: within a tenth lie fewer than half, of everybody."""
    rng = np.random.default_rng(6)
    far = {f"r{r}": np.abs(rng.normal(0, 19, 14)).round() for r in range(8)} | {"wild": np.full(14, 45.0)}
    ratings = given_twice(far)
    found = {one.rater: one for one in make_rater_quality_report(ratings).raters}
    assert sum(one.repeats is not None and one.repeats.within < 0.5 for one in found.values()) >= 4
    assert {name for name, one in found.items() if "repeats" in one.beyond} == {"wild"}
    wild = found["wild"].repeats
    assert wild is not None
    assert wild.usual == pytest.approx(np.concatenate([far[f"r{r}"] for r in range(8)]).mean())


def test_nothing_is_said_of_repeats_without_twenty_of_others() -> None:
    for n, known in ((4, False), (5, True)):
        ratings = given_twice({f"r{r}": np.full(n, 30.0 if r == 0 else 2.0) for r in range(5)})
        links = find_original_rows(ratings)
        pairs = pair_with_originals(ratings, links, RatingRole.REPEAT)
        found = add_repeat_q_values(summarize_repeats(ratings, links), pairs, np.ones(5, dtype=np.bool_), least=n)
        assert (found[0].q_value is not None) is known


def colluding(*, jitter: float, raters: int = 4) -> tuple[RaterItemMeans, np.ndarray]:
    rng = np.random.default_rng(9)
    truth = rng.normal(70, 15, (12, 6))
    given = np.stack([truth + rng.normal(0, 10, truth.shape) for _ in range(raters)])
    given[1] = given[0] + rng.uniform(-jitter, jitter, truth.shape)
    places = [(r, d, s) for r in range(raters) for d in range(12) for s in range(6)]
    ratings = Ratings.from_columns(
        system=["s"] * len(places),
        document=[f"d{d:02}" for _, d, _ in places],
        position=[s + 1 for _, _, s in places],
        rater=[f"r{r}" for r, _, _ in places],
        score=given.ravel(),
        higher_is_better=True,
    )
    return compute_rater_item_means(ratings), np.repeat(np.arange(12), 6 * raters)


@pytest.mark.parametrize("jitter", [0.0, 2.0])
def test_raters_who_copy_are_found_and_others_are_not(jitter: float) -> None:
    found = measure_rater_pair_similarity(*colluding(jitter=jitter))
    assert [(one.first, one.second) for one in found if one.q_value < 0.01] == [(0, 1)]
    assert (len(found), found[0].n, found[0].equal) == (6, 72, 1.0 if jitter == 0 else 0.0)


def test_one_pair_has_nothing_to_be_compared_with() -> None:
    (pair,) = measure_rater_pair_similarity(*colluding(jitter=0.0, raters=2))
    assert pair.p_value == 1.0


def test_a_report_warns_of_raters_who_copy_in_words() -> None:
    found = report(3, "esa", Design(raters=8, documents=56, group=4), {0: "copy:1", 1: "copy:0"})
    (pair,) = found.alike
    assert pair.raters == ("r000", "r001")
    assert any(text.startswith("r000 and r001 give more similar answers than") for text in found.warnings)
    assert {one.rater for one in found.raters if "alike" in one.beyond} == {"r000", "r001"}


def test_a_task_that_ends_without_care_is_seen_and_its_cut_told() -> None:
    rng = np.random.default_rng(7)
    task, document = np.repeat(np.arange(6), 20), np.repeat(np.arange(24), 5)
    place = np.tile((np.arange(20) + 0.5) / 20, 6)
    honest = rng.normal(0, 1, 120)
    careless = np.where(place > 0.4, 3 * honest, honest)
    found = measure_rater_change_within_tasks(
        {
            0: RaterJudgmentsInOrder(task, document, place, honest),
            1: RaterJudgmentsInOrder(task, document, place, careless),
        }
    )
    assert (found[0].p_value > 0.05, found[1].q_value < 0.001, found[1].cut) == (True, True, 0.4)
    level = careless[place < 0.4].mean()
    assert found[1].early == pytest.approx(np.abs(careless[place < 0.4] - level).mean())
    assert found[1].late == pytest.approx(np.abs(careless[place > 0.4] - level).mean())


def test_a_rater_is_beside_their_level_where_they_read() -> None:
    """Answers without reading lie 4 below; the mean of all would put the careful ones nearly as far from it."""
    place = np.tile((np.arange(20) + 0.5) / 20, 6)
    given = np.where(place > 0.4, -4.0, np.tile([0.5, -0.5], 60))
    found = measure_rater_change_within_tasks(
        {0: RaterJudgmentsInOrder(np.repeat(np.arange(6), 20), np.repeat(np.arange(24), 5), place, given)}
    )[0]
    assert (found.cut, found.early, found.late) == (0.4, 0.5, 4.0)
    assert found.q_value < 0.001


def test_what_is_usual_is_what_trusted_raters_gave_to_a_system() -> None:
    """Of two systems trusted raters gave 60 and 80, and 10 and 10; nobody who is trusted judged the third."""
    score, group = np.array([60.0, 80, 100, 10, 10, 30, 5, 7]), np.array([0, 0, 0, 1, 1, 1, 2, 2])
    trusted = np.array([True, True, False, True, True, False, False, False])
    assert compute_relative_deviation_in_group(score, group, trusted).tolist() == [-1, 1, 3, 0, 0, 0, -1, 1]


def test_one_who_stops_reading_is_found_among_a_hundred() -> None:
    """With 4,999 draws the smallest chance over a hundred raters was .02, so nobody could be flagged alone."""
    rng = np.random.default_rng(9)
    task, document = np.repeat(np.arange(6), 20), np.repeat(np.arange(24), 5)
    place = np.tile((np.arange(20) + 0.5) / 20, 6)
    honest = rng.normal(0, 1, (100, 120))
    honest[0] = np.where(place > 0.4, 4 * honest[0], honest[0])
    found = measure_rater_change_within_tasks(
        {r: RaterJudgmentsInOrder(task, document, place, distance) for r, distance in enumerate(honest)}
    )
    assert [r for r, one in found.items() if one.q_value < 0.01] == [0]


def test_one_pair_that_copies_and_one_whose_repeats_lie_apart_are_found_among_many() -> None:
    """The smallest chance is small over all tests, whatever their number; further draws go to those that few reach."""
    asked: list[tuple[int, int]] = []

    def none(key: int, part: int) -> int:
        asked.append((key, part))
        return 0

    tallies = {n: ExceedanceCount(0 if n == 7 else 5_000, 9_999) for n in range(400)}
    chances = refine_p_values(tallies, none, 9_999)
    assert benjamini_hochberg(np.array(list(chances.values())))[7] < 0.01
    assert asked == [(7, part) for part in range(1, 6)]
    assert {chances[n] for n in range(400) if n != 7} == {0.5001}
    assert refine_p_values(tallies, lambda _key, _part: 30, 9_999)[7] == pytest.approx(31 / 19_999)
    many = {n: ExceedanceCount(0, 9_999) for n in range(400)}
    assert set(refine_p_values(many, none, 9_999).values()) == {1e-4}, "together they are rare already"


def test_careful_ends_are_no_fault() -> None:
    rng = np.random.default_rng(7)
    place = np.tile((np.arange(20) + 0.5) / 20, 6)
    steps = RaterJudgmentsInOrder(
        np.repeat(np.arange(6), 20), np.repeat(np.arange(24), 5), place, rng.normal(0, 1, 120) * (2 - place)
    )
    assert measure_rater_change_within_tasks({0: steps})[0].p_value > 0.2


def control_pairs(differences: Mapping[str, Floats]) -> Ratings:
    rows = [(who, n, d, role) for who, all_d in differences.items() for n, d in enumerate(all_d, 1) for role in (0, 3)]
    return Ratings.from_columns(
        system=["s"] * len(rows),
        document=["d"] * len(rows),
        position=[n for _, n, _, _ in rows],
        rater=[who for who, *_ in rows],
        score=[60.0 + (d if role else 0) for _, _, d, role in rows],
        role=[RatingRole(role) for *_, role in rows],
        higher_is_better=True,
    )


def test_nobody_fails_by_controls_that_a_good_rater_may_miss() -> None:
    """Those who passed score two of ten degraded outputs above their originals, or none."""
    weak = np.array([-9.0, -8, -7, -6, -5, -4, -3, -2, 1.5, 2.5])
    clear = np.linspace(-50, -20, 10)
    none = np.array([5.0, -5, 4, -4, 3, -3, 2, -2, 1, -1])
    for others, verdict in ((weak, "not_testable"), (clear, "fail")):
        ratings = control_pairs({f"r{r}": others for r in range(4)} | {"x": none})
        found = run_control_tests(ratings, find_original_rows(ratings))
        assert [found[r].verdict for r in range(5)] == ["pass"] * 4 + [verdict]
        missed = found[4].missed
        assert missed is not None
        assert (missed > 0.05) is (verdict == "not_testable")


class TestPublicData:
    """Side-by-side MQM of ten professional raters."""

    pytestmark = needs_public_data

    def test_no_professional_rater_is_flagged(self) -> None:
        assert flagged(make_rater_quality_report(side_by_side())) == {}


@pytest.mark.parametrize("n", [MOST_EXACT - 1, MOST_EXACT, MOST_EXACT + 1])
def test_signed_ranks_are_counted_up_to_fifty_differences_and_taken_as_normal_beyond(n: int) -> None:
    difference = np.random.default_rng(n).normal(-0.3, 1, n)
    one = run_degraded_below_original_test(difference, np.zeros(n), "signed_rank")
    exact, normal = (stats.wilcoxon(difference, alternative="less", method=m).pvalue for m in ("exact", "asymptotic"))
    assert one is not None
    assert exact != pytest.approx(normal, rel=1e-4)
    assert one.p_value == pytest.approx(exact if n <= 50 else normal, rel=1e-9)


def test_one_pair_has_no_t_test_and_two_have() -> None:
    assert run_degraded_below_original_test(np.array([1.0]), np.array([2.0]), "paired_t") is None
    found = run_degraded_below_original_test(np.array([1.0, 0.0]), np.array([2.0, 3.0]), "paired_t")
    assert found is not None
    assert found.p_value == pytest.approx(stats.ttest_1samp([-1.0, -3.0], 0, alternative="less").pvalue)


def test_a_repeat_agrees_up_to_the_tolerance_and_not_beyond_it() -> None:
    assert choose_default_repeat_tolerance(ScoreScale(0, 100, 1)) == 10.0
    first, again = np.full(4, 50.0), np.array([60.0, 40.0, 60.5, 39.5])
    assert _agreement(again, first, 10.0).within == 0.5
