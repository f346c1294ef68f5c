"""The REML criterion against the textbook formula with N × N matrices."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.components import layout as arranging
from app.stats.components.likelihood import MixedModelEquations, evaluate_reml
from app.stats.components.observations import ModelObservations
from app.stats.components.terms import TERMS, encode_term_levels, select_identifiable_terms
from app.stats.ratings import Floats
from tests.stats.components.worlds import laid

SOME = ("rater", "segment_system", "rater_system")


def plainly(rows: ModelObservations, ratios: dict[str, float]) -> tuple[float, Floats, Floats]:
    """Criterion, estimates and their variance from V itself: Patterson & Thompson 1971."""
    v = np.eye(len(rows))
    for term, ratio in ratios.items():
        level = encode_term_levels(rows, term)
        v += ratio * (level[:, None] == level[None])
    x = np.eye(len(rows.systems))[rows.system]
    inverse = np.linalg.inv(v)
    a = x.T @ inverse @ x
    means = np.linalg.solve(a, x.T @ inverse @ rows.score)
    rest = rows.score - x @ means
    free = len(rows) - x.shape[1]
    residual = rest @ inverse @ rest / free
    criterion = free * np.log(residual) + np.linalg.slogdet(v)[1] + np.linalg.slogdet(a)[1]
    return float(criterion), means, np.linalg.inv(a) * residual


@pytest.mark.parametrize("terms", [TERMS, SOME, ()])
@pytest.mark.parametrize(("seed", "missing"), [(1, 0.2), (2, 0.2), (3, 0.0)])
def test_elimination_gives_what_the_whole_matrix_gives(seed: int, missing: float, terms: tuple[str, ...]) -> None:
    """Without gaps documents of as many segments are alike, and share their matrices."""
    rows = laid(seed, missing=missing)
    ratios = dict(zip(terms, np.exp(np.random.default_rng(seed).normal(size=len(terms))), strict=True))
    found = evaluate_reml(arranging.make_model_layout(rows, terms), rows.score, ratios)
    criterion, means, variance = plainly(rows, ratios)
    n = len(rows.systems)
    assert found.criterion == pytest.approx(criterion, rel=1e-10)
    np.testing.assert_allclose(found.solution[:n], means, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.inverse[:n, :n] * found.residual, variance, rtol=1e-9)


@pytest.mark.parametrize("terms", [TERMS, SOME])
def test_the_gradient_is_that_of_the_criterion(terms: tuple[str, ...]) -> None:
    rows = laid(3)
    arranged = arranging.make_model_layout(rows, terms)
    logs = dict(zip(terms, np.random.default_rng(9).normal(size=len(terms)), strict=True))

    def at(moved: str, by: float) -> float:
        ratios = {term: float(np.exp(x + by * (term == moved))) for term, x in logs.items()}
        return evaluate_reml(arranged, rows.score, ratios).criterion

    gradient = evaluate_reml(arranged, rows.score, {term: float(np.exp(x)) for term, x in logs.items()}).gradient
    for term in terms:
        assert gradient[term] == pytest.approx((at(term, 1e-5) - at(term, -1e-5)) / 2e-5, rel=1e-5, abs=1e-6), term


def test_documents_are_added_to_the_columns_at_once_where_combinations_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, terms = laid(5), ("rater", "doc", "segment_system")
    ratios = {"rater": 0.4, "doc": 1.3, "segment_system": 0.2}
    by_combination = arranging.make_model_layout(rows, terms)
    monkeypatch.setattr(arranging, "MOST_CELLS", 0)
    at_once = arranging.make_model_layout(rows, terms)
    assert (by_combination.spread is None, at_once.spread is None) == (False, True)
    one, other = evaluate_reml(by_combination, rows.score, ratios), evaluate_reml(at_once, rows.score, ratios)
    assert one.criterion == pytest.approx(other.criterion, rel=1e-12)
    assert one.gradient == pytest.approx(other.gradient, rel=1e-9)
    np.testing.assert_allclose(one.rest, other.rest, atol=1e-12)


def test_documents_that_differ_in_names_and_scores_only_are_eliminated_once() -> None:
    """Where nothing is missing, documents differ in their numbers of segments only."""
    rows = laid(6, missing=0.0)
    lengths = [np.unique(rows.segment[rows.document == d]).size for d in range(len(rows.documents))]
    (batch,) = arranging.make_model_layout(rows, TERMS).shares[0].documents
    assert sorted(np.diff(batch.borders)) == sorted(np.unique(lengths, return_counts=True)[1])
    assert len(lengths) > len(batch.first)


@pytest.mark.parametrize("terms", [TERMS, SOME])
def test_the_information_is_the_mean_of_what_is_observed_and_what_is_expected(terms: tuple[str, ...]) -> None:
    """With P itself: y'PVᵢPVⱼPy/σ̂² is half the sum of both curvatures, at a residual variance that is held."""
    rows = laid(7)
    ratios = dict(zip(terms, np.exp(np.random.default_rng(7).normal(size=len(terms))), strict=True))
    shared = [encode_term_levels(rows, term)[:, None] == encode_term_levels(rows, term)[None] for term in terms]
    v = np.eye(len(rows)) + sum(ratio * z for ratio, z in zip(ratios.values(), shared, strict=True))
    x = np.eye(len(rows.systems))[rows.system]
    inverse = np.linalg.inv(v)
    p = inverse - inverse @ x @ np.linalg.solve(x.T @ inverse @ x, x.T @ inverse)
    rest, free = p @ rows.score, len(rows) - x.shape[1]
    residual = rows.score @ rest / free
    working = np.array([z @ rest for z in shared])
    quadratic = working @ rest / residual
    written = working @ p @ working.T / residual - np.outer(quadratic, quadratic) / free
    equations = MixedModelEquations(arranging.make_model_layout(rows, terms), ratios)
    found = equations.solve_and_evaluate(rows.score)
    np.testing.assert_allclose(found.rest, rest, atol=1e-10)
    np.testing.assert_allclose(equations.average_information(found, terms), written, rtol=1e-8, atol=1e-10)


def test_shares_of_documents_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large data are computed a share of documents at a time."""
    rows = laid(4)
    ratios = dict.fromkeys(TERMS, 0.7)
    whole = arranging.make_model_layout(rows, TERMS)
    monkeypatch.setattr(arranging, "MOST_ENTRIES", 40)
    cut = arranging.make_model_layout(rows, TERMS)
    assert (len(whole.shares), len(cut.shares)) == (1, 6)
    one, many = evaluate_reml(whole, rows.score, ratios), evaluate_reml(cut, rows.score, ratios)
    assert one.criterion == pytest.approx(many.criterion, rel=1e-12)
    assert one.gradient == pytest.approx(many.gradient, rel=1e-9)


def test_first_guesses_are_unbiased() -> None:
    """MINQUE(0) of many small worlds averages to what they were drawn with."""
    found = []
    for seed in range(60):
        rows = laid(seed + 100, missing=0.0)
        known = select_identifiable_terms(rows)
        found.append(dict(zip((*known.terms, "residual"), known.start, strict=True)))
    assert np.mean([one["residual"] for one in found]) == pytest.approx(1.0, abs=0.1)
