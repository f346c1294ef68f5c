"""Repeated measurements: the formula by hand, its correction by simulation, and what must not matter."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest

from app.stats.reproducibility import compute_c4_correction, compute_cv_star


def test_two_studies_by_hand() -> None:
    # Belz 2025: (1 + 1/(4n))·s*/|x̄|·100; of two values s = |a − b|/√2 and c₄(2) = √(2/π)
    s = 10 / sqrt(2) / sqrt(2 / pi)
    assert compute_cv_star(np.array([70.0, 80.0])) == pytest.approx(1.125 * s / 75 * 100)
    assert compute_cv_star(np.array([3.0, 3.0, 3.0])) == 0.0


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_corrected_standard_deviation_is_unbiased(n: int) -> None:
    drawn = np.random.default_rng(n).normal(size=(200_000, n)).std(axis=1, ddof=1)
    assert drawn.mean() / compute_c4_correction(n) == pytest.approx(1.0, abs=5e-3)
    assert drawn.mean() < 0.98  # without the correction it would not be


def test_the_unit_and_the_beginning_of_the_scale_do_not_matter() -> None:
    values = np.array([4.1, 4.6, 3.9])
    assert compute_cv_star(10 * values) == pytest.approx(compute_cv_star(values))
    assert compute_cv_star(values + 1, minimum=1.0) == pytest.approx(compute_cv_star(values))
    assert compute_cv_star(-values) == pytest.approx(compute_cv_star(values))


def test_one_study_and_a_mean_at_the_end_of_the_scale_have_none() -> None:
    assert np.isnan(compute_cv_star(np.array([3.0])))
    assert np.isnan(compute_cv_star(np.array([1.0, 1.0]), minimum=1.0))
