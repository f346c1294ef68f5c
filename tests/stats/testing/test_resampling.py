"""Bootstrap over documents: SciPy and a slow twin, coverage, and the test that its percentiles make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from app.domain.recipe import NAMED, Recipe
from app.stats import intervals
from app.stats.inference.by_document import estimate_ratio_precision
from app.stats.ranking.caveats import _DRAWN
from app.stats.ranking.ranking import rank_systems
from app.stats.ratings import Ratings
from app.stats.testing import resampling
from app.stats.validation.designs import make_equal_document_lengths, make_simulated_design


def documents(n: int, *, seed: int = 1, shift: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 6, size=n).astype(float)
    return weights * (shift + rng.exponential(size=n)), weights


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_intervals_are_those_of_scipy_from_the_same_draws(kind: str) -> None:
    sums, weights = documents(40)
    oracle = stats.bootstrap(
        (sums, weights),
        lambda x, n, axis: x.sum(axis=axis) / n.sum(axis=axis),
        paired=True,
        n_resamples=2000,
        method="BCa" if kind == "bca" else kind,
        vectorized=True,
        rng=np.random.default_rng(2),
    ).confidence_interval
    low, high = resampling.compute_bootstrap_intervals(
        sums[None], weights[None], alpha=0.05, kind=kind, seed=2, draws=2000
    )
    assert (low[0], high[0]) == pytest.approx((oracle.low, oracle.high), rel=1e-9)


def test_bca_agrees_with_its_slow_twin_on_the_same_draws() -> None:
    sums, weights = documents(25, seed=3)
    values = np.sort(resampling.draw_bootstrap_ratios(sums[None], weights[None], draws=999, seed=7)[0])
    estimate = sums.sum() / weights.sum()
    bias = stats.norm.ppf(sum(v < estimate for v in values) / 999)
    left = [
        (sums.sum() - x) / (weights.sum() - n)
        for x, n in zip(sums, weights, strict=True)
    ]  # fmt: skip
    mean = sum(left) / 25
    acceleration = sum((mean - x) ** 3 for x in left) / (6 * sum((mean - x) ** 2 for x in left) ** 1.5)
    expected = []
    for level in (0.05, 0.95):
        z = bias + stats.norm.ppf(level)
        expected.append(np.quantile(values, stats.norm.cdf(bias + z / (1 - acceleration * z))))
    low, high = resampling.compute_bootstrap_intervals(
        sums[None], weights[None], alpha=0.1, kind="bca", seed=7, draws=999
    )
    assert (low[0], high[0]) == pytest.approx(expected)


def test_draws_take_as_many_documents_as_there_are_whatever_the_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    ones = np.ones((1, 12))
    assert resampling.draw_bootstrap_ratios(ones, ones, draws=50, seed=1) == pytest.approx(np.ones((1, 50)))
    sums, weights = documents(12)
    whole = resampling.draw_bootstrap_ratios(sums[None], weights[None], draws=200, seed=1)
    monkeypatch.setattr(resampling, "_CHUNK", 12 * 7)
    assert resampling.draw_bootstrap_ratios(sums[None], weights[None], draws=200, seed=1) == pytest.approx(whole)


@pytest.mark.parametrize(("n", "kind"), [(19, "bca"), (30, "t")])
def test_few_documents_and_t_take_the_linearized_interval(n: int, kind: str) -> None:
    sums, weights = documents(n)
    width = intervals.compute_interval_half_widths(estimate_ratio_precision(sums, weights), 0.05)
    low, high = resampling.compute_bootstrap_intervals(sums[None], weights[None], alpha=0.05, kind=kind, seed=1)
    estimate = sums.sum() / weights.sum()
    assert (low[0], high[0]) == pytest.approx((estimate - width, estimate + width))


def test_equal_documents_have_an_interval_of_one_point_and_one_document_has_none() -> None:
    ones = np.ones((1, 25))
    for kind in ("percentile", "bca"):
        assert [
            float(x[0]) for x in resampling.compute_bootstrap_intervals(3 * ones, ones, alpha=0.05, kind=kind, seed=1)
        ] == [
            3.0,
            3.0,
        ]
    assert np.isnan(
        resampling.compute_bootstrap_intervals(ones[:, :1], ones[:, :1], alpha=0.05, kind="percentile", seed=1)
    ).all()


def test_p_values_count_draws_on_the_other_side() -> None:
    sums, weights = documents(15, shift=-0.8)
    drawn = np.round(resampling.draw_bootstrap_ratios(sums[None], weights[None], draws=500, seed=4)[0], 10)
    not_above, not_below = resampling.compute_bootstrap_p_values(sums[None], weights[None], draws=500, seed=4)
    assert not_above[0] == (1 + sum(drawn <= 0)) / 501
    assert not_below[0] == (1 + sum(drawn >= 0)) / 501


def campaign(n: int) -> Ratings:
    rng = np.random.default_rng(6)
    rows = [(s, d, p) for s in range(3) for d in range(n) for p in (1, 2)]
    return Ratings.from_columns(
        system=[f"s{s}" for s, _, _ in rows],
        document=[f"d{d:02}" for _, d, _ in rows],
        position=[p for _, _, p in rows],
        rater=["r"] * len(rows),
        score=[float(np.clip(np.round(4 - 0.5 * s + rng.normal()), 1, 5)) for s, _, _ in rows],
        higher_is_better=True,
    )


def test_a_ranking_takes_the_interval_asked_for() -> None:
    found = {
        kind: rank_systems(campaign(24), Recipe(name=kind, interval=kind, permutations=100))
        for kind in ("t", "percentile", "bca")
    }
    for part in ("systems", "pairs"):
        ends = {kind: [row.interval for row in getattr(ranking, part)] for kind, ranking in found.items()}
        assert ends["t"] != ends["percentile"] != ends["bca"] != ends["t"]
        for kind in ("percentile", "bca"):
            for a, b in zip(ends["t"], ends[kind], strict=True):
                assert b == pytest.approx(a, abs=0.35 * (a[1] - a[0]))


def test_too_few_documents_for_bca_are_told() -> None:
    recipe = Recipe(name="bca", interval="bca", permutations=100)
    assert (
        "12 documents: too few for BCa, so intervals are by t; judge at least 20 documents"
        in rank_systems(campaign(12), recipe).warnings
    )
    assert not any("BCa" in w for w in rank_systems(campaign(20), recipe).warnings)


def noise(documents: int, apart: float = 0.0) -> Ratings:
    """Two systems so far apart, on documents of four segments."""
    rows = make_simulated_design(make_equal_document_lengths(documents, 4)).make_ratings_scored_zero()
    return rows.with_scores(apart * rows.system + np.random.default_rng(2).normal(size=len(rows)))


@pytest.mark.parametrize(("documents", "lowest"), [(6, 2**-5), (7, 2**-6), (8, 2**-7), (12, 2**-11)])
def test_a_bootstrap_of_few_documents_speaks_no_clearer_than_their_sign_flips(documents: int, lowest: float) -> None:
    """Systems far apart: 12,000 draws of six documents said p = .0002."""
    ranking = rank_systems(noise(documents, apart=10.0), NAMED["nllb-xsts"])
    assert ranking.pairs[0].p_value == lowest
    assert (ranking.smallest_p, ranking.documents_needed) == (lowest, None)


@pytest.mark.parametrize(("documents", "claims"), [(6, "0.15"), (11, "0.12"), (12, "0.08"), (29, "0.08"), (30, None)])
def test_below_thirty_documents_a_bootstrap_says_how_often_it_claims_too_much(
    documents: int, claims: str | None
) -> None:
    told = [w for w in rank_systems(noise(documents), NAMED["nllb-xsts"]).warnings if "with so few, a bootstrap" in w]
    assert len(told) == (claims is not None)
    if claims is not None:
        assert told[0].startswith(f"{documents} documents: with so few, a bootstrap claims about {claims} of the pairs")
    assert not any("a bootstrap" in w for w in rank_systems(noise(8), NAMED["srp-paper"]).warnings)


@pytest.mark.soak
def test_a_bootstrap_claims_as_much_of_nothing_as_is_said() -> None:
    """2,000 null pairs each."""
    rng = np.random.default_rng(1)
    for documents, said in _DRAWN.items():
        counts = np.broadcast_to(np.full(documents, 10.0), (80, documents))
        claimed = []
        for seed in range(25):
            apart = 5 * rng.normal(size=counts.shape) + np.sqrt(10) * 1.5 * rng.normal(size=counts.shape)
            p, reverse = resampling.compute_bootstrap_p_values(apart, counts, draws=2000, seed=seed)
            claimed.append(2 * np.minimum(p, reverse) < 0.05)
        assert np.mean(claimed) == pytest.approx(said, abs=0.03), documents


def test_xsts_is_the_mean_of_medians_with_a_bootstrap_of_documents() -> None:
    ranking = rank_systems(campaign(24), replace(NAMED["nllb-xsts"], permutations=2000))
    assert [row.cluster for row in ranking.systems] == [None] * 3
    for pair in ranking.pairs:
        assert (pair.p_value < 0.05) == (pair.interval[0] > 0 or pair.interval[1] < 0) == pair.significant
    unknown = rank_systems(replace(campaign(24), documents_known=False), NAMED["nllb-xsts"])
    assert unknown.recipe.unit == "segment"
    assert (
        "documents are unknown, so segments are drawn instead of documents, which claims too "
        "much if segments of a document are alike; import the documents if there are any"
    ) in unknown.warnings
