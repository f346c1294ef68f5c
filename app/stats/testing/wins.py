"""Wins from tests: adjust the p-values of the family and apply the level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.recipe import Recipe
from app.stats.aggregate import ScoreMatrix, round_scores
from app.stats.ratings import Bools, Floats
from app.stats.testing.adjust import adjust_p_values, convert_to_two_sided_p_values
from app.stats.testing.common_segments import CommonSegmentsByPair, list_all_system_pairs
from app.stats.testing.pair_tests import PairTestResults, choose_number_of_resamples, run_pair_tests
from app.stats.testing.step_down import compute_max_t_p_values


@dataclass(frozen=True, slots=True)
class AdjustedTestResults:
    """Tests after adjustment: p_adjusted of shape (pairs,); wins[i, j] is true if i beats j, shape (S, S).

    different[i, j] : the test separates i and j, in either direction; shape (S, S).
    """

    tests: PairTestResults
    p_adjusted: Floats
    wins: Bools
    different: Bools


def run_tests_and_decide_wins(
    matrix: ScoreMatrix, shared: CommonSegmentsByPair, recipe: Recipe, sign: int
) -> AdjustedTestResults:
    """Test, adjust and decide which system beats which.

    For adjustment, a one-sided pair counts with min(1, 2·min(p, p_reverse)), and the side with the smaller p wins;
    without adjustment each direction is tested by itself.
    """
    return decide_wins(run_pair_tests(matrix, shared, recipe, sign), matrix, shared, recipe, sign)


def decide_wins(
    tests: PairTestResults, matrix: ScoreMatrix, shared: CommonSegmentsByPair, recipe: Recipe, sign: int
) -> AdjustedTestResults:
    """Adjust existing tests and decide who wins: one test run serves every adjustment and level.

    sign : 1 where higher is better, else −1. `run_tests_and_decide_wins` also runs the tests.
    """
    one_sided = recipe.test in {"marot", "rank_sum_legacy"} or recipe.alternative == "greater"
    entering = np.where(tests.testable, tests.p_value, 1.0)
    forward, backward = tests.lean > 0, tests.lean < 0
    if recipe.adjust != "none" and one_sided:
        reverse = np.where(np.isnan(tests.p_reverse), 1.0, tests.p_reverse)
        forward, backward = entering <= reverse, reverse < entering
        entering = convert_to_two_sided_p_values(entering, reverse)
    joint = recipe.adjust == "maxT"
    adjusted = _jointly(matrix, shared, tests, recipe) if joint else adjust_p_values(entering, recipe.adjust)
    if recipe.adjust == "none" and one_sided:
        won, lost = _is_below_alpha(adjusted, recipe), _is_below_alpha(np.nan_to_num(tests.p_reverse, nan=1.0), recipe)
    else:
        won, lost = _is_below_alpha(adjusted, recipe) & forward, _is_below_alpha(adjusted, recipe) & backward
    differs = (won | lost if one_sided else _is_below_alpha(adjusted, recipe)) & tests.testable
    wins = _wins(matrix, won & tests.testable, lost & tests.testable, recipe, sign)
    return AdjustedTestResults(
        tests, np.where(tests.testable, adjusted, np.nan), wins, _square(differs, differs, len(matrix.systems))
    )


def _jointly(matrix: ScoreMatrix, shared: CommonSegmentsByPair, tests: PairTestResults, recipe: Recipe) -> Floats:
    return compute_max_t_p_values(
        shared.blocks,
        tests.testable,
        matrix.n_documents if recipe.unit == "document" else matrix.segments.size,
        permutations=choose_number_of_resamples(recipe, tests.testable.size),
        seed=recipe.seed,
        plus_one=recipe.plus_one,
    )


def _is_below_alpha(p_values: Floats, recipe: Recipe) -> Bools:
    return np.asarray(p_values <= recipe.alpha if recipe.inclusive else p_values < recipe.alpha)


def _wins(matrix: ScoreMatrix, won: Bools, lost: Bools, recipe: Recipe, sign: int) -> Bools:
    wins = _square(won, lost, len(matrix.systems))
    if recipe.require_mean:
        scores = sign * round_scores(matrix.system_means())
        wins &= scores[:, None] > scores[None, :]
    return wins


def _square(above: Bools, below: Bools, size: int) -> Bools:
    """One boolean per pair as a matrix: `above` where the first system is the row, `below` where the second is."""
    first, second = list_all_system_pairs(size)
    matrix = np.zeros((size, size), dtype=np.bool_)
    matrix[first, second], matrix[second, first] = above, below
    return matrix
