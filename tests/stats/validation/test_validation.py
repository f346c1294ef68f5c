"""Simulated studies on a campaign's own design: what they keep, what they exchange, and what rates say of recipes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from app.domain.recipe import NAMED
from app.stats.ratings import Ratings
from app.stats.validation.recipe_validator import (
    Bound,
    NominalRateCheck,
    RecipeValidator,
    check_nominal_rates,
    is_nominal_rate_kept,
)
from app.stats.validation.redrawn_scores import CampaignWithRedrawnScores
from app.stats.validation.studies import StudyPopulation

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
    population = StudyPopulation.from_ratings(rows)
    study, _ = population.draw_study(np.random.default_rng(seed), null=False)
    assert population.n_units == len(np.unique(study.document)) == 12
    assert set(documents_of(study, named=True)) <= set(documents_of(rows, named=True))
    assert study.is_in_canonical_order


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_without_differences_whole_documents_change_hands_and_nothing_else(seed: int) -> None:
    rows = world(2)
    study, _ = StudyPopulation.from_ratings(rows).draw_study(np.random.default_rng(seed), null=True)
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
    population, rng = StudyPopulation.from_ratings(rows), np.random.default_rng(3)
    seen = Counter(tuple(population.draw_study(rng, null=True)[0].score) for _ in range(1200))
    assert len(seen) == 6
    assert all(abs(n - 200) < 4 * np.sqrt(200) for n in seen.values())


def test_documents_of_one_system_each_change_hands_as_a_whole() -> None:
    rows = world(4, documents=24)
    alone = rows.where(rows.document % 4 == rows.system)
    population = StudyPopulation.from_ratings(alone)
    assert (population.has_paired_units, StudyPopulation.from_ratings(rows).has_paired_units) == (False, True)
    study, _ = population.draw_study(np.random.default_rng(2), null=True)
    same, _ = population.draw_study(np.random.default_rng(2), null=False)
    assert all(len(set(study.system[study.document == d])) == 1 for d in np.unique(study.document))
    of_system = [Counter({int(r.system[r.document == d][0]) for d in np.unique(r.document)}) for r in (study, same)]
    assert set(of_system[0]) == set(of_system[1])
    assert documents_of(study, named=True) != documents_of(same, named=True)
    honest = validated(alone, 120, worlds=("null",), normalize="none")
    assert honest["null", "p_below_0.5"].rate == pytest.approx(0.5, abs=0.15)


SHAPES = {
    "documents": world(3, documents=24),
    "segments": replace(world(3, documents=24), documents_known=False),
    "one system a document": (lambda rows: rows.where(rows.document % 4 == rows.system))(world(4, documents=24)),
    "one or two systems a document": (
        lambda rows: rows.where(
            (rows.document % 4 == rows.system) | (rows.document % 5 == 0) & ((rows.document + 1) % 4 == rows.system)
        )
    )(world(5, documents=40)),
}


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_rows_of_a_study_are_ordered_as_by_all_their_columns(shape: str, null: bool) -> None:
    rows = SHAPES[shape]
    shuffled = rows.take(np.random.default_rng(1).permutation(len(rows)))
    for ratings in (rows, shuffled):
        population = StudyPopulation.from_ratings(ratings)
        for seed in range(5):
            study, _ = population.draw_study(np.random.default_rng(seed), null=null)
            assert np.array_equal(study.canonical_order_indices(), np.arange(len(study)))


def test_segments_stand_for_documents_where_these_are_unknown() -> None:
    rows = replace(world(4), documents_known=False)
    study, known = StudyPopulation.from_ratings(rows).draw_study(np.random.default_rng(1), null=False)
    assert known is None
    assert StudyPopulation.from_ratings(rows).n_units == len(np.unique(rows.segment)) == len(np.unique(study.segment))
    assert not study.documents_known


def validated(
    rows: Ratings, studies: int, *, worlds: tuple[str, ...] = ("null", "resampled"), **changes: object
) -> dict[tuple[str, str], NominalRateCheck]:
    """Rates of studies of these worlds."""
    recipe = replace(RECOMMENDED, **changes)
    validation = RecipeValidator.from_ratings(StudyPopulation.from_ratings(rows), recipe, 7)
    found = {"null": [], "resampled": []}
    found |= {w: [validation.simulate_study_findings(w, n) for n in range(studies)] for w in worlds}
    return {(rate.world, rate.what): rate for rate in check_nominal_rates(validation, found)}


@pytest.mark.parametrize("studies", [80, pytest.param(150, marks=pytest.mark.soak)])
def test_a_document_test_keeps_its_promise_and_a_segment_test_does_not(studies: int) -> None:
    """With document × system effects segments of a document are no independent evidence: the negative control."""
    rows = world(5, documents=20, spread=1.5)
    honest = validated(rows, studies, worlds=("null",), normalize="none")
    careless = validated(
        rows, studies, worlds=("null",), normalize="none", test="paired_t", unit="segment", adjust="none"
    )
    assert honest["null", "p_below_0.05"].kept
    assert honest["null", "any_claim"].kept
    assert honest["null", "difference_interval"].rate == pytest.approx(0.95, abs=0.06)
    assert careless["null", "p_below_0.05"].kept is False
    assert careless["null", "p_below_0.05"].rate > 0.15
    assert careless["null", "any_claim"].expected is None


def test_studies_depend_on_their_seed_and_number_alone() -> None:
    validation = RecipeValidator.from_ratings(StudyPopulation.from_ratings(world(6)), RECOMMENDED, 7)
    first = [validation.simulate_study_findings("resampled", n) for n in range(8)]
    assert first[3] == validation.simulate_study_findings("resampled", 3)
    assert len({str(one) for one in first}) > 1
    assert first != [replace(validation, seed=8).simulate_study_findings("resampled", n) for n in range(8)]


def test_a_promise_is_broken_where_a_one_sided_bound_says_so() -> None:
    """Of 100 studies 12 are too many for 5 % (P = .0043 of as many), 11 are not (P = .0115)."""

    def kept(bound: Bound, rate: float | None, *, exact: bool = False) -> bool | None:
        return is_nominal_rate_kept(0.05, bound, rate, 100, exact=exact)

    assert [kept("at most", x) for x in (0.0, 0.11, 0.12)] == [True, True, False]
    assert [kept("at most", x, exact=True) for x in (0.0, 0.11, 0.12)] == [True, True, True]
    assert [kept("at least", x) for x in (0.2, 0.01, 0.0)] == [True, True, False]
    assert kept("at most", None) is None


def test_a_null_of_the_tests_own_symmetry_is_kept_by_construction_and_no_other_is() -> None:
    """Sign flips by document are exact where systems change places in documents; nothing else is."""
    by = {
        name: validated(world(5), 3, **changes)["null", "pairs_claimed"].exact
        for name, changes in {
            "flips": {},
            "segments": {"unit": "segment", "test": "paired_t", "adjust": "none"},
            "bootstrap": {"test": "bootstrap"},
        }.items()
    }
    assert by == {"flips": True, "segments": False, "bootstrap": False}
    found = validated(world(5), 3)
    assert {what for (w, what), rate in found.items() if w == "null" and not rate.exact} == {
        "difference_interval",
        "rank_sets",
    }
    assert not any(rate.exact for (w, _), rate in found.items() if w == "resampled")


@pytest.mark.parametrize("studies", [80, pytest.param(150, marks=pytest.mark.soak)])
def test_worlds_beyond_symmetry_on_the_campaigns_own_design(studies: int) -> None:
    """Rater × system makes claims of its own design wrong that changing places calls kept."""
    rows = world(9, documents=40, systems=2, raters=2)
    validation = RecipeValidator.from_ratings(
        StudyPopulation.from_ratings(rows), replace(RECOMMENDED, normalize="none"), 7
    )
    assert validation.own.applicable_simulated_worlds() == (
        "clean",
        "topics",
        "rater_system",
        "skewed",
        "weak_null",
        "peeking",
    )
    found = {
        w: [validation.simulate_study_findings(w, n) for n in range(studies)] for w in ("null", "clean", "rater_system")
    }
    by = {(rate.world, rate.what): rate for rate in check_nominal_rates(validation, {**found, "resampled": []})}
    assert (by["null", "any_claim"].kept, by["clean", "any_claim"].kept) == (True, True)
    assert by["rater_system", "any_claim"].kept is False
    assert by["rater_system", "any_claim"].rate > 0.12
    assert by["rater_system", "any_claim"].low == pytest.approx(
        stats.binomtest(round(by["rater_system", "any_claim"].rate * studies), studies, alternative="greater")
        .proportion_ci(0.99)
        .low
    )


def test_a_study_of_its_own_design_has_its_rows_and_a_growing_one_has_parts_of_them() -> None:
    rows = world(9)
    own = CampaignWithRedrawnScores.from_ratings(rows, None)
    drawn = own.draw_null_study("skewed", np.random.default_rng(1))
    assert (drawn.system == rows.system).all()
    assert (drawn.segment == rows.segment).all()
    assert drawn.score.std() == pytest.approx(rows.score.std(), rel=1e-6)
    sizes = [len(np.unique(look.document)) for look in own.draw_interim_studies(drawn, np.random.default_rng(1))]
    assert sizes == [3, 6, 9, 12]


def test_too_few_documents_leave_rates_open() -> None:
    found = validated(world(8, documents=4), 5)
    assert found["null", "pairs_claimed"].rate is None
    assert found["null", "pairs_claimed"].kept is None
    assert found["null", "difference_interval"].rate is not None


@pytest.mark.parametrize(
    ("changes", "promised"),
    [
        ({"adjust": "none"}, 0.05),
        ({"adjust": "none", "alternative": "greater"}, 0.1),
        ({"adjust": "holm", "alternative": "greater"}, 0.05),
    ],
)
def test_a_pair_has_two_chances_where_each_direction_stands_alone(changes: dict[str, object], promised: float) -> None:
    validation = RecipeValidator.from_ratings(
        StudyPopulation.from_ratings(world(5)), replace(RECOMMENDED, alpha=0.05, **changes), 7
    )
    told = {
        (rate.world, rate.what): rate.expected
        for rate in check_nominal_rates(validation, {"null": [], "resampled": []})
    }
    assert told["null", "pairs_claimed"] == pytest.approx(promised)
    assert [told["null", f"p_below_{level}"] for level in (0.01, 0.05, 0.1, 0.5)] == [0.01, 0.05, 0.1, 0.5]
