"""Pairs whose common segments contradict the ranking, which is made from all segments."""

from __future__ import annotations

import pytest

from app.domain.recipe import NAMED, Recipe
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import PairRow
from app.stats.ratings import Ratings

RANK_SUM = Recipe(name="rank-sum", normalize="none", test="rank_sum", unit="segment", alternative="greater")


def pair_of(cells: dict[tuple[str, str], list[float]], recipe: Recipe) -> PairRow:
    """The one pair of two systems, from the scores of each system and document."""
    rows = [(*key, position, score) for key, scores in cells.items() for position, score in enumerate(scores, 1)]
    ratings = Ratings.from_columns(
        system=[row[0] for row in rows],
        document=[row[1] for row in rows],
        position=[row[2] for row in rows],
        rater=["r"] * len(rows),
        score=[row[3] for row in rows],
        higher_is_better=True,
    )
    (pair,) = rank_systems(ratings, recipe).pairs
    return pair


CONTRADICTED = {
    ("A", "d1"): [90.0, 90.0],
    ("A", "d2"): [1.0],
    ("B", "d2"): [50.0],
    ("B", "d3"): [10.0, 10.0],
}


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(name="permutation", normalize="none"),
        Recipe(name="none", normalize="none", test="none"),
        Recipe(name="welch", normalize="none", test="welch"),
    ],
    ids=lambda recipe: recipe.name,
)
def test_a_pair_that_cannot_be_tested_is_marked_where_its_common_segments_contradict_the_ranking(
    recipe: Recipe,
) -> None:
    pair = pair_of(CONTRADICTED, recipe)
    assert (pair.better, pair.testable, pair.n_common, pair.order_conflict) == ("A", False, 1, True)


def test_the_difference_of_a_marked_pair_is_the_one_on_common_segments() -> None:
    assert pair_of(CONTRADICTED, Recipe(name="x", normalize="none")).difference == -49.0


def test_a_pair_without_common_segments_is_not_marked_though_its_test_favours_the_lower_ranked() -> None:
    # a few disasters cost B the mean, but its segments are better than those of A more often than not
    apart = {("A", "d1"): [60.0] * 40, ("B", "d2"): [61.0] * 38 + [0.0, 0.0]}
    pair = pair_of(apart, RANK_SUM)
    assert (pair.better, pair.significant_reverse) == ("A", True)
    assert (pair.n_common, pair.order_conflict) == (0, False)


def test_common_segments_decide_and_not_the_lean_of_a_test_by_ranks() -> None:
    both = {("A", "d1"): [60.0] * 40, ("B", "d1"): [61.0] * 38 + [0.0, 0.0]}
    pair = pair_of(both, RANK_SUM)
    assert (pair.better, pair.significant_reverse, pair.order_conflict) == ("A", True, False)


def test_sums_of_tenths_do_not_contradict_an_equal_score() -> None:
    equal = {("A", "d1"): [0.3, 0.9], ("B", "d1"): [0.1 + 0.1 + 0.1, 0.9]}
    assert pair_of(equal, NAMED["google-mqm"]).order_conflict is False
