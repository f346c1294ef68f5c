"""Step-down by the joint permutation: a slow twin, Holm as the upper bound, and what it never does."""

from __future__ import annotations

from itertools import product
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stats.testing.adjust import holm
from app.stats.testing.permutation import PairsWithSameSegments, count_extreme_permuted_sums
from app.stats.testing.step_down import compute_max_t_p_values


def block_of(sums: np.ndarray, weights: np.ndarray) -> PairsWithSameSegments:
    first, second = np.triu_indices(len(sums), k=1)
    return PairsWithSameSegments(sums, first, second, np.arange(first.size), np.arange(sums.shape[1]), weights)


def statistic(apart: list[float], sizes: list[float]) -> float:
    """|Δ|/SE of the linearized ratio, written out."""
    documents, total = len(apart), sum(sizes)
    delta = sum(apart) / total
    squares = sum((d - n * delta) ** 2 for d, n in zip(apart, sizes, strict=True))
    if squares <= 1e-12 * sum(d * d for d in apart):
        return 0.0 if abs(sum(apart)) <= 1e-9 else inf
    return abs(delta) / (sqrt(squares / (documents * (documents - 1))) / (total / documents))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 7))
def test_the_step_down_agrees_with_its_slow_twin(seed: int, size: int, documents: int) -> None:
    rng = np.random.default_rng(seed)
    sums = np.round(rng.normal(size=(size, documents)) - 0.8 * np.arange(size)[:, None], 1)
    sizes = rng.integers(1, 4, size=documents).astype(float)
    pairs = list(zip(*np.triu_indices(size, k=1), strict=True))
    apart = [sums[i] - sums[j] for i, j in pairs]
    observed = [statistic(list(d), list(sizes)) for d in apart]
    patterns = [
        [statistic([s * x for s, x in zip(signs, d, strict=True)], list(sizes)) for d in apart]
        for signs in product((1, -1), repeat=documents)
    ]
    order = sorted(range(len(pairs)), key=lambda k: -observed[k])
    expected, largest = np.ones(len(pairs)), 0.0
    for place, k in enumerate(order):
        rest = order[place:]
        limit = observed[k] if observed[k] == inf else observed[k] - 1e-9 * max(1.0, observed[k])
        largest = max(largest, np.mean([max(row[other] for other in rest) >= limit for row in patterns]))
        expected[k] = largest
    found = compute_max_t_p_values(
        [block_of(sums, sizes)], np.ones(len(pairs), dtype=bool), documents, permutations=200, seed=1
    )
    assert found == pytest.approx(expected)


def test_pairs_of_unequal_numbers_of_documents_are_compared_by_their_own_errors() -> None:
    """Two pairs, of four and of seven documents, under the same signs: the statistics written out."""
    apart, sizes = [[3.0, 1.0, 2.0, -0.5], [1.0, -2.0, 2.5, 3.0, 1.5, 0.5, 2.0]], [1.0] * 7
    first, second = np.array([0]), np.array([1])
    blocks = [
        PairsWithSameSegments(
            np.array([[*d, *[0.0] * (7 - len(d))], [0.0] * 7]), first, second, np.array([k]), np.arange(len(d))
        )
        for k, d in enumerate(apart)
    ]

    def under(signs: tuple[int, ...]) -> list[float]:
        return [statistic([s * x for s, x in zip(signs, d, strict=False)], sizes[: len(d)]) for d in apart]

    observed = under((1,) * 7)
    patterns = [under(signs) for signs in product((1, -1), repeat=7)]
    high, low = sorted((0, 1), key=lambda k: -observed[k])
    together = float(np.mean([max(row) >= observed[high] - 1e-9 for row in patterns]))
    alone = float(np.mean([row[low] >= observed[low] - 1e-9 for row in patterns]))
    found = compute_max_t_p_values(blocks, np.ones(2, dtype=bool), 7, permutations=200, seed=1)
    assert (found[high], found[low]) == pytest.approx((together, max(together, alone)))


def test_one_pair_alone_has_its_permutation_p() -> None:
    # with documents of one size |Δ|/SE orders the patterns as |Δ| does
    sums = np.array([[-3.0, -2.0, -3.0, 1.0, -3.0], [0.0] * 5])
    found = compute_max_t_p_values([block_of(sums, np.ones(5))], np.array([True]), 5, permutations=1000, seed=1)
    assert found[0] == 0.125


def test_dependence_makes_it_smaller_than_holm_and_no_smaller_than_p() -> None:
    rng = np.random.default_rng(2)
    sums = rng.normal(size=(6, 40)) - 0.4 * np.arange(6)[:, None]
    block = block_of(sums, np.ones(40))
    counts = count_extreme_permuted_sums([block], 15, 40, permutations=5000, seed=3, two_sided=True)
    p = counts.p_values(plus_one=True)
    found = compute_max_t_p_values([block], np.ones(15, dtype=bool), 40, permutations=5000, seed=3)
    assert (found >= p - 1e-12).all()
    # Holm bounds it but for the error of 5,000 draws
    assert (found <= holm(p) + 4 * np.sqrt(0.25 / 5000)).all()
    assert found.mean() < holm(p).mean()


def test_pairs_that_are_not_testable_are_out_of_the_family() -> None:
    rng = np.random.default_rng(4)
    sums = rng.normal(size=(3, 30)) - np.array([[0.0], [1.0], [9.0]])
    block = block_of(sums, np.ones(30))
    alone = compute_max_t_p_values([block], np.array([True, False, False]), 30, permutations=2000, seed=3)
    assert alone[1:].tolist() == [1.0, 1.0]
    assert alone[0] <= compute_max_t_p_values([block], np.ones(3, dtype=bool), 30, permutations=2000, seed=3)[0]


def test_equal_systems_are_never_told_apart_and_no_family_is_no_error() -> None:
    block = block_of(np.zeros((2, 12)), np.ones(12))
    assert compute_max_t_p_values([block], np.array([True]), 12, permutations=500, seed=1)[0] == 1.0
    assert compute_max_t_p_values([block], np.array([False]), 12, permutations=500, seed=1)[0] == 1.0


def test_there_is_no_floor_that_grows_with_the_family() -> None:
    rng = np.random.default_rng(6)
    sums = rng.normal(size=(12, 60)) - 3.0 * np.arange(12)[:, None]
    found = compute_max_t_p_values([block_of(sums, np.ones(60))], np.ones(66, dtype=bool), 60, permutations=999, seed=1)
    assert found == pytest.approx(np.full(66, 1 / 1000))


def test_the_chance_of_any_false_claim_is_at_most_alpha() -> None:
    rng = np.random.default_rng(9)
    claims = 0
    for run in range(150):
        n = rng.integers(3, 12, size=20).astype(float)
        sums = np.sqrt(n) * rng.normal(size=(5, 20)) + n * rng.normal(size=20)
        found = compute_max_t_p_values([block_of(sums, n)], np.ones(10, dtype=bool), 20, permutations=199, seed=run)
        claims += bool((found <= 0.05).any())
    # four standard errors of a share of .05 among 150
    assert claims / 150 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)
