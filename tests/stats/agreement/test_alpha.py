"""Krippendorff's α: a worked example, and the `krippendorff` package and sums over all pairs as oracles."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from app.stats.agreement.alpha import METRICS, Metric, krippendorff_alpha
from tests.stats.agreement.test_kappa import estimate
from tests.stats.agreement.worlds import F9, matrix, random_items, units

F10 = {5: 0.230769, 10: 0.318182, 15: 0.268293, 20: 0.117647, 25: 0.218750, 30: 0.166667}


@pytest.mark.parametrize(("metric", "alpha"), [("interval", 0.519154), ("ratio", 0.312081), ("nominal", 0.150943)])
def test_f10_alpha(metric: Metric, alpha: float) -> None:
    assert estimate(krippendorff_alpha(units(F9), metric), units(F9)) == pytest.approx(alpha, abs=5e-7)


@pytest.mark.parametrize(("t", "alpha"), F10.items())
def test_f10_nominal_alpha_with_tolerance(t: int, alpha: float) -> None:
    assert estimate(krippendorff_alpha(units(F9), "nominal", tolerance=t), units(F9)) == pytest.approx(alpha, abs=5e-7)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("metric", METRICS)
def test_alpha_agrees_with_the_package_on_random_data_with_holes(seed: int, metric: Metric) -> None:
    import krippendorff as theirs

    items = random_items(seed)
    wanted = theirs.alpha(reliability_data=matrix(items).T, level_of_measurement=metric)
    assert estimate(krippendorff_alpha(units(items), metric), units(items)) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("t", [0.0, 1.0, 2.0])
def test_alpha_with_tolerance_is_what_a_sum_over_all_pairs_gives(seed: int, t: float) -> None:
    items = random_items(seed, n=15)
    rows = [row for row in ([v for v in row if v is not None] for row in items) if len(row) > 1]
    pool = [v for row in rows for v in row]
    inside = sum(sum(abs(a - b) > t for a, b in permutations(row, 2)) / (len(row) - 1) for row in rows) / len(pool)
    outside = sum(abs(a - b) > t for a, b in permutations(pool, 2)) / (len(pool) * (len(pool) - 1))
    found = krippendorff_alpha(units(items), "nominal", tolerance=t)
    assert estimate(found, units(items)) == pytest.approx(1 - inside / outside, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_documents_drawn_twice_count_as_if_they_were_there_twice(metric: Metric) -> None:
    items = random_items(7, n=12)
    once, twice = units(items, per_document=3), units(items + items[:3] + items[:3], per_document=3)
    drawn = krippendorff_alpha(once, metric)(np.array([[3.0, 1, 1, 1]]))
    assert float(drawn[0]) == pytest.approx(estimate(krippendorff_alpha(twice, metric), twice), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_no_variation_and_no_pairs_have_no_alpha(metric: Metric) -> None:
    for items in ([[2.0, 2.0], [2.0, 2.0]], [[1.0, None], [None, 2.0]]):
        assert np.isnan(estimate(krippendorff_alpha(units(items), metric), units(items)))


def test_ranks_counted_by_coincidence_and_unit_by_unit_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = units(random_items(11), per_document=5)
    weights = np.random.default_rng(0).integers(0, 3, size=(7, data.n_documents)).astype(float)
    counted = krippendorff_alpha(data, "ordinal")(weights)
    monkeypatch.setattr("app.stats.agreement.alpha.MOST_COINCIDENT", 0)
    assert krippendorff_alpha(data, "ordinal")(weights) == pytest.approx(counted, abs=1e-12)


@pytest.mark.parametrize("high", [0.7, 7.3, 71.3, 1000.7])
def test_documents_of_one_score_among_others_leave_alpha_open(high: float) -> None:
    """As a draw of documents may have it: no others are counted, and what rounding leaves is no variation."""
    data = units([[0.1, 0.1]] * 30 + [[high, high]] * 31)
    value = krippendorff_alpha(data, "interval")
    counted = np.repeat([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [30, 31], axis=1)
    assert np.isnan(value(counted)).tolist() == [True, True, False]
    assert value(counted)[2] == pytest.approx(1.0)
