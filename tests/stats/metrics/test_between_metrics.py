"""Tests between metrics and areas under the curve: slow twins, oracles, and what must not matter."""

from __future__ import annotations

import doctest
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from app.stats.agreement.soft_pairwise import soft_pairwise_accuracy
from app.stats.metrics import metric_comparison, separation
from app.stats.metrics.metric_comparison import (
    MEASURES,
    CommonSegmentScores,
    compare_two_metrics,
    sample_swap_masks,
    swap_metric_scores,
)
from app.stats.metrics.system_pair_p_values import SystemPairPValues, compute_system_pair_p_values
from app.stats.testing.permutation import sample_sign_patterns


def world(seed: int, noise: tuple[float, float] = (0.5, 2.0), segments: int = 24) -> CommonSegmentScores:
    rng = np.random.default_rng(seed)
    human = np.array([0.0, 0.4, 0.8, 1.5])[:, None] + rng.normal(size=(4, segments))
    first, second = (human + sd * rng.normal(size=human.shape) for sd in noise)
    unit = np.sort(np.arange(segments) % 6)
    return CommonSegmentScores.from_scores(human, first, 40 * second + 7, np.ones(human.shape, dtype=np.bool_), unit)


def slow_measures(common: CommonSegmentScores, scores: np.ndarray, permutations: int, seed: int) -> dict[str, float]:
    """By their definitions, one scoring at a time."""
    there = np.ones(scores.shape, dtype=np.bool_)
    p = [
        compute_system_pair_p_values(x, there, common.unit, permutations=permutations, seed=seed).p
        for x in (common.human, scores)
    ]
    human, metric = common.human.mean(axis=1), scores.mean(axis=1)
    alike = [np.sign(human[a] - human[b]) == np.sign(metric[a] - metric[b]) for a, b in combinations(range(4), 2)]
    return {
        "spa": soft_pairwise_accuracy(*p),
        "accuracy": float(np.mean(alike)),
        "pearson": float(stats.pearsonr(human, metric).statistic),
        "output_pearson": float(stats.pearsonr(common.human.ravel(), scores.ravel()).statistic),
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_test_between_two_metrics_is_what_exchanging_scores_one_by_one_gives(seed: int) -> None:
    common = world(seed)
    found = {one.measure: one for one in compare_two_metrics(common, permutations=60, seed=seed, swaps=25)}
    first, second = (slow_measures(common, x, 60, seed) for x in (common.first, common.second))
    beyond = dict.fromkeys(MEASURES, 1)
    masks = [mask for some in sample_swap_masks(common.human.shape, 25, seed, 7) for mask in some]
    for mask in masks:
        one, other = common.first.copy(), common.second.copy()
        for s in range(4):
            for g in range(common.n_segments):
                if mask[s, g]:
                    one[s, g], other[s, g] = common.second[s, g], common.first[s, g]
        assert np.array_equal(swap_metric_scores(common, mask[None])[0][0], one)
        x, y = (slow_measures(common, scores, 60, seed) for scores in (one, other))
        for name in MEASURES:
            beyond[name] += abs(x[name] - y[name]) >= abs(first[name] - second[name]) - 1e-9
    for name in MEASURES:
        assert found[name].first == pytest.approx(first[name], abs=1e-12)
        assert found[name].second == pytest.approx(second[name], abs=1e-12)
        assert found[name].p_value == beyond[name] / 26


def test_a_metric_close_to_humans_beats_a_noisy_one_and_neither_scale_nor_order_matters() -> None:
    common = world(5, noise=(0.2, 3.0), segments=60)
    found = {one.measure: one for one in compare_two_metrics(common, permutations=200, seed=1, swaps=199)}
    assert found["output_pearson"].first > found["output_pearson"].second
    assert found["output_pearson"].p_value == 1 / 200
    turned = CommonSegmentScores.from_scores(
        common.human, 3 * common.second - 9, common.first, np.ones(common.human.shape, dtype=np.bool_), common.unit
    )
    for one in compare_two_metrics(turned, permutations=200, seed=1, swaps=199):
        assert (one.second, one.first) == pytest.approx((found[one.measure].first, found[one.measure].second))
        assert one.p_value == found[one.measure].p_value


def test_p_is_uniform_between_metrics_that_are_equally_good() -> None:
    found = [
        {
            one.measure: one.p_value
            for one in compare_two_metrics(world(n, (1.0, 1.0)), permutations=20, seed=n, swaps=39)
        }
        for n in range(300)
    ]
    for name in ("output_pearson", "pearson"):
        p = np.array([one[name] for one in found])
        assert stats.kstest(p - np.random.default_rng(1).random(p.size) / 40, "uniform").pvalue > 0.001, name
        assert abs((p <= 0.1).mean() - 0.1) < 0.06


def test_exchanges_are_the_same_however_many_are_made_at_a_time() -> None:
    one, other = (np.concatenate(list(sample_swap_masks((3, 50), 20, 4, n))) for n in (1, 20))
    assert np.array_equal(one, other)
    assert one.shape == (20, 3, 50)
    assert 0.4 < one.mean() < 0.6


def test_exchanges_are_drawn_apart_from_the_signs_of_soft_pairwise_accuracy() -> None:
    masks = next(sample_swap_masks((8, 8), 30, 4, 30)).reshape(30, 64)
    signs = next(sample_sign_patterns(64, 30, 4, 30)) > 0
    assert 0.45 < (masks == signs).mean() < 0.55


def test_more_signs_than_are_held_change_nothing_but_how_fine_p_is(monkeypatch: pytest.MonkeyPatch) -> None:
    common = world(3)
    held = compare_two_metrics(common, permutations=1000, seed=1, swaps=20)
    assert compare_two_metrics(common, permutations=20_000, seed=1, swaps=20) == held
    monkeypatch.setattr(metric_comparison, "_SIGNS", 6 * 100)
    assert compare_two_metrics(common, permutations=1000, seed=1, swaps=20) == compare_two_metrics(
        common, permutations=100, seed=1, swaps=20
    )


def test_segments_without_every_score_are_left_out_of_the_test() -> None:
    common = world(2)
    present = np.ones(common.human.shape, dtype=np.bool_)
    present[1, 3:9] = False
    unit = common.unit
    cut = CommonSegmentScores.from_scores(common.human, common.first, common.second, present, unit)
    assert cut.n_segments == common.n_segments - 6
    assert np.array_equal(np.unique(cut.unit), np.arange(np.unique(unit[present.all(axis=0)]).size))
    assert cut.first.mean() == pytest.approx(0)
    assert cut.first.std() == pytest.approx(1)
    nothing = CommonSegmentScores.from_scores(common.human, common.first, common.second, np.zeros_like(present), unit)
    assert compare_two_metrics(nothing, permutations=100, seed=1) == ()


def test_a_constant_metric_has_no_correlation_and_no_p() -> None:
    human = world(1).human
    flat = CommonSegmentScores.from_scores(
        human, human, np.ones_like(human), np.ones(human.shape, dtype=np.bool_), np.arange(24)
    )
    found = {one.measure: one for one in compare_two_metrics(flat, permutations=100, seed=1, swaps=50)}
    assert np.isnan([found["pearson"].second, found["pearson"].p_value]).all()
    assert found["accuracy"].second == 0.0
    assert np.isfinite(found["spa"].p_value)


def known_pairs(p: np.ndarray, reverse: np.ndarray, difference: np.ndarray) -> SystemPairPValues:
    first, second = np.triu_indices(6, 1)
    return SystemPairPValues(first, second, p, reverse, difference)


@pytest.mark.parametrize("seed", range(5))
def test_the_areas_are_those_of_scikit_learn(seed: int) -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(seed)
    difference, p = rng.normal(size=15), rng.choice([0.001, 0.02, 0.3, 0.5], 15)
    turned = difference < 0
    human = known_pairs(np.where(turned, 1 - p, p), np.where(turned, p, 1 - p), difference)
    metric = np.round(difference + rng.normal(size=15), 1)  # ties, too
    found = separation.compute_metric_separation_from_pairs(human, metric)
    apart = 2 * p <= 0.05
    assert found.n_apart == apart.sum()
    assert found.different == pytest.approx(roc_auc_score(apart, np.abs(metric)))
    both = np.concatenate([metric[apart], -metric[apart]])
    truth = np.concatenate([difference[apart] > 0, difference[apart] < 0])
    assert found.better == pytest.approx(roc_auc_score(truth, both))


def test_areas_without_both_sorts_of_pairs_are_not_a_number() -> None:
    human = known_pairs(np.full(15, 0.4), np.full(15, 0.6), np.ones(15))
    found = separation.compute_metric_separation_from_pairs(human, np.full(15, np.nan))
    assert np.isnan([found.different, found.better]).all()
    assert (found.n, found.n_apart) == (0, 0)


def test_p_of_the_other_direction_is_that_of_the_pair_named_the_other_way_round() -> None:
    rng = np.random.default_rng(3)
    score, there = rng.normal(size=(2, 20)), np.ones((2, 20), dtype=np.bool_)
    unit = np.repeat(np.arange(10), 2)
    one, other = (compute_system_pair_p_values(x, there, unit, permutations=500, seed=2) for x in (score, score[::-1]))
    assert one.p_reverse.tolist() == other.p.tolist()
    assert one.p.tolist() == other.p_reverse.tolist()


def test_the_examples_hold() -> None:
    assert [doctest.testmod(module).failed for module in (separation, metric_comparison)] == [0, 0]
