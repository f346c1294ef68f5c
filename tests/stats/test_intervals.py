"""Document-clustered intervals: the worked example, and a slow twin."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from app.stats import intervals
from app.stats.aggregate import panel, segment_scores
from app.stats.ratings import Ratings

# F19 of the specification, on the data of F4: sums and sizes of five documents.
SUMS = np.array([-3.0, -2.0, -3.0, 1.0, -3.0])
COUNTS = np.array([2, 3, 1, 2, 3])


def test_the_worked_example_f19_is_met() -> None:
    error = intervals.standard_errors(SUMS, COUNTS)
    width = intervals.half_widths(error, np.array(5), 0.05)
    theta = SUMS.sum() / COUNTS.sum()
    assert error == pytest.approx(0.384542, abs=5e-7)
    assert (theta - width, theta + width) == pytest.approx((-1.976750, 0.158568), abs=5e-7)
    assert intervals.minimum_detectable(error, np.array(5), 0.05) == pytest.approx(1.429499, abs=5e-7)
    assert intervals.minimum_detectable(error, np.array(5), 0.05 / 45) == pytest.approx(3.582890, abs=5e-7)


DOCUMENTS = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 4)), min_size=2, max_size=12).filter(
    lambda documents: sum(n for _, n in documents) > 0
)


@settings(max_examples=80, deadline=None)
@given(DOCUMENTS)
def test_standard_errors_agree_with_their_slow_twin(documents: list[tuple[int, int]]) -> None:
    held = [(float(x), n) for x, n in documents if n > 0]
    theta = sum(x for x, _ in held) / sum(n for _, n in held)
    mean_size = sum(n for _, n in held) / len(held)
    squares = sum((x - n * theta) ** 2 for x, n in held)
    error = intervals.standard_errors(
        np.array([x if n else 0.0 for x, n in documents], dtype=float), np.array([n for _, n in documents])
    )
    if len(held) < 2:
        assert np.isnan(error)
    else:
        assert error == pytest.approx(sqrt(squares / (len(held) * (len(held) - 1))) / mean_size, abs=1e-12)


def test_quantiles_are_those_of_student_and_missing_without_degrees_of_freedom() -> None:
    found = intervals.t_quantile(0.975, np.array([0, 1, 4, 30]))
    assert np.isnan(found[0])
    assert found[1:] == pytest.approx(stats.t.ppf(0.975, [1, 4, 30]))


def test_on_complete_data_the_unpaired_error_is_the_paired_one() -> None:
    rng = np.random.default_rng(3)
    sums, counts = rng.normal(size=(2, 9)), rng.integers(1, 5, size=9)
    paired = intervals.standard_errors(sums[0] - sums[1], counts)
    error, documents = intervals.unpaired_standard_error((sums[0], sums[1]), (counts, counts))
    assert (error, documents) == (pytest.approx(float(paired)), 9)


def test_without_common_documents_the_variances_add() -> None:
    sums = np.array([[1.0, 4.0, 2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 5.0, 3.0, 9.0]])
    counts = np.array([[1, 2, 1, 0, 0, 0], [0, 0, 0, 2, 1, 2]])
    error, documents = intervals.unpaired_standard_error((sums[0], sums[1]), (counts[0], counts[1]))
    apart = intervals.standard_errors(sums, counts)
    # the common factor is D/(D − 1) of the union against that of each part
    assert documents == 6
    assert error == pytest.approx(sqrt(float((apart**2).sum()) * (6 / 5) * (2 / 3)))


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
    found = intervals.relative(panel(segment_scores(ratings), ratings.labels))
    assert found is not None
    sums, weights = found
    assert sums.sum(axis=1) / weights.sum(axis=1) == pytest.approx([8 / 6, -8 / 6])
    assert (weights > 0).sum(axis=1).tolist() == [3, 3]
