"""Holm and Benjamini–Hochberg: the worked example, SciPy and a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from app.stats.testing.adjust import adjust_p_values, benjamini_hochberg, convert_to_two_sided_p_values, holm

# A worked example; the expected values were computed with independent code.
F15 = np.array([0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205])
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


def test_holm_meets_the_worked_example_f15() -> None:
    assert holm(F15) == pytest.approx([0.008, 0.056, 0.234, 0.234, 0.234, 0.234, 0.234, 0.234])


def test_bh_meets_the_worked_example_f15() -> None:
    assert benjamini_hochberg(F15) == pytest.approx(
        [0.008, 0.032, 0.0672, 0.0672, 0.0672, 0.08, 0.084571, 0.205], abs=5e-7
    )


@settings(max_examples=60, deadline=None)
@given(P_VALUES)
def test_bh_agrees_with_scipy(p_values: np.ndarray) -> None:
    assert benjamini_hochberg(p_values) == pytest.approx(
        stats.false_discovery_control(p_values, method="bh"), rel=1e-12
    )


@settings(max_examples=60, deadline=None)
@given(P_VALUES)
def test_holm_agrees_with_its_slow_twin(p_values: np.ndarray) -> None:
    m = len(p_values)
    ordered = sorted(p_values)
    for found, p in zip(holm(p_values), p_values, strict=True):
        expected = max(min(1.0, (m - k) * ordered[k]) for k in range(m) if ordered[k] <= p)
        assert found == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(P_VALUES, st.randoms())
def test_the_order_of_the_family_is_irrelevant(p_values: np.ndarray, random: object) -> None:
    order = np.random.default_rng(random.randint(0, 2**32)).permutation(len(p_values))
    for method in ("holm", "bh", "none"):
        assert adjust_p_values(p_values[order], method) == pytest.approx(adjust_p_values(p_values, method)[order])


def test_a_one_sided_pair_enters_with_twice_its_smaller_p() -> None:
    entering = convert_to_two_sided_p_values(np.array([0.01, 0.6, 0.98]), np.array([0.99, 0.5, 0.02]))
    assert entering == pytest.approx([0.02, 1.0, 0.04])
