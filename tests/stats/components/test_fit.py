"""Fitted components, adjusted means and tendencies: against published figures, statsmodels, and the textbook."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from app.stats.components.fit import ModelNotEstimable, VarianceComponentsFit, fit_variance_components
from app.stats.components.likelihood import MixedModelEquations
from app.stats.components.observations import make_model_observations
from app.stats.components.optimum import minimize_reml
from app.stats.components.terms import encode_term_levels
from app.stats.ratings import Ratings
from tests.stats.components.worlds import crossed, needs_public_data, side_by_side

PUBLISHED = {
    "doc": 0.001,
    "segment": 14.673,
    "doc_system": 0.112,
    "segment_system": 9.811,
    "rater": 7.854,
    "rater_system": 0.153,
    "rater_doc": 0.370,
    "rater_segment": 7.365,
    "rater_doc_system": 1.511,
    "residual": 10.340,
}
"""WMT23 en-de, by independent code; to 2 % or .02."""


class TestPublished:
    pytestmark = needs_public_data

    def test_components_of_the_public_side_by_side_mqm_are_met(self) -> None:
        found = fit_variance_components(side_by_side())
        assert len(found.rows) == 3120
        assert found.converged
        assert found.components == pytest.approx(PUBLISHED, rel=0.02, abs=0.02)
        assert found.means.var(ddof=1) == pytest.approx(6.329, rel=0.02)
        assert found.typical_contrast_error() == pytest.approx(0.573, rel=0.02)
        assert found.at_bound == ("doc",), "components at the lower bound are 0"


def test_statsmodels_finds_the_same_on_a_small_crossed_set() -> None:
    from statsmodels.regression.mixed_linear_model import MixedLM

    ratings = crossed(
        5, documents=12, raters=5, ratings=5, segments=1, variance={"doc": 1.5, "rater": 4.0, "rater_system": 0.6}
    )
    ours = fit_variance_components(ratings)
    kept = {
        "doc": ours.rows.document,
        "rater": ours.rows.rater,
        "rater_system": encode_term_levels(ours.rows, "rater_system"),
    }
    reduced = _only(ratings, tuple(kept))
    n = len(ours.rows)
    x = np.eye(3)[ours.rows.system]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        designs = {name: {0: np.eye(int(code.max()) + 1)[code]} for name, code in kept.items()}
        theirs = _mixed(MixedLM, ours.rows.score, x, n, designs)
    components = dict(zip(sorted(kept), theirs.vcomp, strict=True))
    assert {term: reduced.components[term] for term in kept} == pytest.approx(components, rel=2e-3, abs=1e-3)
    assert reduced.components["residual"] == pytest.approx(theirs.scale, rel=2e-3)
    np.testing.assert_allclose(reduced.means - ours.rows.centre, theirs.fe_params, atol=2e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(reduced.covariance)), theirs.bse_fe, rtol=5e-3)


def _mixed(model, score, x, n, designs):
    from statsmodels.regression.mixed_linear_model import VCSpec

    names = sorted(designs)
    spec = VCSpec(
        names, [[[f"{i}" for i in range(designs[k][0].shape[1])]] for k in names], [[designs[k][0]] for k in names]
    )
    return model(score, x, groups=np.zeros(n), exog_vc=spec).fit(reml=True, method="lbfgs")


def _only(ratings: Ratings, terms: tuple[str, ...]) -> VarianceComponentsFit:
    """The model with these terms only, by the same criterion."""
    from app.stats.components import fit as module

    rows = make_model_observations(ratings)
    arranged = module.make_model_layout(rows, terms)
    reached = minimize_reml(MixedModelEquations(arranged, dict.fromkeys(terms, 1.0)), rows.score, close=1e-8)
    return module._fit_from_optimum(rows, arranged, reached, ())


def test_tendencies_of_raters_are_best_predictions() -> None:
    """û = Γ Zᵀ V⁻¹ (y − Xβ̂), Henderson 1984."""
    found = fit_variance_components(
        crossed(8, documents=20, missing=0.1, variance={"rater": 2.0, "rater_system": 0.8, "segment": 0.5})
    )
    rows = found.rows
    v = np.eye(len(rows)) * found.components["residual"]
    for term in found.terms:
        level = encode_term_levels(rows, term)
        v += max(found.components[term], 1e-4 * found.components["residual"]) * (level[:, None] == level[None])
    rest = np.linalg.solve(v, rows.score + rows.centre - found.means[rows.system])
    severity = found.components["rater"] * np.bincount(rows.rater, weights=rest)
    assert found.raters is not None
    np.testing.assert_allclose(found.raters.predicted, severity, atol=2e-3)
    assert found.rater_system is not None
    pair = encode_term_levels(rows, "rater_system")  # numbered by rater first
    own = found.components["rater_system"] * np.bincount(pair, weights=rest)
    order = np.lexsort((found.pairs[:, 0], found.pairs[:, 1]))
    np.testing.assert_allclose(found.rater_system.predicted[order], own, atol=2e-3)


def test_names_and_order_of_rows_are_irrelevant() -> None:
    ratings = crossed(2, documents=10, variance={"rater": 1.0, "segment": 1.0})
    names = {name: f"x{9 - int(name[1:])}" for name in ratings.labels.systems}
    other = Ratings.from_columns(
        system=[names[ratings.labels.systems[i]] for i in ratings.system][::-1],
        document=[ratings.labels.documents[i] for i in ratings.document][::-1],
        position=ratings.labels.segment_position[ratings.segment][::-1],
        rater=[ratings.labels.raters[i] for i in ratings.rater][::-1],
        score=ratings.score[::-1],
        higher_is_better=True,
    )
    one, two = fit_variance_components(ratings), fit_variance_components(other)
    assert one.components == pytest.approx(two.components, rel=1e-3, abs=1e-3)
    np.testing.assert_allclose(one.means, two.means[::-1], atol=1e-4)


def test_a_system_nobody_rated_changes_nothing_and_the_unit_scales() -> None:
    ratings = crossed(2, documents=10, variance={"rater": 1.0, "segment": 1.0})
    labels = replace(ratings.labels, systems=(*ratings.labels.systems, "unrated"))
    one = fit_variance_components(ratings)
    assert fit_variance_components(replace(ratings, labels=labels)).components == one.components
    tenfold = fit_variance_components(ratings.with_scores(10 * ratings.score + 3))
    assert tenfold.components == pytest.approx({k: 100 * v for k, v in one.components.items()}, rel=1e-3, abs=0.05)
    np.testing.assert_allclose(tenfold.means, 10 * one.means + 3, rtol=1e-3)


def test_repeats_count_as_their_mean() -> None:
    ratings = crossed(6, documents=8)
    twice = Ratings.from_columns(
        system=[ratings.labels.systems[i] for i in ratings.system] * 2,
        document=[ratings.labels.documents[i] for i in ratings.document] * 2,
        position=list(ratings.labels.segment_position[ratings.segment]) * 2,
        rater=[ratings.labels.raters[i] for i in ratings.rater] * 2,
        score=[*(ratings.score - 1), *(ratings.score + 1)],
        nth=[1] * len(ratings) + [2] * len(ratings),
        higher_is_better=True,
    )
    found = fit_variance_components(twice)
    assert found.rows.repeats == len(ratings)
    assert found.components == pytest.approx(fit_variance_components(ratings).components, rel=1e-4, abs=1e-6)


def test_raters_who_got_other_documents_are_adjusted_for() -> None:
    """A severe rater judges one system mostly: raw means mislead, adjusted ones do not. Knowles 2021."""
    rng = np.random.default_rng(1)
    rows = []
    for d in range(300):
        for s in range(2):
            r = s if rng.random() < 0.85 else 1 - s
            rows.append((f"s{s}", f"d{d:03}", 1, f"r{r}", 5.0 * r + rng.normal()))
    s_, d_, g_, r_, y = zip(*rows, strict=True)
    ratings = Ratings.from_columns(system=s_, document=d_, position=g_, rater=r_, score=y, higher_is_better=True)
    raw = [np.mean([x[4] for x in rows if x[0] == name]) for name in ("s0", "s1")]
    difference, error = fit_variance_components(ratings).contrast(1, 0)
    assert raw[1] - raw[0] > 3
    assert abs(difference) < 3 * error < 1


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        (crossed(1).where(np.zeros(len(crossed(1)), dtype=bool)), "no ratings"),
        (crossed(1).with_scores(np.full(len(crossed(1)), 3.0)), "each system has constant ratings"),
        (crossed(1, documents=1, segments=1, ratings=1), "no more ratings than systems"),
    ],
)
def test_what_cannot_be_modelled_says_why(ratings: Ratings, why: str) -> None:
    with pytest.raises(ModelNotEstimable, match=why):
        fit_variance_components(ratings)


def test_what_one_document_would_fill_memory_with_is_refused() -> None:
    n = 1600
    many = Ratings.from_columns(
        system=["a", "b"] * (n // 2),
        document=["d"] * n,
        position=[1 + i // 2 % 3 for i in range(n)],
        rater=[f"r{i // 2}" for i in range(n)],
        score=np.arange(n, dtype=float) % 7,
        higher_is_better=True,
    )
    with pytest.raises(ModelNotEstimable, match="1,600 combinations"):
        fit_variance_components(many)


@pytest.mark.parametrize("how", [{"raters": 1, "ratings": 1}, {"systems": 1}, {"documents": 1, "segments": 9}])
def test_one_of_a_kind_is_modelled_with_what_is_left(how: dict[str, int]) -> None:
    found = fit_variance_components(crossed(3, **how))
    assert np.isfinite([*found.components.values(), *found.means, found.typical_contrast_error()]).all()
    assert found.left_out
