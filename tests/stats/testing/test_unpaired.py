"""Rank-sum and Welch: the worked example, SciPy as oracle, and the edges SciPy leaves undefined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from app.stats.testing.unpaired import welch_t_test, wilcoxon_rank_sum

# Half the two-sided p was SciPy's default before 1.7, and with it WMT's.
F8_X = np.array([1, 2, 2, 3, 5, 8, 9, 12], dtype=float)
F8_Y = np.array([2, 4, 6, 7, 7, 10, 11, 15, 16], dtype=float)

SAMPLES = st.lists(st.integers(0, 12).map(lambda n: n / 3), min_size=1, max_size=30)


def test_the_worked_example_f8_is_met() -> None:
    result = wilcoxon_rank_sum(F8_X, F8_Y)
    assert result.two_sided / 2 == pytest.approx(0.0808229, abs=5e-8)
    assert result.greater == pytest.approx(0.9326834, abs=5e-8)


@settings(max_examples=100, deadline=None)
@given(SAMPLES, SAMPLES, st.booleans())
def test_rank_sum_agrees_with_scipy(first: list[float], second: list[float], correction: bool) -> None:
    assume(len({*first, *second}) > 1)
    result = wilcoxon_rank_sum(np.array(first), np.array(second), correction=correction)
    for alternative, p in (("greater", result.greater), ("less", result.less), ("two-sided", result.two_sided)):
        oracle = stats.mannwhitneyu(
            np.round(first, 10),
            np.round(second, 10),
            alternative=alternative,
            method="asymptotic",
            use_continuity=correction,
        )
        assert p == pytest.approx(oracle.pvalue, rel=1e-9, abs=1e-300)


@settings(max_examples=60, deadline=None)
@given(SAMPLES, SAMPLES)
def test_rank_sum_is_symmetric_in_its_samples(first: list[float], second: list[float]) -> None:
    ahead, behind = (
        wilcoxon_rank_sum(np.array(first), np.array(second)),
        wilcoxon_rank_sum(np.array(second), np.array(first)),
    )
    assert (ahead.greater, ahead.two_sided, ahead.lean) == pytest.approx(
        (behind.less, behind.two_sided, -behind.lean), rel=1e-12
    )


def test_scores_equal_to_ten_decimals_are_ties() -> None:
    sums = np.array([0.1 + 0.1 + 0.1, 1.0])
    assert wilcoxon_rank_sum(sums, np.array([0.3, 1.0])).lean == 0


def test_samples_without_variation_give_one_and_never_nan() -> None:
    result = wilcoxon_rank_sum(np.full(5, 3.0), np.full(7, 3.0))
    assert (result.greater, result.less, result.two_sided, result.lean) == (1.0, 1.0, 1.0, 0)


@settings(max_examples=100, deadline=None)
@given(SAMPLES.filter(lambda s: len(s) > 1), SAMPLES.filter(lambda s: len(s) > 1))
def test_welch_agrees_with_scipy(first: list[float], second: list[float]) -> None:
    assume(len(set(first)) > 1 and len(set(second)) > 1)
    result = welch_t_test(np.array(first), np.array(second))
    assert result is not None
    for alternative, p in (("greater", result.greater), ("less", result.less), ("two-sided", result.two_sided)):
        oracle = stats.ttest_ind(first, second, equal_var=False, alternative=alternative)
        assert p == pytest.approx(oracle.pvalue, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("first", "second"), [([1.0], [2.0, 3.0]), ([2.0, 2.0], [3.0, 3.0]), ([0.1] * 3, [0.1] * 3)])
def test_welch_is_undefined_without_variation(first: list[float], second: list[float]) -> None:
    assert welch_t_test(np.array(first), np.array(second)) is None
