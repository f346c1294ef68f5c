"""Terms of systems that a design hides in terms of no system: documents or raters of one system each."""

from __future__ import annotations

from dataclasses import astuple, fields, replace
from math import sqrt

import pytest

from app.stats.components.fit import VarianceComponentsFit, fit_variance_components
from app.stats.components.generalizability import (
    assign_confounded_variance_to_systems,
    find_confounded_system_terms,
    make_planning_components,
    make_planning_components_from_fit,
)
from app.stats.components.observations import make_model_observations
from app.stats.planning.power_and_cost import StudyLayout, compute_contrast_variance
from app.stats.ratings import Ratings
from tests.stats.components.worlds import crossed

VARIANCE = {"doc": 4.0, "doc_system": 1.0, "residual": 2.0}


def apart(seed: int = 4, documents: int = 60) -> Ratings:
    """Every document has one system only, all by one of three raters."""
    whole = crossed(seed, documents=documents, systems=3, raters=3, ratings=1, variance=VARIANCE)
    return whole.where(whole.document % 3 == whole.system)


def closed_form(fitted: VarianceComponentsFit) -> float:
    """Standard error of a contrast in a study of the same size, from the components alone."""
    rows = fitted.rows
    layout = StudyLayout(rows.mean_sampled_units_per_system, rows.n_segments / rows.n_sampled_units, len(rows.raters))
    return sqrt(compute_contrast_variance(make_planning_components_from_fit(fitted, source="own"), layout))


def test_what_documents_of_one_system_add_does_not_cancel_in_differences() -> None:
    fitted = fit_variance_components(apart())
    assert next(one.term for one in find_confounded_system_terms(fitted)) == "doc_system"
    counted = assign_confounded_variance_to_systems(fitted, fitted.components)
    assert counted["doc_system"] == pytest.approx(fitted.components["doc"])
    assert counted["doc_system"] > 2
    assert sum(counted.values()) == pytest.approx(sum(fitted.components.values()))
    assert closed_form(fitted) == pytest.approx(fitted.typical_contrast_error(), rel=0.05)
    assert assign_confounded_variance_to_systems(fitted, {"residual": 2.0}) == {"doc_system": 0.0, "residual": 2.0}


def test_a_study_of_the_same_size_has_the_documents_of_a_system_not_those_of_all() -> None:
    rows = make_model_observations(apart())
    assert (rows.n_sampled_units, rows.mean_sampled_units_per_system) == (60, 20)
    whole = make_model_observations(crossed(1))
    assert whole.mean_sampled_units_per_system == whole.n_sampled_units == 6


def test_nothing_moves_where_all_systems_meet_on_each_document() -> None:
    fitted = fit_variance_components(crossed(4, documents=30, raters=4, ratings=2))
    assert find_confounded_system_terms(fitted) == ()
    assert assign_confounded_variance_to_systems(fitted, fitted.components) == fitted.components
    assert closed_form(fitted) > 0


def test_a_term_that_is_not_in_the_model_counts_nothing() -> None:
    nothing = make_planning_components({})
    assert astuple(nothing)[:8] == (0.0,) * 8
    for field in fields(nothing)[:8]:
        assert make_planning_components({field.name: 2.0}) == replace(nothing, **{field.name: 2.0}), field.name
