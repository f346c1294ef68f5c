"""Every universe of a multiverse equals the ranker alone, given the raw ratings and that universe's recipe."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from app.domain.errors import Invalid
from app.domain.recipe import NAMED, ExclusionTarget, Recipe
from app.stats.multiverse.branches import (
    ABSENT,
    UNTESTED,
    MultiverseBranchClaims,
    RatingsUnderOneScoring,
    compute_branch_claims,
)
from app.stats.multiverse.shares import compute_claim_shares
from app.stats.multiverse.space import TESTS, ExclusionChoice, MultiverseSpace
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import PairRow
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings, ScoreScale
from tests.stats.multiverse.counting import check_shares

BASE = replace(NAMED["recommended"], permutations=400)
EVERYTHING = ExclusionChoice("accepted", accepted_only=True)
WITHOUT = ExclusionChoice("without S3", accepted_only=False, exclude=(ExclusionTarget("system", "S3"),))


def world(seed: int, *, bounded: bool = False, errors: bool = True) -> tuple[Ratings, DocumentTable]:
    """Four systems on twelve documents of two domains by four raters, not every output by everybody."""
    rng = np.random.default_rng(seed)
    rows = []
    for d in range(12):
        for p in range(1, 4):
            for s in range(4):
                for r in rng.choice(4, size=int(rng.integers(1, 3)), replace=False):
                    count = int(rng.poisson(2 + 0.7 * s + 0.5 * r))
                    rows.append((f"S{s}", f"d{d:02}", p, f"r{r}", float(count + rng.integers(0, 3)), count))
    made = Ratings.from_columns(
        system=[r[0] for r in rows],
        document=[r[1] for r in rows],
        position=[r[2] for r in rows],
        rater=[r[3] for r in rows],
        score=[r[4] for r in rows],
        n_errors=[r[5] for r in rows] if errors else None,
        accepted=[i % 11 > 0 for i in range(len(rows))],
        higher_is_better=bounded,
    )
    made = replace(made, scale=ScoreScale(0.0, 100.0) if bounded else ScoreScale(0.0, float("inf")))
    names = tuple("news" if i % 2 else "talk" for i in range(12))
    counts = np.full(12, 3, dtype=np.int32)
    return made, DocumentTable(names, ("test",) * 12, counts, counts)


def alone(rows: Ratings, documents: DocumentTable, recipe: Recipe) -> list[int]:
    """What the ranker says of every pair, all of it computed anew from the raw ratings."""
    ranking = rank_systems(rows, replace(recipe, clusters="strict"), documents)
    told = {frozenset((row.better, row.worse)): row for row in ranking.pairs}
    return [_mark(told.get(frozenset(pair)), pair) for pair in combinations(rows.labels.systems, 2)]


def _mark(row: PairRow | None, pair: tuple[str, str]) -> int:
    if row is None:
        return int(ABSENT)
    if not row.testable:
        return int(UNTESTED)
    return (1 if row.better == pair[0] else -1) * (int(row.significant) - int(row.significant_reverse))


def made(rows: Ratings, documents: DocumentTable, space: MultiverseSpace) -> list[MultiverseBranchClaims]:
    scored = RatingsUnderOneScoring("score", rows, documents.domain_codes_and_labels()[0])
    return [
        MultiverseBranchClaims.from_bytes(compute_branch_claims(scored, space, e, n, rows.labels.systems).to_bytes())
        for e in space.excluding
        for n in space.normalize
    ]


def check_each_universe(rows: Ratings, documents: DocumentTable, space: MultiverseSpace, every: int = 1) -> int:
    """Compare universes with the ranker, and the shares of all with a plain count; how many universes there were."""
    pairs = list(combinations(rows.labels.systems, 2))
    number = 0
    branches = made(rows, documents, space)
    check_shares(compute_claim_shares(branches, rows.labels.systems), branches, rows.labels.systems)
    for found in branches:
        excluding = next(one for one in space.excluding if one.name == found.exclusion)
        recipe = space.make_branch_recipe(excluding, found.normalize)
        systems = {s for pair, mark in zip(pairs, found.ahead, strict=True) if mark != ABSENT for s in pair}
        for (test, adjust), claims in zip(found.universes, found.claims, strict=True):
            number += 1
            if number % every:
                continue
            n_pairs = len(systems) * (len(systems) - 1) // 2
            asked = space.make_universe_recipe(recipe, TESTS[test], adjust, n_pairs)
            assert claims.tolist() == alone(rows, documents, asked), (found.exclusion, found.normalize, test, adjust)
        for missing in found.missing:
            if "test" in missing.choices and missing.choices.get("adjust") != "maxT":
                test = TESTS[missing.choices["test"]]
                refused = space.make_universe_recipe(recipe, test, "none", 1)
                with pytest.raises(Invalid):
                    rank_systems(rows, refused, documents)
            elif "test" not in missing.choices:
                with pytest.raises(Invalid):
                    rank_systems(rows, recipe, documents)
    return number


def test_every_universe_equals_the_ranker_alone() -> None:
    rows, documents = world(3)
    space = MultiverseSpace(BASE, (EVERYTHING, WITHOUT))
    assert check_each_universe(rows, documents, space, every=7) == 2 * 6 * (15 * 3 + 1)


def test_universes_of_a_bounded_scale_do_not_divide_by_means() -> None:
    rows, documents = world(4, bounded=True, errors=False)
    space = MultiverseSpace(BASE, (EVERYTHING,), tests=(TESTS["permutation:document"], TESTS["rank_sum:segment"]))
    assert check_each_universe(rows, documents, space) == 3 * (2 * 3 + 1)
    found = compute_claim_shares(made(rows, documents, space), rows.labels.systems)
    assert found.n == 21
    assert {(one.choices["normalize"], one.n) for one in found.missing if "normalize" in one.choices} == {
        ("mean", 8),
        ("error", 8),
        ("error_rate", 8),
    }
    assert [(dict(one.choices), one.n) for one in found.missing if "adjust" in one.choices] == [
        ({"scoring": "score", "exclusion": "accepted", "test": "rank_sum:segment", "adjust": "maxT"}, 3)
    ]


def test_unpaired_data_have_no_paired_universe() -> None:
    rows, documents = world(5)
    turn = rows.labels.segment_position[rows.segment] + rows.document * 3
    alone_on_its_segment = rows.where(turn % 4 == rows.system)
    space = MultiverseSpace(BASE, (EVERYTHING,), normalize=("none",))
    check_each_universe(alone_on_its_segment, documents, space)
    found = compute_claim_shares(made(alone_on_its_segment, documents, space), rows.labels.systems)
    assert {choice.choice for choice in found.choices if choice.dimension == "test"} <= {
        "rank_sum:segment",
        "rank_sum_legacy:segment",
        "welch:segment",
        "welch:document",
    }
    reasons = Counter(one.reason for one in found.missing)
    assert reasons["unpaired design: no two systems share a segment"] == 11


def test_shares_count_only_universes_that_test_the_pair() -> None:
    claims = np.array([[1, 0, 2], [1, -1, 2], [1, 1, 2], [1, 0, 3]], dtype=np.int8)
    universes = (("a", "none"), ("a", "holm"), ("b", "none"), ("b", "holm"))
    ahead = np.array([1, -1, 3], dtype=np.int8)
    one = MultiverseBranchClaims("score", "accepted", "none", universes, claims, ahead, ())
    always, reversed_, untested = compute_claim_shares([one], ["A", "B", "C"]).pairs
    assert (always.n, always.first_better, always.second_better, always.kind) == (4, 1.0, 0.0, "always")
    assert (always.hangs_on, always.spread) == (None, None)
    assert (reversed_.first_better, reversed_.second_better, reversed_.kind) == (0.25, 0.25, "reversed")
    # net share: test a −1/2, test b 1/2; none 1/2, holm −1/2
    assert (reversed_.hangs_on, reversed_.spread) == ("test", 1.0)
    assert (untested.n, untested.untested, untested.kind, untested.first_better) == (0, 3, None, None)
    assert (always.first_ahead, reversed_.second_ahead, untested.first_ahead) == (1.0, 1.0, None)
    chosen = {(c.dimension, c.choice): (c.n, c.claimed) for c in compute_claim_shares([one], ["A", "B", "C"]).choices}
    assert chosen["test", "a"] == (2, 3 / 4)
    assert chosen["scoring", "score"] == (4, 6 / 8)


def test_no_branch_gives_no_universe() -> None:
    found = compute_claim_shares([], [])
    assert (found.n, found.pairs, found.choices, found.missing) == (0, (), (), ())
