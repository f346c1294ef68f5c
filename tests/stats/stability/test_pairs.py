"""How often each pair of systems is claimed: against a plain count, and no more of it than a report can hold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from app.stats.stability.chunks import StabilitySimulator
from app.stats.stability.curves import StabilityCurve, compute_stability_curves
from app.stats.stability.multiply_rated_documents import extract_multiply_rated_documents
from app.stats.stability.pairs import MOST_REPORTED, ReportedPairs, choose_max_reported_rank_distance
from app.stats.stability.request import RaterAssignmentScheme, StabilityRequest, StudyDesign, make_riley_2024_designs
from tests.stats.stability.worlds import made_up

SYSTEMS = 5
DESIGNS = tuple(
    StudyDesign(RaterAssignmentScheme(grouping), how) for grouping in ("psxs", "none") for how in ("none", "z")
)


def simulator() -> StabilitySimulator:
    data = extract_multiply_rated_documents(made_up(5, documents=12, systems=SYSTEMS, spread=0.3))
    asked = StabilityRequest(DESIGNS, documents=(8, 12), studies=40, per_set=10, permutations=100, seed=4)
    return StabilitySimulator(data, asked.resolve(len(data.documents), SYSTEMS))


def counted(made: StabilitySimulator, curve: StabilityCurve, documents: int) -> dict[tuple[str, str], float]:
    """By name, better first: the share of studies that claim it, a study and a pair at a time."""
    names, found = made.data.systems, dict[tuple[str, str], float]()
    for chunk in made.chunks:
        if (chunk.assignment, chunk.documents) == (curve.design.assignment, documents):
            for study in made.run_chunk(chunk.index).claims[chunk.methods.index(curve.design.normalize)]:
                for (one, other), claim in zip(combinations(names, 2), study.tolist(), strict=True):
                    if claim:
                        pair = (one, other) if claim > 0 else (other, one)
                        found[pair] = found.get(pair, 0) + 1 / made.request.studies
    return found


def test_shares_of_studies_are_those_of_a_plain_count_and_sum_to_the_pairs_of_a_study() -> None:
    made = simulator()
    names, wrong = made.data.systems, 0.0
    for curve in compute_stability_curves(made):
        named = [(names[better], names[worse]) for better, worse in curve.pairs]
        assert {frozenset(pair) for pair in named} == {frozenset(pair) for pair in combinations(names, 2)}
        for point in curve.points:
            plain = counted(made, curve, point.documents)
            assert point.claimed == pytest.approx([plain.get(pair, 0) for pair in named], abs=1e-6)
            assert point.contradicted == pytest.approx([plain.get(pair[::-1], 0) for pair in named], abs=1e-6)
            total = sum(point.claimed) + sum(point.contradicted)
            assert total == pytest.approx(point.mean_significant_pairs, abs=1e-4)
            assert point.sign_error_rate is not None
            assert sum(point.contradicted) == pytest.approx(point.sign_error_rate * total, abs=1e-4)
            wrong += sum(point.contradicted)
    assert wrong > 0


def test_pairs_stand_in_the_order_of_the_ranking_by_all_ratings() -> None:
    made = simulator()
    for curve in compute_stability_curves(made):
        order = made.claims_of_full_data()[curve.design.normalize].order
        first, second = np.triu_indices(SYSTEMS, k=1)
        better = {(int(i), int(j)) if o > 0 else (int(j), int(i)) for i, j, o in zip(first, second, order, strict=True)}
        assert set(curve.pairs) == better
        ranked = list(dict.fromkeys(one for one, _ in curve.pairs))
        place = {system: n for n, system in enumerate([*ranked, *({*range(SYSTEMS)} - {*ranked})])}
        assert sorted(curve.pairs, key=lambda pair: (place[pair[0]], place[pair[1]])) == list(curve.pairs)


def test_a_pair_that_is_equal_by_all_ratings_is_named_in_the_order_of_the_systems() -> None:
    order = np.array([0, -1, -1], dtype=np.int8)  # the third of three is better than two that are equal
    told = ReportedPairs.select_within_rank_distance(order, 3, 2)
    assert told.pairs == ((2, 0), (2, 1), (0, 1))
    claims = np.array([[1, -1, 0], [-1, -1, 1], [1, 0, 0], [0, 0, 0]], dtype=np.int8)
    assert told.claim_shares(claims) == ((0.5, 0.0, 0.5), (0.0, 0.25, 0.25))


def test_neighbours_alone_are_told_where_a_report_would_be_too_long() -> None:
    figures = StabilityRequest(make_riley_2024_designs()).resolve(181, 15)
    assert choose_max_reported_rank_distance(figures, 15) == 14
    for systems in (2, 15, 40, 200, 1400):
        reach = choose_max_reported_rank_distance(figures, systems)
        order = np.ones(systems * (systems - 1) // 2, dtype=np.int8)
        told = ReportedPairs.select_within_rank_distance(order, systems, reach).pairs
        assert len(told) * len(figures.designs) * len(figures.document_counts) <= MOST_REPORTED
        assert set(told) == {(i, j) for i in range(systems) for j in range(i + 1, min(systems, i + reach + 1))}
    assert [choose_max_reported_rank_distance(figures, systems) for systems in (40, 150, 200)] == [4, 1, 0]


def test_no_more_than_what_is_told_reaches_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.stats.stability.pairs.MOST_REPORTED", 2 * len(DESIGNS) * (SYSTEMS - 1))
    for curve in compute_stability_curves(simulator()):
        assert len(curve.pairs) == SYSTEMS - 1
        assert [b for _, b in curve.pairs[:-1]] == [a for a, _ in curve.pairs[1:]]
        assert {(len(p.claimed), len(p.contradicted)) for p in curve.points} == {(SYSTEMS - 1, SYSTEMS - 1)}
