"""Steps of average information against a general optimizer of the same criterion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from app.stats.components import optimum as searching
from app.stats.components.layout import layout
from app.stats.components.likelihood import Equations, solve
from app.stats.components.observations import observations
from app.stats.components.optimum import HIGHEST, LOWEST, optimum
from app.stats.components.terms import identify
from app.stats.ratings import Floats
from tests.stats.components.worlds import crossed

STARTS = (LOWEST, 0.01, 1.0, 100.0)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("variance", [{}, {"rater": 2.0, "segment": 0.5}, {"rater": 90.0, "doc_system": 0.2}])
@pytest.mark.parametrize("ratings", [1, 2])
def test_it_ends_where_a_general_optimizer_ends(ratings: int, variance: dict[str, float], start: float) -> None:
    rows = observations(crossed(4, documents=8, ratings=ratings, missing=0.1, variance=variance))
    terms = identify(rows).terms
    arranged = layout(rows, terms)

    def criterion(at: Floats) -> tuple[float, Floats]:
        found = solve(arranged, rows.score, dict(zip(terms, np.exp(at), strict=True)))
        return found.criterion, np.array([found.gradient[term] for term in terms])

    bounds = [(np.log(LOWEST), np.log(HIGHEST))] * len(terms)
    options = {"ftol": 1e-13, "gtol": 1e-7, "maxiter": 1000}
    general = optimize.minimize(
        criterion, np.zeros(len(terms)), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    found = optimum(Equations(arranged, dict.fromkeys(terms, start)), rows.score, close=1e-8)
    assert found.converged
    assert found.solution.criterion <= general.fun + 1e-6


def test_terms_that_are_held_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = observations(crossed(4, documents=8, variance={"rater": 2.0, "segment": 0.5}))
    terms = identify(rows).terms
    start = Equations(layout(rows, terms), dict.fromkeys(terms, 1.0))
    assert optimum(start, rows.score, close=1e-8, held=frozenset({"rater"})).equations.ratios["rater"] == 1.0
    assert optimum(start, rows.score, close=1e-8, held=frozenset(terms)).equations is start
    monkeypatch.setattr(searching, "_MOST_STEPS", 1)
    assert not optimum(start, rows.score, close=1e-8).converged
