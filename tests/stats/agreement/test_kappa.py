"""κ with a tolerance, Fleiss' κ, weighted κ and Gwet's coefficients.

Sources of the figures: Grundkiewicz et al. 2021, Table 5; Fleiss 1971; worked examples computed with independent code.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from app.stats.agreement.kappa import (
    Weights,
    compute_chance_agreement_within_steps,
    fleiss_kappa,
    gwet_ac,
    make_agreement_weights,
    tolerance_kappa,
)
from app.stats.agreement.pairs import cohen_kappa
from app.stats.agreement.units import ValuesByUnit
from tests.stats.agreement.worlds import F9, FLEISS_1971, GWET_A, GWET_B, matrix, random_items, units

GRUNDKIEWICZ_TABLE_5 = {5: 0.107, 10: 0.199, 15: 0.286, 20: 0.368, 25: 0.445, 30: 0.517}
PRINTED = {5: 0.1075, 10: 0.2, 15: 0.2875, 20: 0.37, 25: 0.4475, 30: 0.52}


def estimate(of_documents: object, over: ValuesByUnit) -> float:
    return float(of_documents(over.equal_document_weights())[0])


@pytest.mark.parametrize(("t", "published"), GRUNDKIEWICZ_TABLE_5.items())
def test_chance_agreement_is_exactly_table_5(t: int, published: float) -> None:
    assert compute_chance_agreement_within_steps(100, t) == published


@pytest.mark.parametrize("t", GRUNDKIEWICZ_TABLE_5)
def test_chance_agreement_is_the_sum_that_the_paper_means_not_the_one_it_prints(t: int) -> None:
    meant = sum(min(i + t, 100) - max(i - t, 1) + 1 for i in range(1, 101)) / 100**2
    printed = sum(min(i + t, 100) - max(i - t, 0) + 1 for i in range(1, 101)) / 100**2
    assert compute_chance_agreement_within_steps(100, t) == pytest.approx(meant, abs=1e-15)
    assert printed == pytest.approx(PRINTED[t], abs=1e-12)
    assert printed > meant


@pytest.mark.parametrize(
    ("levels", "steps", "chance"),
    [
        (5, 0, 0.2),
        (5, 1, 0.52),
        (7, 0, 0.142857),
        (7, 1, 0.387755),
        (101, 5, 0.105970),
        (101, 15, 0.283404),
        (101, 30, 0.512793),
    ],
)
def test_chance_agreement_on_other_scales_follows_their_levels(levels: int, steps: int, chance: float) -> None:
    assert compute_chance_agreement_within_steps(levels, steps) == pytest.approx(chance, abs=5e-7)


def test_kappa_is_not_defined_where_all_values_agree() -> None:
    with pytest.raises(ValueError, match="within the tolerance"):
        compute_chance_agreement_within_steps(5, 4)


@pytest.mark.parametrize(
    ("t", "kappa"),
    [(0, 0.134199), (5, 0.200128), (10, 0.286606), (15, 0.199680), (20, 0.095841), (25, 0.227799), (30, 0.408459)],
)
def test_f9_kappa_with_tolerance(t: int, kappa: float) -> None:
    found = tolerance_kappa(units(F9), t, chance=compute_chance_agreement_within_steps(100, t))
    assert estimate(found, units(F9)) == pytest.approx(kappa, abs=5e-7)


def test_f11_fleiss_of_1971() -> None:
    items = [[float(k) for k, n in enumerate(row) for _ in range(n)] for row in FLEISS_1971]
    assert estimate(fleiss_kappa(units(items), 5), units(items)) == pytest.approx(0.2099307, abs=5e-8)


def test_weighted_kappa_and_gwet_of_two_raters_are_the_check_values() -> None:
    x, y = np.array(GWET_A, float) - 1, np.array(GWET_B, float) - 1
    data = units(np.column_stack((x, y)).tolist())
    assert cohen_kappa(x, y, 5, quadratic=True) == pytest.approx(0.841410, abs=5e-7)
    assert estimate(gwet_ac(data, 5, weights="quadratic"), data) == pytest.approx(0.881773, abs=5e-7)
    assert estimate(gwet_ac(data, 5), data) == pytest.approx(0.377970, abs=5e-7)


def test_units_rated_once_say_how_often_a_category_is_used() -> None:
    once = units([[0.0, 0.0], [0.0, 1.0], [1.0, None], [1.0, None]])
    observed, used = 1 / 2, (0.0 + 0.5 + 1 + 1) / 4  # agreement of two units; share of category 1 in four
    chance = 2 * used * (1 - used)
    assert estimate(gwet_ac(once, 2), once) == pytest.approx((observed - chance) / (1 - chance), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_cohen_agrees_with_scikit_learn(seed: int) -> None:
    from sklearn.metrics import cohen_kappa_score

    x, y = matrix(random_items(seed, raters=2, missing=0.0)).T
    for quadratic, name in ((False, None), (True, "quadratic")):
        theirs = cohen_kappa_score(x, y, labels=range(6), weights=name)
        assert cohen_kappa(x, y, 6, quadratic=quadratic) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_fleiss_agrees_with_statsmodels_where_all_have_as_many_ratings(seed: int) -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

    values = matrix(random_items(seed, missing=0.0)).astype(int)
    table = np.array([np.bincount(row, minlength=6) for row in values])
    data = units(values.astype(float).tolist())
    assert estimate(fleiss_kappa(data, 6), data) == pytest.approx(statsmodels_fleiss(table), abs=1e-12)


def pairs_of(items: list[list[float | None]]) -> list[list[tuple[float, float]]]:
    known = [[v for v in row if v is not None] for row in items]
    return [list(combinations(row, 2)) for row in known if len(row) > 1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", ["identity", "linear", "quadratic"])
def test_fleiss_and_gwet_agree_with_loops_on_unequal_numbers_of_ratings(seed: int, weights: Weights) -> None:
    items = random_items(seed)
    like = make_agreement_weights(6, weights)
    rows = [[int(v) for v in row if v is not None] for row in items]
    rows = [row for row in rows if len(row) > 1]
    agree = [[like[a, b] for a, b in combinations(row, 2)] for row in rows]
    pool = np.bincount([v for row in rows for v in row], minlength=6).astype(float)
    share = pool / pool.sum()
    observed = sum(map(sum, agree)) / sum(map(len, agree))
    chance = sum(share[a] * share[b] * like[a, b] for a in range(6) for b in range(6))
    data = units(items)
    assert estimate(fleiss_kappa(data, 6, weights=weights), data) == pytest.approx((observed - chance) / (1 - chance))
    rated = [[int(v) for v in row if v is not None] for row in items]
    alike = np.mean([np.bincount(row, minlength=6) / len(row) for row in rated if row], axis=0)
    chance = like.sum() / 30 * sum(p * (1 - p) for p in alike)
    observed = float(np.mean([np.mean(one) for one in agree]))
    assert estimate(gwet_ac(data, 6, weights=weights), data) == pytest.approx((observed - chance) / (1 - chance))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("t", [0, 1, 2])
def test_kappa_with_chance_from_the_scores_agrees_with_loops(seed: int, t: int) -> None:
    pairs = [pair for unit in pairs_of(random_items(seed)) for pair in unit]
    rows = [[v for v in row if v is not None] for row in random_items(seed)]
    pool = [v for row in rows if len(row) > 1 for v in row]
    observed = np.mean([abs(a - b) <= t for a, b in pairs])
    chance = np.mean([abs(a - b) <= t for a in pool for b in pool])
    data = units(random_items(seed))
    assert estimate(tolerance_kappa(data, t), data) == pytest.approx((observed - chance) / (1 - chance))


def test_documents_drawn_twice_count_as_if_they_were_there_twice() -> None:
    items = random_items(3, n=12)
    once, twice = units(items, per_document=3), units(items + items[:3], per_document=3)
    weights = np.array([[2.0, 1, 1, 1]])
    chance = compute_chance_agreement_within_steps(6, 1)
    for make in (
        lambda u: tolerance_kappa(u, 1),
        lambda u: tolerance_kappa(u, 1, chance=chance),
        lambda u: fleiss_kappa(u, 6),
        lambda u: gwet_ac(u, 6, weights="quadratic"),
    ):
        assert float(make(once)(weights)[0]) == pytest.approx(estimate(make(twice), twice), abs=1e-12)


def test_one_score_throughout_has_no_kappa() -> None:
    data = units([[3.0, 3.0], [3.0, 3.0]])
    assert np.isnan(estimate(fleiss_kappa(data, 6), data))
    assert np.isnan(estimate(tolerance_kappa(data, 0), data))
