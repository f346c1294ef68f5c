"""Forecast of a re-run against re-runs that are really made."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from app.domain.errors import Invalid
from app.stats.replication_forecast import Claim, forecast_replication, forecast_replication_by_bootstrap

F4 = np.array([-3.0, -2, -3, 1, -3]), np.array([2, 3, 1, 2, 3])


@pytest.mark.parametrize("documents", [8, pytest.param(30, marks=pytest.mark.soak)])
def test_forecasts_come_true_as_often_as_they_say(documents: int) -> None:
    """True differences of all sizes; a first study forecasts, a second is made: mean forecast = share that came true.

    Only first studies in doubt (|t| < 5) are looked at; far beyond, all come true.
    """
    rng, ones = np.random.default_rng(11), np.ones(documents, dtype=np.int64)
    said, came = [], []
    for truth in rng.normal(0, 8 / np.sqrt(documents), 4000):
        first, second = rng.normal(truth, 1, (2, documents))
        found = forecast_replication(first, ones, claim="better" if first.mean() > 0 else "worse")
        if abs(found.difference) < 5 * found.standard_error:
            sign = np.sign(first.mean())
            t = stats.ttest_1samp(second, 0)
            said.append((found.same_direction, found.significant_again))
            came.append((np.sign(second.mean()) == sign, t.pvalue <= 0.05 and np.sign(t.statistic) == sign))
    assert len(said) > 1500
    assert np.mean(said, axis=0, dtype=float) == pytest.approx(np.mean(came, axis=0, dtype=float), abs=0.03)


def test_what_just_made_it_is_found_again_half_the_time() -> None:
    """p = .05 just so. Goodman 1992: .50; the direction is repeated with Φ(1.96/√2) = .917."""
    d = 200
    sums = stats.norm.ppf((np.arange(d) + 0.5) / d)
    sums = (sums - sums.mean()) / sums.std(ddof=1) + stats.t.ppf(0.975, d - 1) / np.sqrt(d)
    found = forecast_replication(sums, np.ones(d, dtype=np.int64))
    assert found.significant_again == pytest.approx(0.5, abs=1e-6)
    assert found.same_direction == pytest.approx(stats.norm.cdf(1.96 / np.sqrt(2)), abs=3e-3)


def test_the_bootstrap_agrees_where_differences_are_normal() -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(3, 9, 60)
    sums = counts * 0.3 + rng.normal(0, 1, 60) * np.sqrt(counts)
    closed, drawn = (
        forecast_replication(sums, counts),
        forecast_replication_by_bootstrap(sums, counts, rng=np.random.default_rng(1)),
    )
    assert drawn.same_direction == pytest.approx(closed.same_direction, abs=0.03)
    assert drawn.significant_again == pytest.approx(closed.significant_again, abs=0.05)


def test_difference_and_error_are_those_of_the_ranking() -> None:
    """Five documents, computed with independent code."""
    found = forecast_replication(*F4, claim="worse")
    assert (found.difference, found.standard_error) == (pytest.approx(-10 / 11), pytest.approx(0.375409, abs=1e-6))
    assert found.documents == 5
    mirrored = forecast_replication(-F4[0], F4[1], claim="better")
    assert (mirrored.same_direction, mirrored.significant_again) == (found.same_direction, found.significant_again)


def test_a_wider_margin_is_never_harder() -> None:
    for claim in ("not_worse", "equivalent"):
        chances = [forecast_replication(*F4, claim=claim, margin=m).significant_again for m in (0.5, 1.0, 2.0, 6.0)]
        assert chances == sorted(chances, key=float)
        assert chances[0] < chances[-1]


def test_other_raters_make_a_re_run_less_certain() -> None:
    here, there = forecast_replication(*F4, claim="worse"), forecast_replication(*F4, claim="worse", extra_variance=0.3)
    assert there.same_direction < here.same_direction
    assert there.significant_again < here.significant_again


def test_what_cannot_be_forecast_says_why() -> None:
    ones = np.ones(4, dtype=np.int64)
    assert forecast_replication(np.array([1.0]), np.array([3])).why == "a forecast needs two documents that both have"
    assert (
        forecast_replication_by_bootstrap(
            np.array([1.0, 5.0]), np.array([3, 0]), rng=np.random.default_rng(0)
        ).documents
        == 1
    )
    equal = forecast_replication(np.array([1.0, -1, 2, -2]), ones)
    assert (equal.same_direction, equal.difference) == (None, 0.0)
    assert equal.why == "the systems are equal: there is no direction to replicate"
    same = forecast_replication(np.full(4, 2.0), ones)
    assert (same.same_direction, same.significant_again) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("claim", "margin", "alpha"), [("not_worse", 0.0, 0.05), ("equivalent", -1, 0.05), ("better", 0, 1)]
)
def test_impossible_questions_are_refused(claim: Claim, margin: float, alpha: float) -> None:
    with pytest.raises(Invalid):
        forecast_replication(*F4, claim=claim, margin=margin, alpha=alpha)


@pytest.mark.parametrize("margin", [0.2, 0.9, 1.0, 1.5, 3.0])
@pytest.mark.parametrize("shift", [-0.8, 0.0, 0.3])
def test_the_chance_that_a_claim_of_a_margin_holds_again_has_its_value(margin: float, shift: float) -> None:
    """Equal documents: the re-run's difference is θ̂ + T·s, s = √2·SE, and its bounds are t·SE away from it."""
    x = np.array([0.4, 1.1, -0.3, 0.8, 0.9, 0.2, 0.7, 1.3, -0.1, 0.6])
    x = x - x.mean() + shift
    error, degrees = x.std(ddof=1) / np.sqrt(10), 9
    reach, spread = stats.t.ppf(0.95, degrees) * error, np.sqrt(2) * error
    found = {
        claim: forecast_replication(x, np.ones(10), claim=claim, margin=margin, two_sided=False).significant_again
        for claim in ("not_worse", "equivalent")
    }
    assert found["not_worse"] == pytest.approx(stats.t.cdf((shift + margin - reach) / spread, degrees), abs=1e-9)
    inside = stats.t.cdf((margin - reach - shift) / spread, degrees) - stats.t.cdf(
        (reach - margin - shift) / spread, degrees
    )
    assert found["equivalent"] == pytest.approx(max(0.0, inside), abs=1e-9)
    assert (found["equivalent"] == 0) == (margin <= reach), (margin, reach)
