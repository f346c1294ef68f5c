"""Influence against a slow twin that ranks everything again without each rater, document and domain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.recipe import NAMED, ExclusionTarget, Recipe
from app.stats.ranking import influence
from app.stats.ranking.influence import LeaveOneOutDifferences, summarize_influence
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import PairRow, Ranking
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings

PLAIN = Recipe(name="plain", test="permutation", permutations=100, unit="segment")


def campaign(seed: int, *, kept: float = 0.7, raters: int = 3, gap: float = 0.3) -> Ratings:
    """Four systems on five documents of two segments by some raters; a part of the rows only."""
    rng = np.random.default_rng(seed)
    rows = [(s, d, p, r) for s in range(4) for d in range(5) for p in (1, 2) for r in range(raters)]
    rows = [row for row in rows if rng.random() < kept] or rows
    return Ratings.from_columns(
        system=[f"s{s}" for s, _, _, _ in rows],
        document=[f"d{d}" for _, d, _, _ in rows],
        position=[p for _, _, p, _ in rows],
        rater=[f"r{r}" for _, _, _, r in rows],
        nth=[1] * len(rows),
        score=[float(np.round(rng.normal(-gap * s + 0.5 * r), 1)) for s, _, _, r in rows],
        higher_is_better=True,
    )


def domains_of(ratings: Ratings) -> DocumentTable:
    named = {"d0": "news", "d1": "news", "d2": "speech", "d3": "speech", "d4": "social"}
    n = len(ratings.labels.documents)
    whole = np.ones(n, dtype=np.int32)
    return DocumentTable(tuple(named[d] for d in ratings.labels.documents), ("test",) * n, whole, whole)


def without(
    ratings: Ratings, recipe: Recipe, documents: DocumentTable, what: str, key: str
) -> dict[tuple[str, str], float]:
    """Every difference, both ways round, ranked again without the unit; None where nothing is left of a pair."""
    keys = [key]
    if what == "domain":
        keys = [d for d, name in zip(ratings.labels.documents, documents.domain, strict=True) if name == key]
    left = tuple(ExclusionTarget("document" if what == "domain" else what, k) for k in keys)
    found = {}
    for pair in rank_systems(ratings, replace(recipe, exclude=left), documents).pairs:
        if pair.difference is not None:
            found[pair.better, pair.worse] = pair.difference
            found[pair.worse, pair.better] = -pair.difference
    return found


def check(ratings: Ratings, recipe: Recipe, ranking: Ranking) -> None:
    documents = domains_of(ratings)
    units = {
        "rater": sorted({ratings.labels.raters[r] for r in ratings.rater}),
        "document": sorted({ratings.labels.documents[d] for d in ratings.document}),
    }
    units["domain"] = sorted({documents.domain[d] for d in np.unique(ratings.document)})
    again = {
        (what, key): without(ratings, recipe, documents, what, key) for what, keys in units.items() for key in keys
    }
    for pair in ranking.pairs:
        if pair.difference is not None:
            check_pair(pair, {unit: found.get((pair.better, pair.worse)) for unit, found in again.items()})


def check_pair(pair: PairRow, again: dict[tuple[str, str], float | None]) -> None:
    found = pair.influence
    for change in found.largest:
        changes = {
            key: d - pair.difference for (what, key), d in again.items() if what == change.what and d is not None
        }
        assert change.change == pytest.approx(changes[change.key], abs=1e-9)
        assert abs(change.change) == pytest.approx(max(abs(c) for c in changes.values()), abs=1e-9)
    side = np.sign(round(pair.difference, 10))
    flips = {f"{what}:{key}" for (what, key), d in again.items() if d is not None and side and round(d, 10) * side <= 0}
    assert set(found.flips_without) == flips
    assert found.n_flips == len(flips)


@settings(max_examples=settings.default.max_examples // 4, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(
        [
            PLAIN,
            replace(PLAIN, repeats="pool"),
            replace(PLAIN, aggregate="median"),
            replace(PLAIN, aggregate="macro_domain"),
            replace(PLAIN, repeats="separate"),
            Recipe(name="unpaired", test="rank_sum", unit="segment", aggregate="mean"),
            Recipe(name="unpaired-macro", test="rank_sum", unit="segment", aggregate="macro_domain"),
        ]
    ),
)
def test_influence_agrees_with_ranking_again_without_each_unit(seed: int, recipe: Recipe) -> None:
    ratings = campaign(seed)
    ranking = rank_systems(ratings, recipe, domains_of(ratings))
    names = {row.system for row in ranking.systems}
    # a system that one unit alone speaks for would leave the twin's ranking; the fast path says NaN there
    assert names == {ratings.labels.systems[s] for s in np.unique(ratings.system)}
    check(ratings, recipe, ranking)


def test_under_z_a_rater_left_out_is_as_if_never_there() -> None:
    ratings = campaign(3, kept=1.0)
    recipe = replace(PLAIN, normalize="z")
    for pair in rank_systems(ratings, recipe).pairs:
        change = next(c for c in pair.influence.largest if c.what == "rater")
        again = without(ratings, recipe, domains_of(ratings), "rater", change.key)[pair.better, pair.worse]
        assert change.change == pytest.approx(again - pair.difference, abs=1e-9)


def test_one_document_that_makes_the_difference_is_named() -> None:
    rows = [(s, d) for s in "AB" for d in range(8)]
    ratings = Ratings.from_columns(
        system=[s for s, _ in rows],
        document=[f"d{d}" for _, d in rows],
        position=[1] * len(rows),
        rater=["r"] * len(rows),
        score=[(90.0 if d == 3 else 50.0) if s == "A" else 51.0 for s, d in rows],
        higher_is_better=True,
    )
    pair = rank_systems(ratings, NAMED["google-mqm"]).pairs[0].as_json()
    assert pair["flips_without"] == ["document:d3"]
    assert pair["n_flips"] == 1
    assert pair["influence"]["document"] == {"key": "d3", "change": pytest.approx(-1 - 32 / 8)}
    # the only rater leaves nothing to compare
    assert "rater" not in pair["influence"]


def test_a_tie_has_nothing_to_flip() -> None:
    found = summarize_influence(
        np.array([0.0]), [LeaveOneOutDifferences("rater", ("a", "b"), np.array([[1.0], [-1.0]]))]
    )
    assert found[0].flips_without == ()
    assert [(c.key, c.change) for c in found[0].largest] == [("a", 1.0)]


def test_only_the_strongest_are_named_and_all_are_counted() -> None:
    keys = tuple(f"d{i:02}" for i in range(40))
    found = summarize_influence(np.array([1.0]), [LeaveOneOutDifferences("document", keys, -np.arange(40.0)[:, None])])
    assert found[0].n_flips == 40
    assert found[0].flips_without == tuple(f"document:d{i:02}" for i in range(39, 39 - influence.MOST_NAMED, -1))


def test_influence_can_be_left_out() -> None:
    pair = rank_systems(campaign(1), replace(PLAIN, influence=False)).pairs[0].as_json()
    assert (pair["influence"], pair["flips_without"], pair["n_flips"]) == (None, None, None)


def test_unknown_documents_leave_raters_only() -> None:
    ratings = replace(campaign(1), documents_known=False)
    for pair in rank_systems(ratings, replace(PLAIN, test="rank_sum")).pairs:
        assert {change.what for change in pair.influence.largest} == {"rater"}
