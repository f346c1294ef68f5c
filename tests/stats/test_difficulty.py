"""Documents against systems: a slow twin, published data shapes, and the figures that warn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stats.difficulty import average_scores_by_document_and_system
from app.stats.ratings import Ratings


def drawn(seed: int, n: int = 50, *, higher_is_better: bool = True) -> Ratings:
    rng = np.random.default_rng(seed)
    return Ratings.from_columns(
        system=[f"S{i}" for i in rng.integers(4, size=n)],
        document=[f"d{i}" for i in rng.integers(6, size=n)],
        position=rng.integers(1, 5, size=n).tolist(),
        rater=[f"r{i}" for i in rng.integers(3, size=n)],
        score=rng.integers(0, 26, size=n).astype(float),
        higher_is_better=higher_is_better,
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_cells_means_and_order_are_those_of_a_double_loop(seed: int, better: bool) -> None:
    rows = drawn(seed, higher_is_better=better)
    found = average_scores_by_document_and_system(rows)
    of = {
        (d, s): [rows.score[k] for k in range(len(rows)) if (rows.document[k], rows.system[k]) == (d, s)]
        for d in found.documents.tolist()
        for s in found.systems.tolist()
    }
    everywhere = {d: [v for (x, _), vs in of.items() if x == d for v in vs] for d in found.documents.tolist()}
    for i, d in enumerate(found.documents.tolist()):
        assert found.document_mean[i] == pytest.approx(np.mean(everywhere[d]))
        for j, s in enumerate(found.systems.tolist()):
            assert found.n[i, j] == len(of[d, s])
            assert math.isnan(found.cell[i, j]) if not of[d, s] else math.isclose(found.cell[i, j], np.mean(of[d, s]))
    for j, s in enumerate(found.systems.tolist()):
        expected = [np.mean(everywhere[d]) for (d, x), values in of.items() if x == s for _ in values]
        assert found.expected[j] == pytest.approx(np.mean(expected))
    sign = 1 if better else -1
    assert np.all(np.diff(sign * found.document_mean) <= 1e-9)
    assert np.all(np.diff(sign * found.system_mean) <= 1e-9)
    assert found.filled_cell_share == sum(map(bool, of.values())) / len(of)


def test_systems_on_the_same_segments_are_expected_to_be_equal() -> None:
    rows = Ratings.from_columns(
        system=["A", "B"] * 3,
        document=["d", "d", "d", "d", "e", "e"],
        position=[1, 1, 2, 2, 1, 1],
        rater=["r"] * 6,
        score=[1.0, 2, 3, 4, 9, 8],
        higher_is_better=True,
    )
    found = average_scores_by_document_and_system(rows)
    assert found.is_fully_crossed
    assert found.expected[0] == pytest.approx(found.expected[1])


def test_a_system_of_easy_documents_is_expected_to_be_better_though_it_is_not() -> None:
    """Two equal systems, one judged on the easy documents alone: Knowles 2021, §6."""
    score = {"easy1": 90.0, "easy2": 80.0, "hard1": 40.0, "hard2": 30.0}
    shown = [("A", d) for d in score] + [("B", "easy1"), ("B", "easy2")]
    rows = Ratings.from_columns(
        system=[s for s, _ in shown],
        document=[d for _, d in shown],
        position=[1] * len(shown),
        rater=["r"] * len(shown),
        score=[score[d] for _, d in shown],
        higher_is_better=True,
    )
    found = average_scores_by_document_and_system(rows)
    assert [rows.labels.systems[i] for i in found.systems] == ["B", "A"]
    assert found.system_mean.tolist() == found.expected.tolist() == [85.0, 60.0]
    assert found.filled_cell_share == 0.75
    assert (found.sd_of_document_means, found.sd_of_system_means) == (
        np.std([90, 80, 40, 30], ddof=1),
        np.std([85, 60], ddof=1),
    )


def test_nothing_rated_and_one_cell_have_no_spread() -> None:
    none = average_scores_by_document_and_system(drawn(1).where(np.zeros(50, dtype=bool)))
    assert none.cell.shape == (0, 0)
    assert math.isnan(none.filled_cell_share)
    one = average_scores_by_document_and_system(drawn(1).where(np.arange(50) == 0))
    assert (one.filled_cell_share, one.is_fully_crossed) == (1.0, True)
    assert math.isnan(one.sd_of_document_means)
    assert math.isnan(one.sd_of_system_means)
