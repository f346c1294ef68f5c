"""Robustness, multiverse and validation where a recipe ranks nothing or scores do not vary; no database."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from app.domain.errors import Invalid
from app.domain.recipe import NAMED, ExclusionTarget
from app.reports import validation
from app.reports.inputs.recipe_input import RecipeInput
from app.reports.multiverse import report as multiverse
from app.reports.multiverse.choices import merge_equivalent_exclusions
from app.reports.robustness import report as robustness
from app.stats.multiverse.space import ExclusionChoice, MultiverseSpace
from app.stats.ranking.ranking import rank_systems
from app.stats.ratings import Ratings
from app.stats.robustness.reranking import ScoreChangeExperimentsFromRatings
from app.stats.validation.recipe_validator import MEANING, WORLDS, NominalRateCheck, RecipeValidator
from app.stats.validation.studies import StudyPopulation
from tests.stats.components.worlds import crossed

RECIPE = NAMED["recommended"]
CONSTANT = (
    "raters who always gave the same score have no z, so their ratings are dropped; check "
    "their work: rater:r00, rater:r01, rater:r02, rater:r03"
)
NOTHING = (
    "there are no ratings yet that this recipe counts; collect or import judgments, or use a recipe that counts others"
)


def constant() -> Ratings:
    """Every rater gives every output the same score, so z leaves no rating of any."""
    ratings = crossed(1)
    return ratings.with_scores(np.full(len(ratings), 3.0))


def nobody() -> Ratings:
    ratings = crossed(1)
    return ratings.where(np.zeros(len(ratings), dtype=bool))


def said(ratings: Ratings) -> tuple[list[str], list[str], list[str]]:
    experiments = ScoreChangeExperimentsFromRatings.from_ratings(ratings, RECIPE, frozenset())
    of_robustness = robustness._warnings(cast("RecipeInput", None), experiments)
    of_validation = validation._warnings(
        RecipeValidator.from_ratings(StudyPopulation.from_ratings(ratings), RECIPE, 1), ()
    )
    return list(of_robustness), multiverse._warnings(rank_systems(ratings, RECIPE), 0), of_validation


def test_where_the_recipe_leaves_no_rating_the_reason_is_told() -> None:
    for warnings in said(constant()):
        assert CONSTANT in warnings
        assert NOTHING not in warnings


def test_where_nobody_rated_that_is_told() -> None:
    assert said(nobody()) == ([NOTHING], [NOTHING], [NOTHING])


def test_exclusions_that_leave_the_same_ratings_are_one_and_the_others_are_told() -> None:
    rows = crossed(1)
    one = ExclusionTarget("system", rows.labels.systems[0])
    excluding = (
        ExclusionChoice("all", accepted_only=False),
        ExclusionChoice("accepted", accepted_only=True),
        ExclusionChoice("without one", accepted_only=False, exclude=(one,)),
    )
    space, same = merge_equivalent_exclusions(MultiverseSpace(RECIPE, excluding), rows)

    assert [kept.name for kept in space.excluding] == ["all", "without one"]
    assert [(missing.choices, missing.reason) for missing in same] == [
        ({"exclusion": "accepted"}, "leaves the same ratings as: all")
    ]


def test_human_systems_that_there_are_not_are_refused() -> None:
    given = cast("RecipeInput", SimpleNamespace(names={"A": "A", "B": "B"}))
    assert robustness.parse_human_systems("A,B", given) == {"A", "B"}
    with pytest.raises(Invalid) as refused:
        robustness.parse_human_systems("A,nobody", given)
    assert refused.value.places[0].msg == "there is no system 'nobody'"


def test_an_interval_without_width_holds_its_own_value_whatever_the_order_of_sums() -> None:
    ratings = crossed(2, documents=10, systems=2, raters=2, ratings=2, segments=7)
    alike = ratings.with_scores(0.1 + 0.2 * ratings.system)
    tried = RecipeValidator.from_ratings(StudyPopulation.from_ratings(alike), replace(RECIPE, normalize="none"), 1)
    found = [tried.simulate_study_findings("resampled", number) for number in range(20)]
    assert [one["score_interval"] for one in found] == [1.0] * 20


def test_a_promise_broken_in_both_worlds_is_told_once() -> None:
    ratings = crossed(3)
    tried = RecipeValidator.from_ratings(StudyPopulation.from_ratings(ratings), RECIPE, 1)
    shown = [
        NominalRateCheck(
            world, "difference_interval", MEANING["difference_interval"], 0.95, "at least", 0.5, 0.01, 200, kept=False
        )
        for world in validation.TWO
    ]
    told = next(warning for warning in validation._warnings(tried, shown) if "does not meet" in warning)
    assert told.count(shown[0].meaning) == 1


def test_worlds_are_studied_where_they_are_asked_for_and_what_breaks_in_them_is_told() -> None:
    ratings = crossed(3, documents=12, systems=2, raters=2, ratings=1, segments=3)
    tried = RecipeValidator.from_ratings(StudyPopulation.from_ratings(ratings), replace(RECIPE, permutations=200), 1)
    plain, all_worlds = (
        validation._Studies(
            tried, 3, validation._select_worlds(tried, validation.RecipeValidationOptions(studies=3, worlds=worlds))
        )
        for worlds in (False, True)
    )
    assert (plain.n_chunks, plain.worlds) == (2, ("null", "resampled"))
    assert (all_worlds.n_chunks, all_worlds.worlds) == (8, WORLDS)
    assert all_worlds.run(1) == plain.run(1)
    drawn = {
        tried.own.draw_null_study(world, np.random.default_rng(1)).score.tobytes()
        for world in tried.own.applicable_simulated_worlds()
    }
    assert len(drawn) == 5, "the world of peeking is the clean one, looked at several times"
    broken = [
        NominalRateCheck("skewed", "any_claim", MEANING["any_claim"], 0.05, "at most", 0.3, 0.03, 200, kept=False)
    ]
    told = (
        "nominal rates are not met if a system fails on 5 % of its documents but is equal on average; judge more "
        "documents: studies with any claim "
    )
    assert f"{told}0.300, nominally at most 0.050" in validation._warnings(tried, broken)


def test_without_documents_only_worlds_of_raters_apply() -> None:
    ratings = replace(crossed(3, documents=12, systems=2, raters=2, ratings=1, segments=3), documents_known=False)
    tried = RecipeValidator.from_ratings(StudyPopulation.from_ratings(ratings), RECIPE, 1)
    worlds = validation._select_worlds(tried, validation.RecipeValidationOptions(worlds=True))
    assert worlds == ("null", "resampled", "clean", "rater_system")
