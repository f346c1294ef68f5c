"""Correlation of post-edits and scores, the pull of a reference, and conflicts."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from app.stats.postediting import score_relation


def test_fisher_means_are_the_published_ones() -> None:
    # The plain mean would be −0.5404.
    r = np.array([-0.5812, -0.50, -0.54])
    assert score_relation.compute_fisher_mean_correlation(r) == pytest.approx(-0.5412427, abs=1e-7)
    assert score_relation.compute_fisher_mean_correlation(r, np.array([603.0, 603.0, 603.0])) == pytest.approx(
        -0.5412427, abs=1e-7
    )
    assert score_relation.compute_fisher_mean_correlation(r, np.array([103.0, 3.0, 3.0])) == pytest.approx(-0.5812)
    assert score_relation.compute_fisher_mean_correlation(np.array([np.nan, -0.3])) == pytest.approx(-0.3)
    assert -1 <= score_relation.compute_fisher_mean_correlation(np.array([-1.0, -1.0])) < -0.999999
    assert np.isnan(score_relation.compute_fisher_mean_correlation(np.array([np.nan])))
    assert np.isnan(score_relation.compute_fisher_mean_correlation(np.empty(0)))


def test_the_pull_of_a_reference_is_that_of_the_published_table() -> None:
    # Bentivogli et al. 2018, table 2, RoIt.
    found = score_relation.compute_reference_bias((-0.5294, -0.2137), (-0.4524, -0.3570))
    assert (round(found.mter, 4), round(found.external, 4)) == (0.077, 0.1433)


def test_a_correlation_needs_three_segments_that_vary() -> None:
    x = np.array([1.0, 2.0, 3.0, np.nan])
    assert score_relation.correlate_rates_and_scores(x, np.array([3.0, 2.0, 1.0, 9.0])) == pytest.approx(-1.0)
    assert np.isnan(score_relation.correlate_rates_and_scores(x[:2], x[:2]))
    assert np.isnan(score_relation.correlate_rates_and_scores(x, np.full(4, 2.0)))


def test_residuals_are_those_of_least_squares() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(4)
    x = rng.normal(size=40)
    y = 2 - 0.7 * x + rng.normal(size=40)
    fitted = sm.OLS(y, sm.add_constant(x)).fit()
    assert score_relation.compute_standardized_residuals(x, y) == pytest.approx(fitted.resid / np.sqrt(fitted.scale))
    assert not score_relation.compute_standardized_residuals(np.ones(5), y[:5]).any()
    assert not score_relation.compute_standardized_residuals(x[:2], y[:2]).any()


def test_conflicts_are_few_edits_with_a_low_score_and_many_with_a_high_one() -> None:
    rates = np.array([0.0, 10.0, 20.0, 80.0, 90.0, 100.0])
    scores = np.array([-2.0, 1.5, 1.0, -1.0, -1.5, 2.0])
    found = score_relation.find_score_edit_conflicts(rates, scores, "median")
    assert (found.low.tolist(), found.high.tolist()) == ([True] + [False] * 5, [False] * 5 + [True])
    strict = score_relation.find_score_edit_conflicts(rates, scores, "tercile")
    assert (strict.low.sum(), strict.high.sum()) == (1, 1)
    line = np.arange(30.0)
    off = -line.copy()
    off[7] -= 40
    by_residual = score_relation.find_score_edit_conflicts(line, off, "residual")
    assert (np.flatnonzero(by_residual.low).tolist(), by_residual.high.any()) == ([7], False)
    assert score_relation.find_score_edit_conflicts(np.empty(0), np.empty(0), "median").low.size == 0


def test_what_does_not_vary_is_no_conflict() -> None:
    same = np.ones(9)
    for rule in ("median", "tercile", "residual"):
        found = score_relation.find_score_edit_conflicts(same, same, rule)
        assert not (found.low | found.high).any()


def test_the_examples_hold() -> None:
    assert doctest.testmod(score_relation).failed == 0
