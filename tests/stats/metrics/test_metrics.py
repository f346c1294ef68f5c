"""Automatic metrics beside human scores: check values, slow twins, and what must not matter."""

from __future__ import annotations

import doctest
from itertools import combinations

import numpy as np
import pytest

from app.stats.agreement.soft_pairwise import pairwise_accuracy_from_p_values, soft_pairwise_accuracy
from app.stats.metrics import agreement, system_pair_p_values, ties
from app.stats.metrics.agreement import HumanAndMetricScores


def scores(
    human: np.ndarray, metric: np.ndarray, present: np.ndarray | None = None, documents: int = 6
) -> HumanAndMetricScores:
    there = np.ones(human.shape, dtype=np.bool_) if present is None else present
    document = np.sort(np.arange(human.shape[1]) % documents)
    return HumanAndMetricScores(human, there, metric, there, document, human.mean(axis=1), metric.mean(axis=1))


@pytest.fixture
def world() -> HumanAndMetricScores:
    rng = np.random.default_rng(2)
    quality = np.array([0.0, 0.3, 0.5, 1.0])[:, None]
    human = np.round(quality + rng.normal(size=(4, 30)), 1)
    return scores(human, quality + 0.5 * rng.normal(size=(4, 30)))


def test_soft_pairwise_accuracy_by_hand() -> None:
    # 1 − mean |p^h − p^m| over the pairs (12, 13, 23): Thompson et al. 2024, §3.
    human, metric = np.array([0.02, 0.40, 0.90]), np.array([0.10, 0.55, 0.70])
    assert soft_pairwise_accuracy(human, metric) == pytest.approx(0.856667, abs=1e-6)
    assert pairwise_accuracy_from_p_values(human, metric) == pytest.approx(0.666667, abs=1e-6)


def test_p_of_a_pair_is_the_share_of_swapped_documents_that_differ_as_much() -> None:
    rng = np.random.default_rng(5)
    score, unit = rng.normal(size=(3, 12)), np.repeat(np.arange(4), 3)
    found = system_pair_p_values.compute_system_pair_p_values(
        score, np.ones((3, 12), dtype=np.bool_), unit, permutations=20_000, seed=1
    )
    for n, (a, b) in enumerate(combinations(range(3), 2)):
        sums = np.array([(score[a] - score[b])[unit == u].sum() for u in range(4)])
        signs = np.array([[1 if k >> u & 1 else -1 for u in range(4)] for k in range(16)])
        exact = (signs @ sums >= sums.sum() - 1e-9).mean()
        assert found.p[n] == pytest.approx(exact, abs=0.015)
        assert found.difference[n] == pytest.approx((score[a] - score[b]).mean())


def test_a_metric_that_is_the_human_score_agrees_with_it_in_everything(world: HumanAndMetricScores) -> None:
    same = scores(world.human, world.human)
    found = agreement.compute_system_level_agreement(same, permutations=500, seed=3)
    assert (found.spa, found.accuracy, found.n_pairs) == (1.0, 1.0, 6)
    assert (found.pearson, found.spearman, found.kendall) == pytest.approx((1, 1, 1))
    outputs = agreement.compute_segment_level_agreement(same)
    assert (outputs.pearson, outputs.kendall, outputs.item_pearson) == pytest.approx((1, 1, 1))
    assert outputs.ties is not None
    assert (outputs.ties.accuracy, outputs.ties.epsilon) == pytest.approx((1.0, 0.0))


def test_a_metric_turned_round_is_wrong_about_every_pair(world: HumanAndMetricScores) -> None:
    found = agreement.compute_system_level_agreement(scores(world.human, -world.human), permutations=500, seed=3)
    assert found.accuracy == 0.0
    assert found.pearson == pytest.approx(-1.0)
    assert found.spa < 0.5


def test_the_order_of_systems_and_the_scale_of_the_metric_do_not_matter(world: HumanAndMetricScores) -> None:
    order = np.array([2, 0, 3, 1])
    turned = scores(world.human[order], 7 * world.metric[order] + 3)
    one, other = (agreement.compute_system_level_agreement(s, permutations=1000, seed=3) for s in (world, turned))
    assert other.accuracy == one.accuracy
    assert other.pearson == pytest.approx(one.pearson)
    # p(b over a) is not exactly 1 − p(a over b): ties count for both.
    assert other.spa == pytest.approx(one.spa, abs=0.02)
    ours, theirs = (
        agreement.compute_segment_level_agreement(world).ties,
        agreement.compute_segment_level_agreement(turned).ties,
    )
    assert ours is not None
    assert theirs is not None
    assert theirs.accuracy == pytest.approx(ours.accuracy)
    assert theirs.epsilon == pytest.approx(7 * ours.epsilon)


def slow_accuracy(human: np.ndarray, metric: np.ndarray, present: np.ndarray, epsilon: float) -> float:
    """Deutsch et al. 2023, by the words: the mean over segments of the share of pairs that both see alike."""
    items = []
    for g in range(human.shape[1]):
        right = []
        for a, b in combinations(np.flatnonzero(present[:, g]), 2):
            apart = metric[a, g] - metric[b, g]
            said = 0 if abs(apart) <= epsilon + 1e-12 else np.sign(apart)
            right.append(said == np.sign(human[a, g] - human[b, g]))
        if right:
            items.append(np.mean(right))
    return float(np.mean(items))


@pytest.mark.parametrize("seed", range(8))
def test_ties_are_calibrated_as_by_trying_every_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 4, size=(4, 9)).astype(float)
    metric = np.round(human + rng.normal(size=(4, 9)), 1 if seed % 2 else 3)
    present = rng.random((4, 9)) > 0.2
    found = ties.tie_calibrated_accuracy(human, metric, present)
    assert found is not None
    distances = {0.0}
    for g in range(9):
        distances |= {abs(metric[a, g] - metric[b, g]) for a, b in combinations(np.flatnonzero(present[:, g]), 2)}
    tried = [(slow_accuracy(human, metric, present, e), e) for e in sorted(distances)]
    assert found.accuracy == pytest.approx(max(tried)[0])
    assert slow_accuracy(human, metric, present, found.epsilon) == pytest.approx(found.accuracy)
    assert found.plain == pytest.approx(tried[0][0])


def test_little_data_is_not_a_number_and_never_an_error() -> None:
    one = scores(np.ones((1, 4)), np.ones((1, 4)), documents=2)
    for few in (one, scores(np.ones((3, 4)), np.ones((3, 4)), np.zeros((3, 4), dtype=np.bool_), documents=2)):
        found = agreement.compute_system_level_agreement(few, permutations=100, seed=0)
        assert np.isnan([found.spa, found.accuracy, found.pearson, found.spearman, found.kendall]).all()
        outputs = agreement.compute_segment_level_agreement(few)
        assert outputs.ties is None
        assert np.isnan(outputs.item_pearson)
    constant = agreement.compute_system_level_agreement(
        scores(np.ones((3, 4)), np.ones((3, 4)), documents=2), permutations=100, seed=0
    )
    assert constant.spa == 1.0
    assert np.isnan(constant.accuracy)


def test_the_examples_hold() -> None:
    assert [doctest.testmod(module).failed for module in (ties, agreement, system_pair_p_values)] == [0, 0, 0]
