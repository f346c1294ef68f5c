"""Signed-rank and paired t: SciPy as oracle, a slow twin of the exact distribution, and the edges SciPy leaves open."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from app.domain.errors import Invalid
from app.stats.testing.paired import (
    DirectionalPValues,
    compute_paired_t_p_value,
    paired_t_test,
    stouffer,
    stouffer_signed,
    wilcoxon_signed_rank,
)

ZERO_METHODS = ["wilcox", "pratt", "zsplit"]
TIED = st.lists(st.integers(-6, 6).map(lambda n: n / 3), min_size=1, max_size=60)
DISTINCT = st.lists(st.integers(-200, 200).filter(bool), min_size=1, max_size=60, unique_by=abs)


def directions(result: DirectionalPValues) -> list[tuple[str, float]]:
    return [
        ("greater", float(result.greater[0])),
        ("less", float(result.less[0])),
        ("two-sided", float(result.two_sided[0])),
    ]


@settings(max_examples=150, deadline=None)
@given(TIED | DISTINCT, st.sampled_from(ZERO_METHODS), st.booleans())
def test_the_normal_approximation_agrees_with_scipy(values: list[float], zero_method: str, correction: bool) -> None:
    assume(any(values))
    d = np.round(np.array(values, dtype=float), 10)
    for alternative, p in directions(
        wilcoxon_signed_rank(d[None], zero_method=zero_method, correction=correction, method="asymptotic")
    ):
        oracle = stats.wilcoxon(
            d, zero_method=zero_method, correction=correction, method="approx", alternative=alternative
        )
        assert p == pytest.approx(oracle.pvalue, rel=1e-9, abs=1e-300)


@settings(max_examples=25, deadline=None)  # half a second each: with ties the oracle tries all signs
@given(TIED | DISTINCT, st.sampled_from(ZERO_METHODS))
def test_auto_takes_what_scipy_takes(values: list[float], zero_method: str) -> None:
    assume(any(values))
    d = np.round(np.array(values, dtype=float), 10)
    for alternative, p in directions(wilcoxon_signed_rank(d[None], zero_method=zero_method)):
        oracle = stats.wilcoxon(d, zero_method=zero_method, method="auto", alternative=alternative)
        assert p == pytest.approx(oracle.pvalue, rel=1e-9, abs=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9), st.sampled_from(ZERO_METHODS))
def test_the_exact_distribution_agrees_with_all_signs_tried_in_turn(values: list[int], zero_method: str) -> None:
    d = np.array(values, dtype=float)
    kept = d[d != 0] if zero_method == "wilcox" else d
    ranks = stats.rankdata(np.abs(kept))[kept != 0]
    observed = ranks[kept[kept != 0] > 0].sum()
    sums = [
        sum(r for r, keep in zip(ranks, signs, strict=True) if keep) for signs in product((0, 1), repeat=ranks.size)
    ]
    result = wilcoxon_signed_rank(d[None], zero_method=zero_method, method="exact")
    assert result.greater[0] == pytest.approx(np.mean(np.array(sums) >= observed - 1e-9))
    assert result.less[0] == pytest.approx(np.mean(np.array(sums) <= observed + 1e-9))
    assert result.two_sided[0] == pytest.approx(min(1.0, 2 * min(result.greater[0], result.less[0])))


def test_a_worked_example_is_met() -> None:
    # Original and degraded scores of ten control items; the p-values were computed with independent code.
    original = np.array([80, 72, 65, 90, 55, 77, 83, 68, 71, 60], dtype=float)
    degraded = np.array([40, 75, 30, 62, 50, 20, 81, 33, 45, 25], dtype=float)
    assert wilcoxon_signed_rank((original - degraded)[None], method="exact").greater[0] == pytest.approx(0.0029296875)
    assert paired_t_test((original - degraded)[None]).greater[0] == pytest.approx(0.00096843, abs=5e-9)


def test_many_pairs_together_get_what_they_get_alone() -> None:
    d = np.round(np.random.default_rng(3).normal(0.2, 1, size=(7, 40)), 1)
    for method in ("asymptotic", "exact"):
        together = wilcoxon_signed_rank(d, method=method)
        for row in range(7):
            alone = wilcoxon_signed_rank(d[row][None], method=method)
            assert (together.greater[row], together.two_sided[row]) == (alone.greater[0], alone.two_sided[0])


def test_differences_equal_to_ten_decimals_are_ties_and_zeros() -> None:
    d = np.array([[0.1 + 0.1 + 0.1 - 0.3, 0.3, -(0.1 + 0.2), 1.0]])
    same = np.array([[0.0, 0.3, -0.3, 1.0]])
    for method in ("asymptotic", "exact"):
        assert (
            wilcoxon_signed_rank(d, method=method).two_sided[0]
            == wilcoxon_signed_rank(same, method=method).two_sided[0]
        )


def test_no_difference_at_all_gives_one_and_never_nan() -> None:
    for zero_method in ZERO_METHODS:
        for method in ("auto", "asymptotic", "exact"):
            result = wilcoxon_signed_rank(np.zeros((1, 8)), zero_method=zero_method, method=method)
            assert [p for _, p in directions(result)] == [1.0, 1.0, 1.0]
            assert result.lean[0] == 0


def test_the_exact_distribution_is_refused_where_it_would_take_too_long() -> None:
    with pytest.raises(Invalid, match="at most 200"):
        wilcoxon_signed_rank(np.ones((1, 201)), method="exact")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=2, max_size=30))
def test_paired_t_agrees_with_scipy(values: list[int]) -> None:
    assume(len(set(values)) > 1)
    d = np.array(values, dtype=float)
    for alternative, p in directions(paired_t_test(d[None])):
        oracle = stats.ttest_rel(d, np.zeros(d.size), alternative=alternative)
        assert p == pytest.approx(oracle.pvalue, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("values", [[1.0], [2.0, 2.0], [0.1 + 0.2, 0.3]])
def test_paired_t_is_undefined_without_variation(values: list[float]) -> None:
    assert np.isnan(paired_t_test(np.array([values])).two_sided[0])


def test_stouffer_on_two_sided_p_values_loses_direction() -> None:
    # two domains with p = .001 in opposite directions
    p = np.array([[0.001], [0.001]])
    assert stouffer(p)[0] == pytest.approx(6.2e-6, rel=0.01)
    signed, lean = stouffer_signed(p, np.array([[1], [-1]]))
    assert (signed[0], lean[0]) == (pytest.approx(1.0), 0)


def test_stouffer_agrees_with_scipy() -> None:
    p = np.random.default_rng(5).uniform(size=(4, 6))
    for column in range(6):
        oracle = stats.combine_pvalues(p[:, column], method="stouffer").pvalue
        assert stouffer(p)[column] == pytest.approx(oracle, rel=1e-9)


def test_stouffer_leaves_out_strata_that_were_not_tested() -> None:
    p = np.array([[0.02, np.nan], [np.nan, np.nan]])
    assert stouffer(p)[0] == pytest.approx(0.02)
    assert np.isnan(stouffer(p)[1])
    signed, lean = stouffer_signed(p, np.array([[-1, 0], [0, 0]]))
    assert (signed[0], lean[0]) == (pytest.approx(0.02), -1)


def test_signed_strata_in_one_direction_add_up() -> None:
    signed, lean = stouffer_signed(np.array([[0.1], [0.1]]), np.array([[1], [1]]))
    assert signed[0] == pytest.approx(2 * stats.norm.sf(2 * stats.norm.isf(0.05) / np.sqrt(2)))
    assert lean[0] == 1


@pytest.mark.filterwarnings("ignore:Precision loss", "ignore:invalid value", "ignore:divide by zero")
@pytest.mark.filterwarnings("ignore::scipy.stats.DegenerateDataWarning")
@pytest.mark.parametrize("second", [(2.0, 3.0, 2.0, 1.0, 0.0), (0.0, 1.0, 4.0, 3.0, 2.0), (1.0, 2.0, 5.0, 4.0, 3.0)])
def test_the_t_test_of_two_lists_is_scipys_where_they_differ_alike_or_not_at_all(second: tuple[float, ...]) -> None:
    first = (1.0, 2.0, 5.0, 4.0, 3.0)
    expected = stats.ttest_rel(first, second).pvalue
    assert compute_paired_t_p_value(first, second) == pytest.approx(expected, rel=1e-12, nan_ok=True)
