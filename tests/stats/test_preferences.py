"""Preferences: the permutation test and the interval over documents against slow twins, and what must not matter."""

from __future__ import annotations

from dataclasses import astuple
from itertools import product

import numpy as np
import pytest
from scipy import stats as oracle

from app.stats.preferences import (
    PairPreference,
    PairwiseComparisons,
    compute_pair_preferences,
    compute_preference_standings,
    compute_smallest_possible_p,
)
from tests.stats.inference.matrices import of_documents


def drawn(seed: int, n: int = 60, systems: int = 4, documents: int = 6) -> PairwiseComparisons:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, systems, n)
    second = (first + rng.integers(1, systems, n)) % systems
    outcome, document = rng.integers(-1, 2, n), rng.integers(0, documents, n)
    return PairwiseComparisons(*(column.astype(np.int32) for column in (first, second, outcome, document)))


def of(found: PairwiseComparisons, **given: object) -> tuple[PairPreference, ...]:
    kept: dict[str, object] = {"n_systems": 4, "alpha": 0.05, "method": "holm", **given}
    return compute_pair_preferences(found, **kept)


@pytest.mark.parametrize("seed", range(4))
def test_the_p_value_is_that_of_all_ways_to_exchange_two_systems_on_whole_documents(seed: int) -> None:
    compared = drawn(seed, documents=7)
    for pair in of(compared, method="none"):
        sums: dict[int, int] = {}
        for a, b, outcome, document in zip(*(c.tolist() for c in astuple(compared)), strict=True):
            if {a, b} == {pair.first, pair.second}:
                sums[document] = sums.get(document, 0) + (outcome if a == pair.first else -outcome)
        observed = abs(sum(sums.values()))
        patterns = list(product((1, -1), repeat=len(sums)))
        beyond = sum(
            abs(sum(s * x for s, x in zip(signs, sums.values(), strict=True))) >= observed for signs in patterns
        )
        assert pair.p_value == pytest.approx(beyond / len(patterns), abs=1e-12)
        assert pair.p_value >= compute_smallest_possible_p(pair.n_documents)


def binomial(wins: int, losses: int) -> float:
    return float(oracle.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def test_comparisons_of_a_document_that_go_together_are_no_proof() -> None:
    rng, campaigns, documents, each = np.random.default_rng(11), 200, 20, 6
    claimed = {"documents": 0, "comparisons": 0}
    document = np.repeat(np.arange(documents), each)
    none = np.zeros_like(document)
    for _ in range(campaigns):
        lean = np.repeat(rng.normal(size=documents), each)
        outcome = np.where(lean + rng.normal(size=lean.size) > 0, 1, -1)
        compared = PairwiseComparisons(*(column.astype(np.int32) for column in (none, none + 1, outcome, document)))
        pair = compute_pair_preferences(compared, n_systems=2, alpha=0.05, method="none")[0]
        claimed["documents"] += pair.p_value <= 0.05
        claimed["comparisons"] += binomial(pair.wins, pair.losses) <= 0.05  # what takes them as independent
    limit = 0.05 + 3 * (0.05 * 0.95 / campaigns) ** 0.5
    assert claimed["documents"] / campaigns <= limit < claimed["comparisons"] / campaigns


@pytest.mark.parametrize("seed", range(6))
def test_counts_preference_and_interval_agree_with_a_slow_twin(seed: int) -> None:
    found = drawn(seed)
    rows = list(zip(*(c.tolist() for c in (found.first, found.second, found.outcome, found.document)), strict=True))
    for pair in of(found):
        own = [(o if a == pair.first else -o, d) for a, b, o, d in rows if {a, b} == {pair.first, pair.second}]
        said = [o for o, _ in own]
        assert (pair.wins, pair.losses, pair.ties) == (said.count(1), said.count(-1), said.count(0))
        mean = sum(said) / len(said)
        assert pair.preference == pytest.approx(mean)
        documents = sorted({d for _, d in own})
        each = [[o for o, d in own if d == one] for one in documents]
        assert pair.n_documents == len(each)
        if len(each) < 2:
            assert pair.interval is None
            continue
        sums, counts = np.array([sum(values) for values in each]), np.array([float(len(values)) for values in each])
        _, error, degrees = of_documents(sums, counts)
        half = oracle.t.ppf(0.975, degrees) * error
        assert pair.interval == pytest.approx((max(-1, mean - half), min(1, mean + half)))


def test_which_of_two_columns_stood_first_changes_nothing() -> None:
    found = drawn(3)
    turned = PairwiseComparisons(found.second, found.first, -found.outcome, found.document)
    assert of(turned) == of(found)
    assert compute_preference_standings(turned, n_systems=4) == compute_preference_standings(found, n_systems=4)


def test_one_document_and_documents_of_one_mind_have_no_interval() -> None:
    one = PairwiseComparisons(*np.array([[0, 1, 1, 0], [0, 1, -1, 0]], dtype=np.int32).T)
    same = PairwiseComparisons(*np.array([[0, 1, 1, 0], [0, 1, 1, 1], [0, 1, 1, 2]], dtype=np.int32).T)
    assert [pair.interval for pair in (*of(one), *of(same))] == [None, None]
    assert of(same)[0].p_value == 0.25


def test_without_comparisons_there_is_nothing() -> None:
    none = PairwiseComparisons(*np.empty((4, 0), dtype=np.int32))
    assert (of(none), compute_preference_standings(none, n_systems=0)) == ((), ())


def test_points_of_all_systems_are_half_of_all_comparisons_twice() -> None:
    found = drawn(5)
    made = compute_preference_standings(found, n_systems=4)
    points = sum(one.share * (one.wins + one.losses + one.ties) for one in made)
    assert points == pytest.approx(len(found.first))
    assert [one.share for one in made] == sorted((one.share for one in made), reverse=True)
