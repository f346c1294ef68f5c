"""Simulated studies on a campaign's own design: what they keep, what they exchange, and what rates say of recipes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.recipe import NAMED
from app.stats.ratings import Ratings
from app.stats.validation.rates import Rate, Validation, rates
from app.stats.validation.studies import Population

RECOMMENDED = replace(NAMED["recommended"], permutations=400)


def world(seed: int, *, documents: int = 12, systems: int = 4, raters: int = 3, spread: float = 0.6) -> Ratings:
    """Systems a little apart; document × system and rater effects; each document by one rater, of uneven length."""
    rng = np.random.default_rng(seed)
    rows = []
    for d in range(documents):
        level, rater = rng.normal(), f"r{d % raters}"
        shift = spread * rng.normal(size=systems)
        for p in range(1, int(rng.integers(3, 8))):
            for s in range(systems):
                score = 50 + 5 * (level + 0.2 * s + shift[s] + rng.normal()) + 3 * (d % raters)
                rows.append((f"S{s}", f"d{d:03}", p, rater, score))
    return Ratings.from_columns(
        system=[r[0] for r in rows],
        document=[r[1] for r in rows],
        position=[r[2] for r in rows],
        rater=[r[3] for r in rows],
        score=[r[4] for r in rows],
        higher_is_better=True,
    )


def documents_of(rows: Ratings, *, named: bool) -> Counter[tuple[object, ...]]:
    """The content of each document: its scores by rater and segment; with or without the systems' names."""
    held: dict[int, list[tuple[object, ...]]] = {}
    for i in range(len(rows)):
        position = int(rows.labels.segment_position[rows.segment[i]])
        who = int(rows.system[i]) if named else -1
        held.setdefault(int(rows.document[i]), []).append((who, position, int(rows.rater[i]), float(rows.score[i])))
    return Counter(tuple(sorted(one)) for one in held.values())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_a_study_has_documents_of_the_campaign_with_all_their_ratings(seed: int) -> None:
    rows = world(1)
    population = Population.of(rows)
    study, _ = population.study(np.random.default_rng(seed), null=False)
    assert population.units == len(np.unique(study.document)) == 12
    assert set(documents_of(study, named=True)) <= set(documents_of(rows, named=True))
    assert study.is_canonical


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_without_differences_whole_documents_change_hands_and_nothing_else(seed: int) -> None:
    rows = world(2)
    study, _ = Population.of(rows).study(np.random.default_rng(seed), null=True)
    assert set(documents_of(study, named=False)) <= set(documents_of(rows, named=False))
    scores = {tuple(sorted(rows.score[(rows.document == d) & (rows.system == s)])) for d in range(12) for s in range(4)}
    for d in np.unique(study.document):
        for s in range(4):
            assert tuple(sorted(study.score[(study.document == d) & (study.system == s)])) in scores


def test_every_exchange_of_systems_is_equally_likely() -> None:
    rows = Ratings.from_columns(
        system=["A", "B", "C"],
        document=["d"] * 3,
        position=[1] * 3,
        rater=["r"] * 3,
        score=[0.0, 1.0, 2.0],
        higher_is_better=True,
    )
    population, rng = Population.of(rows), np.random.default_rng(3)
    seen = Counter(tuple(population.study(rng, null=True)[0].score) for _ in range(1200))
    assert len(seen) == 6
    assert all(abs(n - 200) < 4 * np.sqrt(200) for n in seen.values())


def test_documents_of_one_system_each_change_hands_as_a_whole() -> None:
    rows = world(4, documents=24)
    alone = rows.where(rows.document % 4 == rows.system)
    population = Population.of(alone)
    assert (population.together, Population.of(rows).together) == (False, True)
    study, _ = population.study(np.random.default_rng(2), null=True)
    same, _ = population.study(np.random.default_rng(2), null=False)
    assert all(len(set(study.system[study.document == d])) == 1 for d in np.unique(study.document))
    of_system = [Counter({int(r.system[r.document == d][0]) for d in np.unique(r.document)}) for r in (study, same)]
    assert set(of_system[0]) == set(of_system[1])
    assert documents_of(study, named=True) != documents_of(same, named=True)
    honest = validated(alone, 120, normalize="none")
    assert honest["null", "p_below_0.5"].rate == pytest.approx(0.5, abs=0.15)


def test_segments_stand_for_documents_where_these_are_unknown() -> None:
    rows = replace(world(4), documents_known=False)
    study, known = Population.of(rows).study(np.random.default_rng(1), null=False)
    assert known is None
    assert Population.of(rows).units == len(np.unique(rows.segment)) == len(np.unique(study.segment))
    assert not study.documents_known


def validated(rows: Ratings, studies: int, **changes: object) -> dict[tuple[str, str], Rate]:
    recipe = replace(RECOMMENDED, **changes)
    validation = Validation.of(Population.of(rows), recipe, 7)
    found = {w: [validation.study(w, n) for n in range(studies)] for w in ("null", "resampled")}
    return {(rate.world, rate.what): rate for rate in rates(validation, found)}


def test_a_document_test_keeps_its_promise_and_a_segment_test_does_not() -> None:
    """With document × system effects segments of a document are no independent evidence: the negative control."""
    rows = world(5, documents=20, spread=1.5)
    honest = validated(rows, 150, normalize="none")
    careless = validated(rows, 150, normalize="none", test="paired_t", unit="segment", adjust="none")
    assert honest["null", "p_below_0.05"].kept
    assert honest["null", "any_claim"].kept
    assert honest["null", "difference_interval"].rate == pytest.approx(0.95, abs=0.06)
    assert careless["null", "p_below_0.05"].kept is False
    assert careless["null", "p_below_0.05"].rate > 0.15
    assert careless["null", "any_claim"].expected is None


def test_studies_depend_on_their_seed_and_number_alone() -> None:
    validation = Validation.of(Population.of(world(6)), RECOMMENDED, 7)
    first = [validation.study("resampled", n) for n in range(8)]
    assert first[3] == validation.study("resampled", 3)
    assert len({str(one) for one in first}) > 1
    assert first != [replace(validation, seed=8).study("resampled", n) for n in range(8)]


def test_a_promise_is_broken_beyond_three_errors_only() -> None:
    def kept(bound: str, rate: float | None) -> bool | None:
        return Rate("null", "any_claim", 0.05, bound, rate, None if rate is None else 0.01, 100).kept

    assert [kept("at most", x) for x in (0.0, 0.079, 0.081)] == [True, True, False]
    assert [kept("at least", x) for x in (0.2, 0.021, 0.019)] == [True, True, False]
    assert kept("at most", None) is None


def test_too_few_documents_leave_rates_open() -> None:
    found = validated(world(8, documents=4), 5)
    assert found["null", "pairs_claimed"].rate is None
    assert found["null", "pairs_claimed"].kept is None
    assert found["null", "difference_interval"].rate is not None
