"""Bridges between protocols and the separation of systems, beside scikit-learn and slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.calibration.score_prediction import fit_score_prediction, isotonic_regression
from app.stats.calibration.separation import estimate_system_gap, list_pairs_expected_to_differ
from tests.stats.agreement.worlds import units


def test_the_curve_is_scikit_learns() -> None:
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 20, 200).astype(float), rng.normal(size=200)
    for rising in (True, False):
        theirs = IsotonicRegression(increasing=rising, out_of_bounds="clip").fit(x, y)
        at = np.linspace(-3, 25, 40)
        assert isotonic_regression(x, y, rising=rising).predict(at) == pytest.approx(theirs.predict(at))


def test_r_squared_of_held_out_documents_tells_signal_from_noise() -> None:
    rng = np.random.default_rng(1)
    document = np.repeat(np.arange(30, dtype=np.int32), 8)
    true = rng.normal(size=240)
    x, y = np.exp(true), true + rng.normal(0, 0.5, 240)
    found = fit_score_prediction(x, y, document, rng=rng, draws=300, level=0.95)
    assert found.r_squared == pytest.approx(0.8, abs=0.06)
    assert found.interval is not None
    assert found.interval[0] < 0.8 < found.interval[1]
    assert found.inside is not None
    assert found.inside > (found.r_squared or 0)
    noise = fit_score_prediction(rng.normal(size=240), y, document, rng=rng, draws=300, level=0.95)
    assert (noise.r_squared or 0) < 0 < (noise.inside or 0)


def test_a_score_goes_down_as_a_penalty_goes_up() -> None:
    rng = np.random.default_rng(2)
    true, document = rng.normal(size=100), np.arange(100, dtype=np.int32) // 5
    assert (
        fit_score_prediction(-true, true, document, rng=rng, draws=0, level=0.95, rising=False).r_squared or 0
    ) > 0.95


@pytest.mark.parametrize(
    ("x", "document", "why"),
    [
        ([], [], "no output was judged in both"),
        ([1, 1, 1], [0, 1, 2], "one of the two scores is constant"),
        ([1, 2, 3], [0, 0, 1], "fewer than 4 documents: too few to hold any out"),
    ],
)
def test_what_cannot_be_bridged_is_told(x: list[float], document: list[int], why: str) -> None:
    given, y = np.array(x, dtype=float), np.arange(len(x), dtype=float)
    found = fit_score_prediction(
        given, y, np.array(document, dtype=np.int32), rng=np.random.default_rng(0), draws=10, level=0.9, rising=True
    )
    assert (found.why, found.r_squared) == (why, None)


def test_a_gap_is_the_paired_mean_in_the_direction_of_better() -> None:
    given = units([[1], [2], [4], [2], [4], [7]])
    found_units = type(given)(
        unit=given.unit,
        rater=given.rater,
        value=given.value,
        document=np.array([0, 1, 2, 0, 1, 2], dtype=np.int32),
        system=np.array([0, 0, 0, 1, 1, 1], dtype=np.int32),
        place=np.array([0, 1, 2, 0, 1, 2], dtype=np.int32),
        n_documents=3,
        raters=given.raters,
    )
    rng = np.random.default_rng(0)
    found = estimate_system_gap(found_units.value, found_units, 1, 0, sign=1, draws=500, level=0.95, rng=rng)
    assert found is not None
    assert (found.gap, found.n, found.found) == (2.0, 3, True)
    assert found.standardized == pytest.approx(2.0)
    turned = estimate_system_gap(found_units.value, found_units, 1, 0, sign=-1, draws=500, level=0.95, rng=rng)
    assert turned is not None
    assert (turned.gap, turned.found) == (-2.0, False)
    assert estimate_system_gap(found_units.value, found_units, 1, 2, sign=1, draws=5, level=0.95, rng=rng) is None


def test_neighbours_of_an_order_or_humans_above_all() -> None:
    assert list_pairs_expected_to_differ([3, 1, 2], [3], [1, 2]) == [(3, 1), (1, 2)]
    assert list_pairs_expected_to_differ([], [3], [1, 2]) == [(3, 1), (3, 2)]
