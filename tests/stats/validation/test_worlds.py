"""Simulated campaigns are what their worlds say, and shares among them have exact bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from app.domain.recipe import NAMED
from app.stats.gate.gate import GateRule
from app.stats.ranking.design_checks import group_systems_linked_by_raters, share_of_documents_with_same_raters
from app.stats.validation.designs import (
    draw_lognormal_document_lengths,
    make_document_lengths_with_giant,
    make_equal_document_lengths,
    make_simulated_design,
)
from app.stats.validation.proportion import Proportion, compute_proportion_lower_bound, compute_proportion_upper_bound
from app.stats.validation.worlds import (
    WORLDS,
    ScoreGeneratingProcess,
    simulate_campaign,
    simulate_campaigns_as_document_sums,
)
from tests.stats.validation.operating_characteristics import gate_error_rate, simulate_recipe

PLAIN = replace(NAMED["recommended"], influence=False, normalize="none", permutations=999)


@pytest.mark.parametrize(("found", "n"), [(0, 100), (3, 100), (50, 100), (100, 100)])
def test_bounds_are_those_of_clopper_and_pearson(found: int, n: int) -> None:
    exact = stats.binomtest(found, n, alternative="greater").proportion_ci(0.99)
    assert compute_proportion_lower_bound(found, n) == pytest.approx(exact.low)
    assert compute_proportion_upper_bound(found, n) == pytest.approx(
        stats.binomtest(found, n, alternative="less").proportion_ci(0.99).high
    )


def test_a_promise_is_open_between_the_bounds() -> None:
    counted = Proportion(5, 100)
    assert (
        counted.is_consistent_with_at_most(0.05),
        counted.is_consistent_with_at_most(0.01),
        counted.is_consistent_with_at_least(0.05),
        counted.is_consistent_with_at_least(0.2),
    ) == (
        True,
        False,
        True,
        False,
    )


def test_designs_read_as_they_are_told() -> None:
    assert (make_equal_document_lengths(8).sum(), make_equal_document_lengths(8).size) == (80, 8)
    assert sorted(make_document_lengths_with_giant(20, 117, 60))[-2:] == [3, 60]
    assert (
        make_document_lengths_with_giant(20, 138, 100).sum(),
        make_document_lengths_with_giant(20, 138, 100).max(),
    ) == (138, 100)
    lengths = np.concatenate([draw_lognormal_document_lengths(np.random.default_rng(i)) for i in range(50)])
    assert np.median(lengths) == pytest.approx(6, abs=1)
    assert np.log(lengths).std() == pytest.approx(1, abs=0.1)
    paired, own, islands = (
        make_simulated_design(
            make_equal_document_lengths(12), systems=4, raters=4, dealing=dealing
        ).make_ratings_scored_zero()
        for dealing in ("all systems", "own rater", "two islands")
    )
    assert [share_of_documents_with_same_raters(rows) for rows in (paired, own, islands)] == [1, 0, 0]
    assert [len(group_systems_linked_by_raters(rows)) for rows in (paired, own, islands)] == [1, 2, 2]
    assert group_systems_linked_by_raters(own)[0] == ["S00"]
    assert group_systems_linked_by_raters(islands) == [["S00", "S01"], ["S02", "S03"]]


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_campaigns_of_every_world_have_their_true_means(name: str) -> None:
    """2,000 campaigns: the mean difference is the true one, within four standard errors."""
    world, means = WORLDS[name], np.array([0.0, 0.3])
    found = [
        (sums[:, 1] - sums[:, 0]).sum(axis=1) / counts.sum()
        for sums, counts, _ in simulate_campaigns_as_document_sums(world, np.random.default_rng(3), means, 2000)
    ]
    apart = np.concatenate(found)
    assert apart.size == 2000
    assert apart.mean() == pytest.approx(0.3, abs=4 * apart.std() / np.sqrt(2000))
    rows = simulate_campaign(world, np.random.default_rng(4), means)
    assert rows.is_in_canonical_order
    assert rows.n_systems == 2


def test_rows_and_sums_vary_alike() -> None:
    """The two ways to draw a campaign, segment by segment and document by document, have the same spread."""
    world = replace(WORLDS["topics"], process=replace(WORLDS["topics"].process, rater_system=0.3))
    rng = np.random.default_rng(5)
    by_rows = []
    for _ in range(800):
        rows = simulate_campaign(world, rng, np.zeros(2))
        by_rows.append(rows.score[rows.system == 1].mean() - rows.score[rows.system == 0].mean())
    by_sums = np.concatenate(
        [
            (s[:, 1] - s[:, 0]).sum(axis=1) / c.sum()
            for s, c, _ in simulate_campaigns_as_document_sums(world, rng, np.zeros(2), 4000)
        ]
    )
    assert np.std(by_rows) == pytest.approx(by_sums.std(), rel=0.1)
    # 2(σ²_ts/5 + σ²_rs/6 + σ²_ds/30 + σ²_e/300), by the standard deviations of the world
    assert by_sums.std() == pytest.approx(np.sqrt(2 * (0.16 / 5 + 0.09 / 6 + 0.25 / 30 + 2.25 / 300)), rel=0.06)


def test_catastrophes_are_as_rare_and_as_deep_as_they_are_told() -> None:
    process = ScoreGeneratingProcess(catastrophes=0.05, depth=5.0)
    drawn = process.draw_effects_on_last_system(np.random.default_rng(1), (40_000,))
    assert sorted(set(drawn.round(6))) == [-4.75, 0.25]
    assert (drawn < 0).mean() == pytest.approx(0.05, abs=0.005)
    skewed = ScoreGeneratingProcess(exponential=1.0).draw_effects_on_last_system(np.random.default_rng(1), (40_000,))
    assert (skewed.mean(), skewed.std(), stats.skew(skewed)) == pytest.approx((0, 1, -2), abs=0.15)


def test_a_clean_world_is_measured_as_promised() -> None:
    found = simulate_recipe(WORLDS["clean"], PLAIN, np.zeros(3), n=150, seed=1)
    assert found.any_claim.is_consistent_with_at_most(0.05)
    assert found.intervals.rate == pytest.approx(0.95, abs=0.04)
    assert found.pairs_claimed.n == 150
    ahead = simulate_recipe(WORLDS["clean"], PLAIN, np.array([0.0, 1.0, 2.0]), n=30, seed=1)
    assert (ahead.any_claim.rate, ahead.pairs_claimed.rate) == (0, pytest.approx(1, abs=0.1))
    assert ahead.intervals.rate == pytest.approx(0.95, abs=0.08)
    assert gate_error_rate(WORLDS["clean"], GateRule("better"), n=2000, seed=1).rate == pytest.approx(0.05, abs=0.02)
    assert gate_error_rate(WORLDS["clean"], GateRule("better"), n=300, seed=1, difference=1.0).rate > 0.95
