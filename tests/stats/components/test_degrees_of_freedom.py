"""Degrees of freedom of differences: lmerTest, textbook designs, and what tests with them claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.reports.components.lines import list_system_contrasts
from app.stats.components import degrees_of_freedom
from app.stats.components.bootstrap import compute_variance_component_interval
from app.stats.components.fit import VarianceComponentsFit, fit_variance_components
from app.stats.ratings import Ratings
from tests.stats.components import lme4
from tests.stats.components.worlds import crossed, needs_public_data, side_by_side
from tests.stats.inference.r_oracle import ask


def by_lmer(found: VarianceComponentsFit, folder: Path) -> list[float]:
    """Difference of the first two systems, its error and degrees of freedom, then the components, by lmerTest."""
    terms = [term for term in found.terms if term not in found.at_bound]
    script = f"""
    {lme4.FACTORS}
    m <- lmer({lme4.formula(terms)}, d,
      control = lmerControl(optCtrl = list(ftol_abs = 1e-12, xtol_abs = 1e-12), {lme4.LENIENT}))
    found <- contest1D(m, c(1, -1, rep(0, nlevels(d$system) - 2)))
    cat(format(c(found[["Estimate"]], found[["Std. Error"]], found[["df"]], {lme4.variances(terms)}), digits = 15),
      sep = "\\n")
    """
    return ask("lmerTest", script, lme4.columns(found.rows), folder)


def agrees(found: VarianceComponentsFit, folder: Path) -> None:
    difference, error, nu, *components = by_lmer(found, folder)
    assert found.contrast(0, 1) == (pytest.approx(difference, abs=1e-3), pytest.approx(error, rel=2e-3))
    assert degrees_of_freedom.compute_satterthwaite_degrees(found)[0, 1] == pytest.approx(nu, rel=0.01)
    ours = [found.components[term] for term in found.components if term not in found.at_bound]
    assert ours == pytest.approx(components, rel=0.02, abs=0.005)


# R takes seconds to load lmerTest. In every run degrees are those of balanced designs, below.
@pytest.mark.soak
@pytest.mark.parametrize("seed", [3, 11])
def test_lmertest_finds_the_same_degrees(seed: int, tmp_path: Path) -> None:
    variance = {"rater": 0.6, "doc": 0.3, "segment": 1.0, "doc_system": 0.3, "rater_system": 0.4, "rater_doc": 0.2}
    agrees(fit_variance_components(crossed(seed, documents=10, raters=5, variance=variance)), tmp_path)


class TestPublished:
    pytestmark = needs_public_data

    @pytest.mark.soak
    def test_lmertest_finds_the_same_on_the_public_side_by_side_mqm(self, tmp_path: Path) -> None:
        agrees(fit_variance_components(side_by_side()), tmp_path)


def balanced(documents: int, *, raters: int = 1, seed: int = 0, gap: float = 0.0, spread: float = 0.0) -> Ratings:
    """Two systems, three segments a document, all rated by every rater."""
    rng = np.random.default_rng(seed)
    apart = rng.normal(size=(documents, 2))
    own = spread * rng.normal(size=(raters, 2))
    rows = [
        (s, d, p, r, float(gap * s + apart[d, s] + own[r, s] + rng.normal()))
        for d in range(documents)
        for p in range(3)
        for s in range(2)
        for r in range(raters)
    ]
    return Ratings.from_columns(
        system=[f"s{r[0]}" for r in rows],
        document=[f"d{r[1]}" for r in rows],
        position=[r[2] + 1 for r in rows],
        rater=[f"r{r[3]}" for r in rows],
        score=[r[4] for r in rows],
        higher_is_better=True,
    )


def test_one_rater_and_balanced_documents_have_one_degree_less_than_there_are() -> None:
    """It was the normal distribution."""
    found = fit_variance_components(balanced(8))
    assert degrees_of_freedom.compute_satterthwaite_degrees(found)[0, 1] == pytest.approx(7, rel=0.02)


def claims(runs: int, *, documents: int, raters: int, spread: float, first: int) -> float:
    """Share of campaigns of two equal systems whose difference has p ≤ .05."""
    found = [
        list_system_contrasts(
            fit_variance_components(balanced(documents, raters=raters, seed=first + run, spread=spread)), 1
        )[0].p_value
        <= 0.05
        for run in range(runs)
    ]
    return float(np.mean(found))


def test_tests_of_the_model_claim_about_as_often_as_they_say() -> None:
    """One rater and eight documents: .091 by the normal distribution."""
    assert claims(20, documents=8, raters=1, spread=0.0, first=100) <= 0.2


@pytest.mark.soak
@pytest.mark.parametrize(("documents", "raters", "spread"), [(8, 1, 0.0), (8, 3, 0.0), (20, 3, 0.5), (20, 6, 0.5)])
def test_tests_of_the_model_hold_their_level(documents: int, raters: int, spread: float) -> None:
    assert claims(1_000, documents=documents, raters=raters, spread=spread, first=7_000) <= 0.071


def test_an_interval_of_draws_leaves_as_many_out_on_either_side() -> None:
    draws = [{"rater": float(n), "residual": 1.0} for n in range(101)]
    assert compute_variance_component_interval(draws, "rater") == pytest.approx((2.5, 97.5))
    assert compute_variance_component_interval(draws, "rater", level=0.8) == pytest.approx((10.0, 90.0))
    assert compute_variance_component_interval(draws, "residual") == (1.0, 1.0)
