"""MQM 2.0 scores: worked examples with the formulas of MQM 2.0 (Lommel et al. 2024), and the limits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.stats.mqm2.mqm2 import ErrorCount, PassingThreshold, PenaltyTolerance, score_mqm2


@pytest.mark.parametrize(
    ("errors", "words", "points", "normed", "raw", "calibrated"),
    [
        ([ErrorCount("major", 2)], 1000, 10, 10, 99, 90),
        ([ErrorCount("major", 3), ErrorCount("minor", 5)], 1000, 10, 20, 98, 80),
        ([ErrorCount("major"), ErrorCount("minor", 1, weight=1.5)], 250, 20, 26, 97.4, 87),
    ],
)
def test_the_worked_examples_are_met(
    errors: list[ErrorCount], words: int, points: float, normed: float, raw: float, calibrated: float
) -> None:
    found = score_mqm2(errors, words, threshold=PassingThreshold(90, points))
    assert (found.normed, found.raw, found.calibrated) == pytest.approx((normed, raw, calibrated))
    assert found.passed is (calibrated >= 90)


def test_without_a_threshold_there_is_a_raw_score_and_no_verdict() -> None:
    found = score_mqm2([ErrorCount("Minor", 4), ErrorCount("neutral", 9)], 400)
    assert (found.penalty, found.per_word, found.raw) == pytest.approx((4, 0.01, 99))
    assert (found.calibrated, found.passed) == (None, None)


def test_a_critical_error_fails_the_text_unless_it_is_switched_off() -> None:
    errors, threshold = [ErrorCount("critical")], PassingThreshold(90, 10)
    assert score_mqm2(errors, 100_000, threshold=threshold).passed is False
    assert score_mqm2(errors, 100_000, threshold=threshold, critical_fails=False).passed is True
    assert score_mqm2(errors, 100_000).critical == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 50), st.integers(1, 5000), st.floats(0, 99), st.floats(0.1, 100))
def test_a_text_passes_exactly_where_its_normed_points_are_acceptable(
    minors: int, words: int, passing: float, points: float
) -> None:
    found = score_mqm2([ErrorCount("minor", minors)], words, threshold=PassingThreshold(passing, points))
    if abs(found.normed - points) > 1e-6:
        assert found.passed is (found.normed < points)


@pytest.mark.parametrize(
    ("errors", "words"),
    [([], 0), ([ErrorCount("odd")], 10), ([ErrorCount("minor", -1)], 10), ([ErrorCount("minor", 1, -1.0)], 10)],
)
def test_impossible_input_is_refused(errors: list[ErrorCount], words: int) -> None:
    with pytest.raises(Invalid):
        score_mqm2(errors, words)


@pytest.mark.parametrize(("passing", "points"), [(100, 10), (-1, 10), (90, 0), (90, float("nan"))])
def test_an_impossible_threshold_is_refused(passing: float, points: float) -> None:
    with pytest.raises(Invalid):
        PassingThreshold(passing, points)


def test_the_tolerance_through_two_anchors_is_met() -> None:
    tolerance = PenaltyTolerance.through_points((500, 4), (2000, 9))
    assert (tolerance.a, tolerance.b) == pytest.approx((5.221134, 0.00230279), rel=2e-6)
    assert [tolerance(x) for x in (250, 1000, 4000)] == pytest.approx([2.374, 6.238, 12.131], abs=5e-4)


@settings(max_examples=60, deadline=None)
@given(st.floats(10, 1000), st.floats(1.5, 20), st.floats(0.5, 20), st.floats(0.1, 0.9))
def test_the_tolerance_goes_through_its_anchors_and_bends(x: float, factor: float, e: float, bend: float) -> None:
    f = e * (1 + bend * (factor - 1))
    tolerance = PenaltyTolerance.through_points((x, e), (x * factor, f))
    assert (tolerance(x), tolerance(x * factor)) == pytest.approx((e, f), rel=1e-6)
    assert tolerance(2 * x * factor) < 2 * f


@pytest.mark.parametrize("second", [(2000, 16), (2000, 4), (400, 9), (2000, 17)])
def test_anchors_that_no_such_curve_meets_are_refused(second: tuple[float, float]) -> None:
    with pytest.raises(Invalid):
        PenaltyTolerance.through_points((500, 4), second)
