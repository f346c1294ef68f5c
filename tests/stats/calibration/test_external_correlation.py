"""Scores of language pairs against an automatic score, beside scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.calibration.external_correlation import (
    compute_held_out_r_squared,
    correlate_over_language_pairs,
    draw_split_halves,
)


def test_held_out_halves_against_scikit_learn() -> None:
    from sklearn.linear_model import LinearRegression
    from sklearn.metrics import r2_score

    rng = np.random.default_rng(0)
    x = rng.normal(30, 8, 14)
    y = 0.05 * x + rng.normal(0, 0.3, 14)
    fitted = draw_split_halves(14, rng, 200)
    assert (fitted.sum(axis=1) == 7).all()
    theirs = []
    for own in fitted:
        model = LinearRegression().fit(x[own, None], y[own])
        theirs.append(r2_score(y[~own], model.predict(x[~own, None])))
    assert compute_held_out_r_squared(x, y, fitted) == pytest.approx(np.array(theirs))
    found = correlate_over_language_pairs(x, y, rng=rng)
    assert found.r_squared == pytest.approx((found.pearson or 0) ** 2)
    assert found.split_half == pytest.approx(np.mean(theirs), abs=0.15)
    assert found.error is not None
    assert found.error < 0.05


@pytest.mark.parametrize(("r", "square"), [(0.897, 0.804), (0.946, 0.895)])  # Licht et al. 2022, Table 6
def test_r_squared_of_the_published_table_is_r_times_r(r: float, square: float) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=14)
    x = (x - x.mean()) / x.std()
    rest = rng.normal(size=14)
    rest -= rest.mean() + x * (rest @ x) / (x @ x)
    found = correlate_over_language_pairs(x, r * x + np.sqrt(1 - r * r) * rest / rest.std(), rng=rng)
    assert found.pearson == pytest.approx(r, abs=1e-12)
    assert found.r_squared == pytest.approx(square, abs=0.001)


def test_few_or_constant_pairs_are_told() -> None:
    rng = np.random.default_rng(1)
    assert (
        correlate_over_language_pairs(np.ones(1), np.ones(1), rng=rng).why == "a correlation needs two language pairs"
    )
    assert correlate_over_language_pairs(np.arange(5.0), np.ones(5), rng=rng).why == "one of the two scores is constant"
    three = correlate_over_language_pairs(np.arange(3.0), np.array([1.0, 2, 4]), rng=rng)
    assert (three.split_half, three.why) == (None, "halves need 4 language pairs")
    assert three.pearson is not None
