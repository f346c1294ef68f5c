"""Preferences: the sign test and the interval over documents against slow twins, and what must not matter."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import stats as oracle

from app.stats.preferences import Comparisons, Pair, pairs, sign_test, standings


def drawn(seed: int, n: int = 60, systems: int = 4, documents: int = 6) -> Comparisons:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, systems, n)
    second = (first + rng.integers(1, systems, n)) % systems
    outcome, document = rng.integers(-1, 2, n), rng.integers(0, documents, n)
    return Comparisons(*(column.astype(np.int32) for column in (first, second, outcome, document)))


def of(found: Comparisons, **given: object) -> tuple[Pair, ...]:
    kept: dict[str, object] = {"n_systems": 4, "alpha": 0.05, "method": "holm", **given}
    return pairs(found, **kept)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 5), (9, 1), (3, 17), (40, 60)])
def test_the_sign_test_is_the_exact_binomial_one(wins: int, losses: int) -> None:
    n = wins + losses
    slow = 1.0 if not n else oracle.binomtest(wins, n, 0.5).pvalue
    assert sign_test(wins, losses) == pytest.approx(slow, abs=1e-12)
    tail = sum(comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n
    assert sign_test(wins, losses) == pytest.approx(min(1.0, 2 * tail), abs=1e-12)


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
        errors = [sum(values) - len(values) * mean for values in each]
        n_mean, n = len(own) / len(each), len(each)
        assert pair.n_documents == n
        if n < 2:
            assert pair.interval is None
            continue
        se = (sum(e * e for e in errors) / (n * (n - 1))) ** 0.5 / n_mean
        half = oracle.t.ppf(0.975, n - 1) * se
        assert pair.interval == pytest.approx((max(-1, mean - half), min(1, mean + half)))


def test_which_of_two_columns_stood_first_changes_nothing() -> None:
    found = drawn(3)
    turned = Comparisons(found.second, found.first, -found.outcome, found.document)
    assert of(turned) == of(found)
    assert standings(turned, n_systems=4) == standings(found, n_systems=4)


def test_one_document_and_documents_of_one_mind_have_no_interval() -> None:
    one = Comparisons(*np.array([[0, 1, 1, 0], [0, 1, -1, 0]], dtype=np.int32).T)
    same = Comparisons(*np.array([[0, 1, 1, 0], [0, 1, 1, 1], [0, 1, 1, 2]], dtype=np.int32).T)
    assert [pair.interval for pair in (*of(one), *of(same))] == [None, None]
    assert of(same)[0].p_value == 0.25


def test_without_comparisons_there_is_nothing() -> None:
    none = Comparisons(*np.empty((4, 0), dtype=np.int32))
    assert (of(none), standings(none, n_systems=0)) == ((), ())


def test_points_of_all_systems_are_half_of_all_comparisons_twice() -> None:
    found = drawn(5)
    made = standings(found, n_systems=4)
    points = sum(one.share * (one.wins + one.losses + one.ties) for one in made)
    assert points == pytest.approx(len(found.first))
    assert [one.share for one in made] == sorted((one.share for one in made), reverse=True)
