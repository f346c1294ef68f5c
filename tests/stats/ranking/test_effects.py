"""Effect sizes: a slow twin, and what a ranking gives beside normalized differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.recipe import Recipe
from app.stats.aggregate import average_ratings_per_segment, make_score_matrix
from app.stats.ranking.effects import estimate_probability_of_superiority
from app.stats.ranking.ranking import rank_systems
from app.stats.ratings import Ratings
from app.stats.testing.common_segments import list_all_system_pairs

CELLS = st.lists(
    st.tuples(st.sampled_from("ABC"), st.integers(1, 6), st.integers(0, 4).map(lambda n: n / 10)),
    min_size=1,
    max_size=18,
    unique_by=lambda cell: cell[:2],
)


def ratings_of(cells: list[tuple[str, int, float]], *, raters: list[str] | None = None) -> Ratings:
    return Ratings.from_columns(
        system=[s for s, _, _ in cells],
        document=[f"d{p}" for _, p, _ in cells],
        position=[1] * len(cells),
        rater=raters or ["r"] * len(cells),
        score=[x for _, _, x in cells],
        higher_is_better=True,
    )


@settings(max_examples=80, deadline=None)
@given(CELLS, st.booleans(), st.sampled_from([1, -1]))
def test_chances_agree_with_their_slow_twin(cells: list[tuple[str, int, float]], paired: bool, sign: int) -> None:
    ratings = ratings_of(cells)
    found = estimate_probability_of_superiority(
        make_score_matrix(average_ratings_per_segment(ratings), ratings.labels), sign, paired=paired
    )
    scores = {cell[:2]: sign * cell[2] for cell in cells}
    names = sorted({cell[0] for cell in cells})
    for pair, (i, j) in enumerate(zip(*list_all_system_pairs(len(names)), strict=True)):
        compared = [
            (scores[a], scores[b])
            for a in scores
            for b in scores
            if (a[0], b[0]) == (names[i], names[j]) and (not paired or a[1] == b[1])
        ]
        if not compared:
            assert np.isnan(found.better[pair])
            continue
        assert found.better[pair] == pytest.approx(np.mean([x > y for x, y in compared]))
        assert found.worse[pair] == pytest.approx(np.mean([x < y for x, y in compared]))
        assert found.tie[pair] == pytest.approx(np.mean([x == y for x, y in compared]))


def test_sums_of_tenths_are_ties() -> None:
    ratings = ratings_of([("A", 1, 0.1 + 0.1 + 0.1), ("B", 1, 0.3)])
    assert (
        estimate_probability_of_superiority(
            make_score_matrix(average_ratings_per_segment(ratings), ratings.labels), 1, paired=True
        ).tie[0]
        == 1.0
    )


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("better", range(12))
def test_where_no_two_scores_are_equal_the_chance_of_a_tie_is_exactly_0(better: int, *, paired: bool) -> None:
    cells = [("A", p, 100.0 + p if p <= better else -100.0 - p) for p in range(1, 12)]
    ratings = ratings_of([*cells, *(("B", p, float(p)) for p in range(1, 12))])
    found = estimate_probability_of_superiority(
        make_score_matrix(average_ratings_per_segment(ratings), ratings.labels), 1, paired=paired
    )
    assert (found.tie[0], found.better[0]) == (0.0, better / 11)


def test_a_normalized_ranking_gives_differences_in_the_unit_of_the_protocol_too() -> None:
    rng = np.random.default_rng(2)
    cells = [(s, p, float(np.round(50 + 10 * rng.normal() - 3 * (s == "B")))) for s in "AB" for p in range(1, 21)]
    ratings = ratings_of(cells, raters=["r1", "r2"] * 20)
    z, raw = (rank_systems(ratings, Recipe(name=n, normalize=n, permutations=100)).pairs[0] for n in ("z", "none"))
    side = 1 if (z.better, z.worse) == (raw.better, raw.worse) else -1
    assert z.raw_difference == pytest.approx(side * raw.difference)
    assert sorted(abs(x) for x in z.raw_interval) == pytest.approx(sorted(abs(x) for x in raw.interval))
    assert (raw.raw_difference, raw.raw_interval) == (raw.difference, raw.interval)
    assert z.difference != pytest.approx(z.raw_difference)
    assert z.chance_better + z.chance_tie + z.chance_worse == pytest.approx(1.0)
