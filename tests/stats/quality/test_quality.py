"""Evidence on raters: the kernels against plain reckoning, and what a report says of planted behaviour."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app.stats.quality.controls import run_control_tests, run_degraded_below_original_test
from app.stats.quality.drift import compute_cusum, fit_least_squares_trend
from app.stats.quality.habits import (
    compute_chance_of_score_run,
    compute_expected_longest_run,
    compute_scoring_habits,
    find_longest_run_length,
)
from app.stats.quality.pairing import find_original_rows, pair_with_originals
from app.stats.quality.panel import compare_raters_with_panel, compute_spearman_correlation
from app.stats.quality.quality_criteria import ControlTestName, RaterQualityCriteria
from app.stats.quality.report import choose_completion_code_kind, make_rater_quality_report
from app.stats.ratings import Floats, RatingRole, Ratings, ScoreScale

ORIGINAL = np.array([80.0, 72, 65, 90, 55, 77, 83, 68, 71, 60])
BAD = np.array([40.0, 75, 30, 62, 50, 20, 81, 33, 45, 25])


def rated(changed: Floats, original: Floats, *, higher: bool = True, raters: int = 1) -> Ratings:
    """Pairs of a degraded output and its original, the same for each of some raters."""
    n = original.size
    return Ratings.from_columns(
        system=["s"] * (2 * n * raters),
        document=["d"] * (2 * n * raters),
        position=[*range(1, n + 1), *range(1, n + 1)] * raters,
        rater=[f"r{r}" for r in range(raters) for _ in range(2 * n)],
        score=np.tile(np.concatenate((original, changed)), raters),
        role=([RatingRole.RATING] * n + [RatingRole.DEGRADED] * n) * raters,
        higher_is_better=higher,
        scale=ScoreScale(0, 100, 1),
    )


@pytest.mark.parametrize(
    ("test", "p"), [("signed_rank", 0.0029296875), ("paired_t", 0.00096843), ("rank_sum", 0.0056648)]
)
def test_the_three_tests_give_the_values_of_independent_code(test: ControlTestName, p: float) -> None:
    """Computed with independent code: exact signed rank, paired t, rank sum with continuity correction."""
    ratings = rated(BAD, ORIGINAL)
    (one,) = run_control_tests(ratings, find_original_rows(ratings), test=test).values()
    assert one.p_value == pytest.approx(p, rel=1e-5)
    assert (one.n_pairs, one.share_worse, one.verdict) == (10, 0.9, "pass")


@pytest.mark.parametrize("test", ["signed_rank", "paired_t", "rank_sum"])
def test_a_penalty_is_worse_where_it_is_larger(test: ControlTestName) -> None:
    scores, penalties = rated(BAD, ORIGINAL), rated(100 - BAD, 100 - ORIGINAL, higher=False)
    (one,) = run_control_tests(scores, find_original_rows(scores), test=test).values()
    (other,) = run_control_tests(penalties, find_original_rows(penalties), test=test).values()
    assert other.p_value == pytest.approx(one.p_value, rel=1e-12)
    (wrong,) = run_control_tests(rated(BAD, ORIGINAL, higher=False), find_original_rows(scores), test=test).values()
    assert wrong.verdict == "fail"


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12))
def test_the_exact_signed_rank_test_is_that_of_all_signs(pairs: list[tuple[int, int]]) -> None:
    changed, original = np.array(pairs, dtype=np.float64).T
    difference = (changed - original)[changed != original]
    found = run_degraded_below_original_test(changed, original, "signed_rank")
    assert found is not None
    if not difference.size:
        assert found.p_value == 1.0
        return
    ranks = stats.rankdata(np.abs(difference))
    signs = (np.arange(2**difference.size)[:, None] >> np.arange(difference.size)) & 1
    plus = signs @ ranks
    assert found.statistic == pytest.approx(ranks[difference > 0].sum())
    assert found.p_value == pytest.approx((plus <= found.statistic + 1e-9).mean(), rel=1e-9)


def test_q_values_are_over_the_raters_that_could_be_tested() -> None:
    ratings = rated(BAD, ORIGINAL, raters=4)
    few = ratings.where(~((ratings.rater == 3) & (ratings.segment > 4)))
    found = list(run_control_tests(few, find_original_rows(few)).values())
    ps = [one.p_value for one in found[:3]]
    assert [one.q_value for one in found] == [*stats.false_discovery_control(ps), None]
    assert (found[3].verdict, found[3].why) == ("not_testable", "5 of at least 8 pairs")


def test_an_original_of_the_same_task_is_preferred_and_a_missing_one_counted() -> None:
    ratings = Ratings.from_columns(
        system=["s"] * 5,
        document=["d"] * 5,
        position=[1, 1, 1, 2, 1],
        rater=["r"] * 5,
        task=["t1", "t2", "t2", "t2", "t3"],
        score=[10.0, 20.0, 5.0, 5.0, 7.0],
        role=[RatingRole.RATING, RatingRole.RATING, RatingRole.DEGRADED, RatingRole.DEGRADED, RatingRole.DEGRADED],
        higher_is_better=True,
    )
    pairs = pair_with_originals(ratings, find_original_rows(ratings), RatingRole.DEGRADED)
    assert sorted(zip(pairs.changed, pairs.original, strict=True)) == [(5.0, 20.0), (7.0, 10.0)]
    assert pairs.unmatched.tolist() == [1]


def test_a_shared_judgment_counts_once_for_its_rater() -> None:
    ratings = rated(BAD, ORIGINAL)
    rows = np.concatenate((np.arange(len(ratings)), np.arange(len(ratings))))
    (one,) = run_control_tests(ratings.take(rows), find_original_rows(ratings.take(rows))).values()
    assert one.n_pairs == 10


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=60))
def test_the_cusum_is_the_recursion_of_page(values: list[float]) -> None:
    found = compute_cusum(np.array(values), k=0.5, h=2)
    up = down = 0.0
    alarm = None
    for n, x in enumerate(values, 1):
        up, down = max(0.0, up + x - 0.5), max(0.0, down - x - 0.5)
        assert (found.upper[n - 1], found.lower[n - 1]) == pytest.approx((up, down), abs=1e-9)
        alarm = alarm or (n if max(up, down) > 2 + 1e-9 else None)
    if not any(abs(s - 2) < 1e-6 for s in (*found.upper, *found.lower)):
        assert found.alarm == alarm


@given(st.lists(st.integers(0, 4), min_size=3, max_size=40), st.lists(st.integers(0, 4), min_size=40, max_size=40))
def test_rank_correlation_and_slope_are_those_of_scipy(first: list[int], second: list[int]) -> None:
    x, y = np.array(first, dtype=np.float64), np.array(second[: len(first)], dtype=np.float64)
    if np.ptp(x) and np.ptp(y):
        assert compute_spearman_correlation(x, y) == pytest.approx(float(stats.spearmanr(x, y).statistic), abs=1e-9)
        ours, theirs = fit_least_squares_trend(x, y), stats.linregress(x, y)
        assert ours == pytest.approx((theirs.slope, theirs.pvalue), abs=1e-7)
    else:
        assert np.isnan(compute_spearman_correlation(x, y))


def test_runs_are_as_long_as_shuffles_make_them() -> None:
    rng = np.random.default_rng(5)
    shares = np.array([0.6, 0.3, 0.1])
    lengths = [find_longest_run_length(rng.choice(3, 300, p=shares).astype(np.float64)) for _ in range(400)]
    assert compute_expected_longest_run(shares, 300) == pytest.approx(np.mean(lengths), abs=0.35)
    assert compute_chance_of_score_run(shares, 300, 14) == pytest.approx(np.mean(np.array(lengths) >= 14), abs=0.06)


def test_round_numbers_are_looked_for_on_sliders_only() -> None:
    scores = np.array([10.0, 20, 35, 100])
    errors = np.full(4, -1, dtype=np.int32)
    slider, steps = (
        compute_scoring_habits(scores, errors, ScoreScale(0, 100, 1)),
        compute_scoring_habits(scores / 20, errors, ScoreScale(0, 5, 1)),
    )
    assert (slider.round_share, slider.round_expected) == (0.75, pytest.approx(11 / 101))
    assert (steps.round_share, steps.no_errors) == (None, None)


def panel(**changed: Floats) -> Ratings:
    """Five raters of the same 60 items of a known quality, some of whom answer as given."""
    rng = np.random.default_rng(11)
    truth = rng.uniform(30, 90, 60)
    scores = {f"r{r}": np.round(np.clip(truth + rng.normal(0, 5, 60), 0, 100)) for r in range(5)} | changed
    return Ratings.from_columns(
        system=["s"] * 60 * len(scores),
        document=["d"] * 60 * len(scores),
        position=[*range(1, 61)] * len(scores),
        rater=[name for name in scores for _ in range(60)],
        score=np.concatenate(list(scores.values())),
        higher_is_better=True,
        scale=ScoreScale(0, 100, 1),
    )


def test_a_rater_is_compared_with_the_others_and_not_with_themself() -> None:
    ratings = panel()
    found = compare_raters_with_panel(ratings)[0]
    table = ratings.score.reshape(60, 5)
    others = table[:, 1:].mean(axis=1)
    assert found.offset == pytest.approx(table[:, 0].mean() - others.mean())
    assert found.shift == pytest.approx(-found.offset)
    assert found.spread_ratio == pytest.approx(table[:, 0].std(ddof=1) / table[:, 1:].std(ddof=1))
    assert found.correlation == pytest.approx(stats.spearmanr(table[:, 0], others).statistic)


def test_the_shift_to_a_consensus_is_that_of_licht() -> None:
    """Licht et al. 2022, §4: consensus 3.0, evaluator 3.2 → −0.2."""
    ratings = panel().where(np.arange(300) < 5)
    found = compare_raters_with_panel(ratings.with_scores(np.array([3.2] * 5)), np.full(5, 3.0))
    assert found[0].shift == pytest.approx(-0.2)
    assert found[0].basis == "consensus"


def test_planted_behaviour_is_flagged_and_honest_work_is_not() -> None:
    contrary = 120 - panel().score.reshape(60, 5)[:, 0]
    found = {
        one.rater: one for one in make_rater_quality_report(panel(careless=np.full(60, 70.0), contrary=contrary)).raters
    }
    assert "one score throughout" in found["careless"].flags
    assert any(flag.startswith("rank correlation") for flag in found["contrary"].flags)
    assert {flag for r in range(5) for flag in found[f"r{r}"].flags} == set()
    assert {one.verdict for one in found.values()} == {"not_testable"}


def test_a_verdict_comes_from_control_items_alone_and_decides_completion() -> None:
    good, bad = rated(BAD, ORIGINAL), rated(ORIGINAL, ORIGINAL)
    (passed,), (failed,) = make_rater_quality_report(good).raters, make_rater_quality_report(bad).raters
    assert (passed.verdict, passed.completion) == ("pass", "complete")
    assert (failed.verdict, failed.completion) == ("fail", "review")
    assert (
        make_rater_quality_report(good, criteria=RaterQualityCriteria(min_pairs=11)).raters[0].verdict == "not_testable"
    )
    assert choose_completion_code_kind("not_testable", untested="review") == "review"


def test_row_order_and_an_empty_campaign_change_nothing() -> None:
    ratings = panel()
    shuffled = ratings.take(np.random.default_rng(1).permutation(300)).in_canonical_order()
    assert make_rater_quality_report(shuffled) == make_rater_quality_report(ratings)
    assert make_rater_quality_report(ratings.where(np.zeros(300, dtype=np.bool_))).raters == ()
