"""How the gate asks whether a claim would show again; no database."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from app.domain.recipe import NAMED, Aggregate
from app.reports.gate import report as gate
from app.reports.inputs.recipe_input import RecipeInput
from app.stats.gate.gate import GateRule, compute_system_difference_by_document, decide_claim
from app.stats.robustness.reranking import make_score_matrix_in_ranking_order
from tests.stats.components.worlds import crossed
from tests.stats.gate.test_gate import with_a_contrary_rater


@pytest.mark.parametrize(("aggregate", "method"), [("mean", "simulated"), ("macro_domain", "forecast")])
def test_a_mean_over_domains_is_forecast_since_studies_weigh_segments_alike(aggregate: Aggregate, method: str) -> None:
    ratings = crossed(1, documents=12, systems=2, raters=2, ratings=2)
    recipe = replace(NAMED["recommended"], normalize="none")
    laid = make_score_matrix_in_ranking_order(ratings, recipe)
    apart = compute_system_difference_by_document(laid, 0, 1, ratings.better_sign, paired=True)
    asked, rule = gate.GateOptions(candidate="s01", baseline="s00"), GateRule()
    found = decide_claim(apart.sums, apart.weights, rule)
    given = cast("RecipeInput", SimpleNamespace(rows=ratings))
    again, point = gate._forecast_replication(given, replace(recipe, aggregate=aggregate), asked, rule, apart, found)
    assert again is not None
    assert again.method == method
    assert (point is None) == (method == "forecast")
    ranking = SimpleNamespace(unit="raw", recipe=SimpleNamespace(aggregate=aggregate))
    told = gate._warnings(asked, cast("gate.Ranking", ranking), found, again)
    assert any("do not weight domains" in warning for warning in told) == (method == "forecast")


def test_the_difference_that_is_shown_and_the_direction_found_again_are_in_the_same_unit() -> None:
    ratings, recipe, rule = with_a_contrary_rater(24), replace(NAMED["recommended"], normalize="z"), GateRule()
    laid = make_score_matrix_in_ranking_order(ratings, recipe)
    names = [ratings.labels.systems[code] for code in laid.systems]
    pair = names.index("A"), names.index("B")
    apart = compute_system_difference_by_document(laid, *pair, ratings.better_sign, paired=True)
    found = decide_claim(apart.sums, apart.weights, rule)
    asked = gate.GateOptions(candidate="A", baseline="B")
    again, _ = gate._forecast_replication(
        cast("RecipeInput", SimpleNamespace(rows=ratings)), recipe, asked, rule, apart, found
    )
    assert found.verdict == "better"
    assert again is not None
    assert again.method == "simulated"
    assert again.same_direction is not None
    assert again.significant_again is not None
    assert again.same_direction >= again.significant_again > 0.5
