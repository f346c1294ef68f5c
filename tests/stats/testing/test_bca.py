"""The bootstrap claims of WMT26 are those of SciPy's BCa interval with the same draws."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from app.stats.testing import bca
from app.stats.testing.bca import bootstrap_paired_difference, bootstrap_two_samples

ALPHA = 0.05


def lower_end(*samples: np.ndarray, seed: int, level: float = ALPHA) -> float:
    """Of SciPy's one-sided interval, as the published script asks for it."""
    rng = np.random.default_rng(seed)
    if len(samples) == 1:
        found = stats.bootstrap(
            samples, np.mean, n_resamples=100, confidence_level=1 - level, alternative="greater", rng=rng
        )
    else:
        found = stats.bootstrap(
            samples,
            lambda x, y, axis=-1: np.round(np.mean(x, axis=axis) - np.mean(y, axis=axis), 10),
            n_resamples=100,
            confidence_level=1 - level,
            alternative="greater",
            rng=rng,
        )
    return float(found.confidence_interval.low)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.filterwarnings("ignore")
def test_a_claim_is_made_exactly_where_scipys_lower_end_is_above_0(seed: int) -> None:
    rng = np.random.default_rng([9, seed])
    x = rng.choice([0.0, 60.0, 80.0, 95.0, 100.0], size=int(rng.integers(2, 60)))
    y = x[: rng.integers(2, 1 + x.size)] - rng.normal(3.0, 12.0, size=1).round() - rng.integers(0, 3)
    differences = x[: y.size] - y + rng.normal(0, 9, size=y.size).round()
    pairs = [
        (bootstrap_paired_difference(differences, alpha=ALPHA, seed=seed), lower_end(differences, seed=seed)),
        (bootstrap_two_samples(x, y, alpha=ALPHA, seed=seed), lower_end(x, y, seed=seed)),
    ]
    for claim, low in pairs:
        assert (claim.p_value < ALPHA) == (low > 0)
        assert np.isnan(claim.p_value) or 1 / 101 <= claim.p_value <= 1


@pytest.mark.parametrize("level", [0.02, 0.05, 0.2, 0.5])
def test_the_p_value_is_the_level_whose_lower_end_is_0(level: float) -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(0, 10, size=40)
    shifted = values - lower_end(values, seed=3, level=level)  # its lower end at that level is 0 now

    assert bootstrap_paired_difference(shifted, alpha=ALPHA, seed=3).p_value == pytest.approx(level, abs=1e-9)


def test_the_reverse_is_the_claim_about_the_other_one() -> None:
    values = np.random.default_rng(5).exponential(4.0, size=30) - 4.5

    here, there = (bootstrap_paired_difference(sign * values, alpha=ALPHA, seed=1) for sign in (1, -1))

    assert (here.p_value, here.p_reverse) == pytest.approx((there.p_reverse, there.p_value))


@pytest.mark.parametrize(
    ("values", "p_value", "p_reverse"),
    [([3.0], np.nan, np.nan), ([], np.nan, np.nan), ([2.0, 2.0, 2.0], np.nan, np.nan), ([0.0, 0.0], np.nan, np.nan)],
)
def test_what_gives_no_interval_is_no_claim(values: list[float], p_value: float, p_reverse: float) -> None:
    claim = bootstrap_paired_difference(np.array(values), alpha=ALPHA, seed=0)

    assert (claim.p_value, claim.p_reverse) == pytest.approx((p_value, p_reverse), nan_ok=True)


def test_fewer_than_two_of_one_sample_are_not_tested() -> None:
    claim = bootstrap_two_samples(np.array([1.0]), np.array([0.0, 1.0, 2.0]), alpha=ALPHA, seed=0)

    assert np.isnan([claim.p_value, claim.p_reverse]).all()


@pytest.mark.parametrize("sizes", [(41,), (30, 57)])
def test_draws_in_blocks_are_those_at_once(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [np.random.default_rng(size).normal(0, 10, size=size).round() for size in sizes]
    at_once = bca._draw_means(samples, 500, seed=6)
    for module_limit in ("_LARGE", "_BLOCK"):
        monkeypatch.setattr(bca, module_limit, 100)
    in_blocks = bca._draw_means(samples, 500, seed=6)
    for one, other in zip(at_once, in_blocks, strict=True):
        assert one.shape == (500,)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_large_samples_with_many_resamples_take_little_memory() -> None:
    """A report over all recipes asks for thousands: its draws were 10 GB in a campaign of 10,000 segments."""
    x = np.random.default_rng(7).normal(0, 10, size=50_000)
    tracemalloc.start()
    try:
        claim = bootstrap_two_samples(x, x - 1, alpha=ALPHA, seed=1, resamples=400)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert claim.p_value < ALPHA
    assert peak < 60e6  # at once they are 320 MB
