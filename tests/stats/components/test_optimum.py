"""Steps of average information against a general optimizer of the same criterion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from app.stats.components import optimum as searching
from app.stats.components.fit import fit_variance_components_to_rows
from app.stats.components.layout import make_model_layout
from app.stats.components.likelihood import MixedModelEquations, evaluate_reml
from app.stats.components.observations import make_model_observations
from app.stats.components.optimum import HIGHEST, LOWEST, minimize_reml
from app.stats.components.terms import select_identifiable_terms
from app.stats.ratings import Floats
from tests.stats.components.worlds import crossed

STARTS = (LOWEST, 0.01, 1.0, 100.0)


@pytest.mark.parametrize("variance", [{}, {"rater": 2.0, "segment": 0.5}, {"rater": 90.0, "doc_system": 0.2}])
@pytest.mark.parametrize("ratings", [1, 2])
def test_it_ends_where_a_general_optimizer_ends(ratings: int, variance: dict[str, float]) -> None:
    rows = make_model_observations(crossed(4, documents=8, ratings=ratings, missing=0.1, variance=variance))
    terms = select_identifiable_terms(rows).terms
    arranged = make_model_layout(rows, terms)

    def criterion(at: Floats) -> tuple[float, Floats]:
        found = evaluate_reml(arranged, rows.score, dict(zip(terms, np.exp(at), strict=True)))
        return found.criterion, np.array([found.gradient[term] for term in terms])

    bounds = [(np.log(LOWEST), np.log(HIGHEST))] * len(terms)
    options = {"ftol": 1e-13, "gtol": 1e-7, "maxiter": 1000}
    general = optimize.minimize(
        criterion, np.zeros(len(terms)), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    for start in STARTS:
        found = minimize_reml(MixedModelEquations(arranged, dict.fromkeys(terms, start)), rows.score, close=1e-8)
        assert found.converged
        assert found.solution.criterion <= general.fun + 1e-6


def test_terms_that_are_held_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = make_model_observations(crossed(4, documents=8, variance={"rater": 2.0, "segment": 0.5}))
    terms = select_identifiable_terms(rows).terms
    start = MixedModelEquations(make_model_layout(rows, terms), dict.fromkeys(terms, 1.0))
    assert minimize_reml(start, rows.score, close=1e-8, held=frozenset({"rater"})).equations.ratios["rater"] == 1.0
    assert minimize_reml(start, rows.score, close=1e-8, held=frozenset(terms)).equations is start
    monkeypatch.setattr(searching, "_MOST_STEPS", 1)
    assert not minimize_reml(start, rows.score, close=1e-8).converged


@pytest.mark.parametrize(("systems", "ratings"), [(1, 1), (1, 2), (2, 1)])
@pytest.mark.parametrize("documents", [2, 3, 8])
def test_few_systems_raters_and_documents_end_somewhere(systems: int, ratings: int, documents: int) -> None:
    """The curvature may be singular there: two terms that differ in no row, or a term without a residual."""
    for seed in range(4):
        rows = make_model_observations(crossed(seed, documents=documents, systems=systems, ratings=ratings, raters=3))
        if len(rows) > len(rows.systems):
            fitted = fit_variance_components_to_rows(rows)
            assert all(np.isfinite(value) and value >= 0 for value in fitted.components.values())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("seed", "systems", "documents", "ratings"), [(17, 1, 2, 1), (2, 2, 2, 2), (2, 2, 3, 1)])
def test_scores_that_leave_nothing_to_curve_have_a_fit(seed: int, systems: int, documents: int, ratings: int) -> None:
    """A handful of whole scores, some of which the terms explain to the last digit: a Cholesky factor failed there."""
    drawn = crossed(seed, documents=documents, systems=systems, ratings=ratings, raters=3, variance={"doc": 3.0})
    fitted = fit_variance_components_to_rows(make_model_observations(drawn.with_scores(np.round(drawn.score))))
    assert fitted.converged
    assert all(np.isfinite(value) for value in fitted.components.values())


def test_terms_that_say_the_same_share_what_they_explain() -> None:
    rows = make_model_observations(crossed(4, documents=8, ratings=1, variance={"doc": 2.0}))
    arranged = make_model_layout(rows, ("doc", "rater_doc"))  # one rater a document: both have the same levels
    reached = minimize_reml(MixedModelEquations(arranged, {"doc": 1.0, "rater_doc": 1.0}), rows.score, close=1e-8)
    alone = minimize_reml(MixedModelEquations(make_model_layout(rows, ("doc",)), {"doc": 1.0}), rows.score, close=1e-8)
    assert reached.converged
    assert sum(reached.equations.ratios.values()) == pytest.approx(alone.equations.ratios["doc"], rel=0.01)
