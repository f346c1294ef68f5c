"""The general mixed model: against the likelihood written with the whole covariance, and against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from app.stats.components import crossed as fitting
from app.stats.components.crossed import TooManyLevels, find_independent_columns, fit_crossed_model

Codes = dict[str, np.ndarray]


def crossed(seed: int, n: int = 160, sd: tuple[float, float] = (0.8, 0.5)) -> tuple[np.ndarray, np.ndarray, Codes]:
    rng = np.random.default_rng(seed)
    rater, document = rng.integers(0, 6, n), rng.integers(0, 14, n)
    x = np.column_stack((np.ones(n), rng.integers(0, 2, n), rng.normal(size=n)))
    y = x @ np.array([3.0, 0.4, -0.2]) + rng.normal(0, sd[0], 6)[rater] + rng.normal(0, sd[1], 14)[document]
    return y + rng.normal(size=n), x, {"rater": rater, "document": document}


def slow_criterion(
    y: np.ndarray, x: np.ndarray, levels: Codes, ratios: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """−2 REML log likelihood with σ²_e profiled out, from V itself, the effects, and their standard errors."""
    whole = np.eye(y.size)
    for ratio, codes in zip(ratios, levels.values(), strict=True):
        whole += ratio * (codes[:, None] == codes[None, :])
    inverse = np.linalg.inv(whole)
    gram = x.T @ inverse @ x
    effects = np.linalg.solve(gram, x.T @ inverse @ y)
    left = y - x @ effects
    free = y.size - x.shape[1]
    residual = left @ inverse @ left / free
    criterion = free * np.log(residual) + np.linalg.slogdet(whole)[1] + np.linalg.slogdet(gram)[1]
    return criterion, effects, np.sqrt(np.diag(np.linalg.inv(gram)) * residual)


@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_the_optimum_of_the_likelihood_written_out(seed: int) -> None:
    y, x, levels = crossed(seed)
    found = fit_crossed_model(y, x, levels)
    residual = found.components["residual"]
    ratios = np.array([found.components[term] / residual for term in levels])
    criterion, effects, errors = slow_criterion(y, x, levels, ratios)
    assert found.criterion == pytest.approx(criterion, abs=1e-6)
    assert found.effects == pytest.approx(effects, abs=1e-8)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(errors, abs=1e-8)
    best = optimize.minimize(
        lambda at: slow_criterion(y, x, levels, np.exp(at))[0], np.log(ratios + 1e-4), method="Nelder-Mead"
    )
    assert found.criterion <= best.fun + 1e-5
    assert found.converged


def test_statsmodels_fits_the_same() -> None:
    import pandas as pd
    import statsmodels.api as sm

    y, x, levels = crossed(7)
    frame = pd.DataFrame({"y": y, "arm": x[:, 1], "words": x[:, 2], **levels})
    parts = {"rater": "0 + C(rater)", "document": "0 + C(document)"}
    theirs = sm.MixedLM.from_formula("y ~ arm + words", groups=np.ones(y.size), vc_formula=parts, data=frame).fit()
    ours = fit_crossed_model(y, x, levels)
    assert ours.effects == pytest.approx(theirs.fe_params.to_numpy(), abs=2e-4)
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(theirs.bse_fe.to_numpy(), rel=5e-3)
    named = dict(zip(theirs.model.exog_vc.names, theirs.vcomp, strict=True))
    for term in levels:
        assert ours.components[term] == pytest.approx(named[term], rel=5e-3)
    assert ours.components["residual"] == pytest.approx(theirs.scale, rel=1e-3)


def test_a_term_without_variance_falls_to_zero_and_one_without_terms_is_least_squares() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    rater = np.repeat(np.arange(5), 20)
    y = rng.normal(size=100)
    y -= (np.bincount(rater, weights=y) / 20)[rater]  # raters differ less than chance would have it
    x = np.column_stack((np.ones(100), np.tile([0.0, 1.0], 50)))
    found = fit_crossed_model(y, x, {"rater": rater})
    assert found.components["rater"] == 0.0
    plain = fit_crossed_model(y, x, {})
    theirs = sm.OLS(y, x).fit()
    assert plain.effects == pytest.approx(theirs.params)
    assert np.sqrt(np.diag(plain.covariance)) == pytest.approx(theirs.bse)
    assert found.effects == pytest.approx(plain.effects, abs=1e-3)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_many_rows_settle_in_few_steps_though_rounding_hides_the_last_digits(
    shift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, solve = [], fitting._Equations.solve
    monkeypatch.setattr(fitting._Equations, "solve", lambda self, at: taken.append(at) or solve(self, at))
    rng = np.random.default_rng(1)
    n, sizes = 20_000, {"rater": 60, "document": 333, "rater_condition": 120}
    rater, condition, document = rng.integers(0, 60, n), rng.integers(0, 2, n), rng.integers(0, 333, n)
    levels = {"rater": rater, "document": document, "rater_condition": 2 * rater + condition}
    planted = {"rater": 0.4, "document": 0.1, "rater_condition": 0.1}
    y = shift + 0.2 * condition + rng.normal(0, 0.6, n)
    y += sum(rng.normal(0, sd, sizes[term])[levels[term]] for term, sd in planted.items())
    x = np.column_stack((np.ones(n), condition))
    found = fit_crossed_model(y, x, levels)
    assert found.converged
    assert len(taken) <= 30
    assert {term: np.sqrt(found.components[term]) for term in planted} == pytest.approx(planted, rel=0.35)
    residual = found.components["residual"]
    at = {term: np.log(found.components[term] / residual) for term in levels}
    equations = fitting._Equations(y - shift, x, levels)
    ratios = np.array([at[term] for term in equations.terms])
    assert np.abs(solve(equations, ratios).gradient).max() < 0.02
    for off in (-0.05, 0.05):
        assert solve(equations, ratios + off).criterion > solve(equations, ratios).criterion


def test_columns_that_others_give_are_left_out() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 3))
    columns = np.column_stack((x, x[:, 0] - 2 * x[:, 2], np.zeros(30), np.ones(30)))
    assert find_independent_columns(columns).tolist() == [0, 1, 2, 5]


def test_too_many_levels_are_refused_in_words() -> None:
    many = np.arange(4000) // 2
    with pytest.raises(TooManyLevels, match="4,000 levels of rater, document"):
        fit_crossed_model(np.ones(4000), np.ones((4000, 1)), {"rater": many, "document": many[::-1]})


@pytest.mark.parametrize(("slope", "converged"), [(9e-6, True), (1.1e-5, False)])
def test_a_search_that_gives_up_has_converged_where_the_slope_is_at_most_ten_times_the_wanted(
    monkeypatch: pytest.MonkeyPatch, slope: float, converged: bool
) -> None:
    def gives_up(_criterion: object, start: np.ndarray, **_options: object) -> optimize.OptimizeResult:
        return optimize.OptimizeResult(x=np.zeros_like(start), jac=np.array([slope, 0.0]), success=False)

    y, x, levels = crossed(1, n=60)  # up to 100 rows a slope of 1e-6 is wanted
    monkeypatch.setattr(fitting.scipy.optimize, "minimize", gives_up)
    assert fit_crossed_model(y, x, levels).converged is converged
