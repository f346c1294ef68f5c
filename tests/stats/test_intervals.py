"""Document-clustered intervals: the worked example, and a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from app.stats import intervals
from app.stats.aggregate import average_ratings_per_segment, make_score_matrix
from app.stats.inference.by_document import estimate_ratio_precision
from app.stats.ratings import Ratings

# Sums and sizes of five documents; the expected values were computed with independent code.
SUMS = np.array([-3.0, -2.0, -3.0, 1.0, -3.0])
COUNTS = np.array([2, 3, 1, 2, 3])


def test_the_worked_example_f19_is_met() -> None:
    """Computed from matrices over segments; uncorrected .384542, [−1.976750, .158568], 1.429499."""
    known = estimate_ratio_precision(SUMS, COUNTS)
    width = intervals.compute_interval_half_widths(known, 0.05)
    theta = SUMS.sum() / COUNTS.sum()
    assert (float(known.error), float(known.degrees)) == pytest.approx((0.375409, 3.477315), abs=5e-7)
    assert (theta - width, theta + width) == pytest.approx((-2.016187, 0.198005), abs=5e-7)
    assert intervals.compute_minimum_detectable_difference(known, 0.05) == pytest.approx(1.466586, abs=5e-7)
    assert intervals.compute_minimum_detectable_difference(known, 0.05 / 45) == pytest.approx(4.106787, abs=5e-7)


def test_quantiles_are_those_of_student_and_missing_without_degrees_of_freedom() -> None:
    found = intervals.t_quantile(0.975, np.array([0, 1, 4, 30]))
    assert np.isnan(found[0])
    assert found[1:] == pytest.approx(stats.t.ppf(0.975, [1, 4, 30]))


def test_relative_scores_stand_against_the_mean_of_all_systems_on_the_same_segments() -> None:
    rows = [("A", 1, 4.0), ("B", 1, 2.0), ("A", 2, 3.0), ("B", 2, 5.0), ("A", 3, 9.0), ("B", 3, 1.0), ("A", 4, 99.0)]
    ratings = Ratings.from_columns(
        system=[s for s, _, _ in rows],
        document=[f"d{p}" for _, p, _ in rows],
        position=[1 for _ in rows],
        rater=["r"] * len(rows),
        score=[x for _, _, x in rows],
        higher_is_better=True,
    )
    found = intervals.center_document_sums_across_systems(
        make_score_matrix(average_ratings_per_segment(ratings), ratings.labels)
    )
    assert found is not None
    sums, weights = found
    assert sums.sum(axis=1) / weights.sum(axis=1) == pytest.approx([8 / 6, -8 / 6])
    assert (weights > 0).sum(axis=1).tolist() == [3, 3]
