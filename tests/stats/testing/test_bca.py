"""The bootstrap claims of WMT26 are those of SciPy's BCa interval with the same draws."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from app.stats.testing import bca
from app.stats.testing.bca import OneSidedPValues, compute_bca_paired_p_values, compute_bca_two_sample_p_values

ALPHA = 0.05


def claim_paired(differences: np.ndarray, seed: int) -> OneSidedPValues:
    return compute_bca_paired_p_values(
        np.stack([differences, np.zeros_like(differences)]), [(0, 1)], alpha=ALPHA, seed=seed
    )[0]


def claim_apart(x: np.ndarray, y: np.ndarray, seed: int, resamples: int = 100) -> OneSidedPValues:
    return compute_bca_two_sample_p_values([x, y], [(0, 1)], alpha=ALPHA, seed=seed, resamples=resamples)[0]


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
        (claim_paired(differences, seed), lower_end(differences, seed=seed)),
        (claim_apart(x, y, seed), lower_end(x, y, seed=seed)),
    ]
    for claim, low in pairs:
        assert (claim.p_value < ALPHA) == (low > 0)
        assert np.isnan(claim.p_value) or 1 / 101 <= claim.p_value <= 1


@pytest.mark.parametrize("level", [0.02, 0.05, 0.2, 0.5])
def test_the_p_value_is_the_level_whose_lower_end_is_0(level: float) -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(0, 10, size=40)
    shifted = values - lower_end(values, seed=3, level=level)  # its lower end at that level is 0 now

    assert claim_paired(shifted, 3).p_value == pytest.approx(level, abs=1e-9)


def test_the_reverse_is_the_claim_about_the_other_one() -> None:
    values = np.random.default_rng(5).exponential(4.0, size=30) - 4.5

    here, there = (claim_paired(sign * values, 1) for sign in (1, -1))

    assert (here.p_value, here.p_reverse) == pytest.approx((there.p_reverse, there.p_value))


@pytest.mark.parametrize(
    ("values", "p_value", "p_reverse"),
    [([3.0], np.nan, np.nan), ([], np.nan, np.nan), ([2.0, 2.0, 2.0], np.nan, np.nan), ([0.0, 0.0], np.nan, np.nan)],
)
def test_what_gives_no_interval_is_no_claim(values: list[float], p_value: float, p_reverse: float) -> None:
    claim = claim_paired(np.array(values), 0)

    assert (claim.p_value, claim.p_reverse) == pytest.approx((p_value, p_reverse), nan_ok=True)


def test_fewer_than_two_of_one_sample_are_not_tested() -> None:
    claim = claim_apart(np.array([1.0]), np.array([0.0, 1.0, 2.0]), 0)

    assert np.isnan([claim.p_value, claim.p_reverse]).all()


def test_pairs_together_are_those_alone_and_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fourteen systems on 3,000 segments made 36,400 draws for each of 91 pairs: nine tenths of a report."""
    rng = np.random.default_rng(8)
    samples = [rng.normal(i / 2, 10, size=size).round() for i, size in enumerate((40, 40, 57, 40, 57, 1))]
    pairs = [(i, j) for i in range(6) for j in range(i + 1, 6)]
    of_one_length, among = np.stack([samples[i] for i in (0, 1, 3)]), [(0, 1), (0, 2), (2, 1)]
    drawn = list[tuple[int, int]]()
    draw = bca._draw_counts

    def count(rng: np.random.Generator, size: int, resamples: int) -> Iterator[np.ndarray]:
        drawn.append((size, resamples))
        return draw(rng, size, resamples)

    alone = (
        [claim_paired(of_one_length[i] - of_one_length[j], 5) for i, j in among],
        [claim_apart(samples[i], samples[j], 5) for i, j in pairs],
    )
    monkeypatch.setattr(bca, "_draw_counts", count)
    bca._keep_draws.cache_clear()
    in_one_call = (
        compute_bca_paired_p_values(of_one_length, among, alpha=ALPHA, seed=5),
        compute_bca_two_sample_p_values(samples, pairs, alpha=ALPHA, seed=5),
    )
    assert [[(one.p_value, one.p_reverse) for one in claims] for claims in in_one_call] == [
        [pytest.approx((one.p_value, one.p_reverse), nan_ok=True) for one in claims] for claims in alone
    ]
    # Of 40 and of 57 values, each at first, after as many of the same, and after those of the other size.
    assert sorted(drawn) == [(40, 100)] * 3 + [(57, 100)] * 3


@pytest.mark.parametrize("resamples", [5, 30, 64, 150, 299])
@pytest.mark.parametrize("sizes", [(23,), (23, 23), (23, 31)])
def test_fewer_draws_are_the_first_of_more(
    sizes: tuple[int, ...], resamples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exclusions of one campaign leave other numbers of pairs, and so other numbers of draws."""
    monkeypatch.setattr(bca, "_BLOCK", 23 * 64)
    samples = [np.random.default_rng([size, place]).normal(size=(2, size)) for place, size in enumerate(sizes)]
    bca._keep_draws.cache_clear()
    alone = bca._draw_means(samples, resamples, seed=6)
    bca._keep_draws.cache_clear()
    bca._draw_means(samples, 300, seed=6)
    for one, other in zip(bca._draw_means(samples, resamples, seed=6), alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    rng = np.random.default_rng(6)
    for sample, means in zip(samples, alone, strict=True):
        drawn = rng.integers(0, sample.shape[1], size=(resamples, sample.shape[1]))
        np.testing.assert_allclose(means, sample[:, drawn].mean(axis=2), rtol=0, atol=1e-12)


def test_threads_that_ask_at_once_share_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bca, "_BLOCK", 1)
    sample = np.random.default_rng(3).normal(size=(1, 30))
    bca._keep_draws.cache_clear()
    (alone,) = bca._draw_means([sample], 3000, seed=2)
    bca._keep_draws.cache_clear()
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda n: bca._draw_means([sample], n, seed=2)[0], range(3000, 2200, -100)))
    for means in together:
        np.testing.assert_allclose(means, alone[:, : means.shape[1]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", [(41,), (30, 57)])
def test_draws_in_blocks_are_those_at_once(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [np.random.default_rng(size).normal(0, 10, size=(3, size)).round() for size in sizes]
    at_once = bca._draw_means(samples, 500, seed=6)
    for module_limit in ("_LARGE", "_BLOCK"):
        monkeypatch.setattr(bca, module_limit, 100)
    in_blocks = bca._draw_means(samples, 500, seed=6)
    for one, other in zip(at_once, in_blocks, strict=True):
        assert one.shape == (3, 500)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_large_samples_with_many_resamples_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report over all recipes asks for thousands: its draws were 10 GB in a campaign of 10,000 segments."""
    monkeypatch.setattr(bca, "_LARGE", 1 << 24)
    x = np.random.default_rng(7).normal(0, 10, size=50_000)
    tracemalloc.start()
    try:
        claim = claim_apart(x, x - 1, 1, resamples=400)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert claim.p_value < ALPHA
    assert peak < 60e6  # at once they are 320 MB
