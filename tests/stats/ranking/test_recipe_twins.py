"""Every named recipe against its slow twin, on ratings where its choices matter, and what the twin would notice."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from app.domain.recipe import NAMED, Recipe
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import RatingRole, Ratings
from tests.stats.ranking.recipe_twin_rows import Row
from tests.stats.ranking.recipe_twins import TWINS, said

SYSTEMS, RATERS, POSITIONS = range(5), range(3), (1, 2, 3)
LEVELS, FAILS, DATA_SEED = (60, 57, 54, 49, 66), 0.1, 586
DOMAIN = {f"d{d}": ("news", "news", "speech", "social")[d % 4] for d in range(9)}


@cache
def rows(*, even: bool) -> list[Row]:
    """Five systems, nine documents of three segments; three raters see everything, a constant one some documents.

    s4 is mostly the best and sometimes fails altogether: ranks and means contradict each other. There are repeats,
    re-submissions, degraded outputs, a task that was rejected and segments that a system or a rater lacks.
    even: s3 has every document, so that the raters are comparable.
    """
    rng = np.random.default_rng(DATA_SEED)
    found = [
        Row(f"s{s}", document, p, f"r{r}", _score(rng, s, r, failed=s == 4 and rng.random() < FAILS))
        for s in SYSTEMS for document in DOMAIN for p in POSITIONS for r in RATERS
        if (s, document, p) not in {(1, "d4", 2), (2, "d7", 3)} and (s, document, p, r) != (0, "d3", 1, 2)
    ]  # fmt: skip
    for s in SYSTEMS:
        for p in POSITIONS:
            found += [Row(f"s{s}", f"d{d}", p, "flat", 70.0) for d in range(4)]
            found.append(Row(f"s{s}", "d5", p, f"r{p - 1}", 5.0 + 20 * (p - 1), RatingRole.DEGRADED))
            found.append(Row(f"s{s}", "d3", p, "r0", float(rng.integers(0, 100)), nth=3, accepted=False))
            if s % 2:
                found.append(Row(f"s{s}", "d1", p, "r1", _score(rng, s + 1, 1), RatingRole.REPEAT, nth=2))
            else:
                found.append(Row(f"s{s}", "d2", p, "r1", _score(rng, s - 2, 1), nth=2))
    return [row for row in found if even or (row.system, row.document) != ("s3", "d8")]


def _score(rng: np.random.Generator, system: int, rater: int, *, failed: bool = False) -> float:
    if failed:
        return float(rng.integers(0, 5))
    return float(4 * np.round((LEVELS[system] + 8 * rater + (6 + 3 * rater) * rng.normal()) / 4))


def ratings(some: list[Row], *, higher_is_better: bool) -> Ratings:
    names = ("system", "document", "position", "rater", "score", "role", "nth", "accepted")
    columns = dict(zip(names, map(list, zip(*some, strict=True)), strict=True))
    return Ratings.from_columns(**columns, higher_is_better=higher_is_better)


def documents() -> DocumentTable:
    n = np.ones(9, dtype=np.int32)
    return DocumentTable(tuple(DOMAIN.values()), ("test",) * 9, 3 * n, n)


def given(name: str, *, even: bool) -> list[Row]:
    """The ratings on the recipe's scale: the points that are missing where lower is better."""
    found = rows(even=even)
    return found if TWINS[name].higher_is_better else [row._replace(score=100 - row.score) for row in found]


@cache
def arrays(name: str, *, even: bool) -> Ratings:
    return ratings(given(name, even=even), higher_is_better=TWINS[name].higher_is_better)


def ranking(name: str, recipe: Recipe, *, even: bool) -> Ranking:
    return rank_systems(arrays(name, even=even), replace(recipe, influence=False), documents())


@cache
def boundary(name: str) -> float:
    """A level that one of the recipe's own p-values meets exactly."""
    p = [pair.p_adjusted for pair in ranking(name, NAMED[name], even=True).pairs]
    return min((own for own in p if own is not None and 0.002 < own < 0.5), key=lambda own: abs(own - 0.05))


@cache
def expected(name: str, *, even: bool, alpha: float) -> dict[str, object]:
    return said(name, given(name, even=even), DOMAIN, alpha)


def shown(found: Ranking) -> dict[str, object]:
    of_systems = ("score", "raw", "rank_set", "rank_range", "cluster")
    of_pairs = ("p_value", "p_reverse", "p_adjusted", "significant", "significant_reverse")
    return {
        "order": [row.system for row in found.systems],
        "interval": [end for row in found.systems for end in row.interval or (None, None)],
        **{name: [getattr(row, name) for row in found.systems] for name in of_systems},
        **{name: [getattr(pair, name) for pair in found.pairs] for name in of_pairs},
    }


def apart(found: Ranking, twin: dict[str, object]) -> list[str]:
    """The places where a ranking and a twin differ."""
    there = shown(found)
    assert there.keys() == twin.keys()
    return [place for place in there if not _same(there[place], twin[place])]


def _same(found: object, twin: object) -> bool:
    if isinstance(found, list) and any(isinstance(value, float) for value in found):
        return (
            isinstance(twin, list) and None not in (*found, *twin) and found == pytest.approx(twin, rel=1e-9, abs=1e-9)
        )
    return found == twin


# Ratings and level of each look: the recipe's own level first, one that a p-value meets exactly (None), and others
# at which more pairs are told apart, so that the rules for clusters disagree.
LOOKS = ((True, 0.05), (False, 0.05), (True, None), (True, 0.01), (False, 0.4))


def looked(name: str, recipe: Recipe, *, even: bool, alpha: float | None) -> list[str]:
    """Where a ranking by this recipe differs from the named recipe's twin in one look."""
    level = boundary(name) if alpha is None else alpha
    own = recipe if level == NAMED[name].alpha else replace(recipe, alpha=level)
    return apart(ranking(name, own, even=even), expected(name, even=even, alpha=level))


@pytest.mark.parametrize("name", NAMED)
def test_a_named_recipe_is_what_its_slow_twin_says(name: str) -> None:
    looks = {(even, alpha): looked(name, NAMED[name], even=even, alpha=alpha) for even, alpha in LOOKS}
    assert {look: places for look, places in looks.items() if places} == {}


def test_every_named_recipe_has_a_twin() -> None:
    assert set(TWINS) == set(NAMED)


CHANGES: dict[str, tuple[object, ...]] = {
    "roles": (("rating",), ("rating", "repeat"), ("rating", "repeat", "degraded")),
    "accepted_only": (False,),
    "normalize": ("auto", "none", "center", "z"),
    "moments": ("ratings", "all"),
    "sd0": ("drop", "zero", "drop_z"),
    "repeats": ("average", "pool", "latest", "first", "separate"),
    "unit": ("document", "segment"),
    "aggregate": ("mean", "median", "macro_domain"),
    "test": ("permutation", "signed_rank", "paired_t", "rank_sum", "rank_sum_legacy", "welch", "marot", "stouffer",
             "stouffer_signed", "wmt26_or", "wmt26_bootstrap", "bootstrap", "none"),
    "alternative": ("two-sided", "greater"),
    "permutations": (None, 500, 10_000),
    "plus_one": (False,),
    "correction": (True, False),
    "zero_method": ("wilcox", "pratt"),
    "method": ("auto", "asymptotic"),
    "matched_only": (True, False),
    "require_mean": (True, False),
    "adjust": ("none", "holm", "bh"),
    "alpha": (0.01, 0.1),
    "inclusive": (True, False),
    "clusters": ("wmt21", "wmt22", "wmt24", "wmt25", "paper", "strict", "none"),
    "interval": ("t", "percentile"),
    "rank_sets": (True, False),
    "seed": (1,),
}  # fmt: skip


# Fields that no look can see: a name; what storage and services act on; who flips a pair, which the twins leave out; a
# test in the place of one that the data cannot support, where these can; exclusions, which name a campaign's own; and
# implausible raters, of whom there are none (tests/stats/test_rater_plausibility.py).
NOT_LOOKED_AT = {"name", "scoring", "standing", "calibration", "influence", "fallback", "exclude", "implausible_raters"}

# What changes nothing, and why.
NOT_NORMALIZED = {("moments", "all"), ("sd0", "zero"), ("sd0", "drop_z")}
NOT_DRAWN = {("permutations", 500), ("permutations", 10_000), ("plus_one", False), ("seed", 1)}
NO_RANKS = {("correction", False), ("zero_method", "pratt"), ("method", "asymptotic")}
NO_SIGNED_RANKS = {("zero_method", "pratt"), ("method", "asymptotic")}
ON_COMMON_SEGMENTS = {("matched_only", True)}
BY_MEANS = {("require_mean", True)}  # in these data nobody who beats another has the lower mean
# Rules that part where a lower system beats a higher one, which none does by these tests; see `test_clusters`.
SAME_LINES = {("clusters", "wmt22"), ("clusters", "wmt24")}
SAME_LINES_AS_STRICT = {("clusters", "wmt22"), ("clusters", "strict")}
PAIRED = NOT_NORMALIZED | ON_COMMON_SEGMENTS | BY_MEANS
CHANGES_NOTHING: dict[str, set[tuple[str, object]]] = {
    "wmt-da": NOT_DRAWN | NO_SIGNED_RANKS,
    # Segment-wise, one-sided and with 10 000 draws the permutation is Marot's, and 10 000 are enough without Holm.
    "google-mqm": PAIRED | NO_RANKS | SAME_LINES | {("test", "permutation"), ("permutations", None)},
    "wmt22": NOT_DRAWN | NO_SIGNED_RANKS | {("clusters", "strict")},
    # Stouffer's combination is of segments and two-sided whatever these say.
    "wmt24-esa": PAIRED | NOT_DRAWN | SAME_LINES_AS_STRICT | {("unit", "document"), ("alternative", "greater")},
    # With more than 13 differences and ties among them `auto` is the asymptotic one.
    "wmt25": PAIRED | NOT_DRAWN | {("method", "asymptotic")},
    # The bootstrap is one-sided whatever `alternative` says.
    "wmt26": PAIRED | NO_RANKS | {("plus_one", False), ("alternative", "two-sided")},
    # A bootstrap always counts the observed arrangement.
    "nllb-xsts": PAIRED | NO_RANKS | {("permutations", 10_000), ("plus_one", False)},
    "srp-paper": PAIRED | NO_RANKS | SAME_LINES,
    # All 512 arrangements are enumerated, and rank sets are the same by any draws.
    "recommended": ON_COMMON_SEGMENTS | BY_MEANS | NO_RANKS | SAME_LINES
    | {("permutations", 10_000), ("plus_one", False), ("seed", 1)},
}  # fmt: skip


def changed(name: str) -> list[tuple[str, object]]:
    """Every choice of a recipe with every other value that should change what it says."""
    own = NAMED[name]
    every = [(field, value) for field, values in CHANGES.items() for value in values if value != getattr(own, field)]
    return [change for change in every if change not in CHANGES_NOTHING[name]]


def first_of_each(name: str) -> list[tuple[str, object]]:
    """One change of each choice."""
    found = {field: (field, value) for field, value in reversed(changed(name))}
    return list(found.values())


def noticed(name: str, recipe: Recipe) -> bool:
    """Whether a changed recipe differs from the twin in any look. Raises Invalid where it is refused, as none is."""
    return any(looked(name, recipe, even=even, alpha=alpha) for even, alpha in LOOKS)


# The recipes have most choices in common: in every run four, each with another test.
@pytest.mark.parametrize(
    "name",
    [
        name
        if name in {"google-mqm", "wmt22", "wmt24-esa", "recommended"}
        else pytest.param(name, marks=pytest.mark.soak)
        for name in NAMED
    ],
)
def test_a_recipe_with_another_choice_is_no_longer_what_the_twin_says(name: str) -> None:
    assert unnoticed(name, first_of_each(name)) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMED)
def test_a_recipe_with_any_other_choice_is_no_longer_what_the_twin_says(name: str) -> None:
    assert unnoticed(name, changed(name)) == []


def unnoticed(name: str, changes: list[tuple[str, object]]) -> list[tuple[str, object]]:
    return [(field, value) for field, value in changes if not noticed(name, _with(name, field, value))]


def _with(name: str, field: str, value: object) -> Recipe:
    return replace(NAMED[name], **{field: value})


def test_every_choice_of_a_recipe_is_changed_or_said_not_to_be_looked_at() -> None:
    assert set(CHANGES) | NOT_LOOKED_AT == {field.name for field in fields(Recipe)}
    assert not set(CHANGES) & NOT_LOOKED_AT


# Changes of several choices that the twins on complete data without repeats once let pass.
ONCE_UNNOTICED = [
    ("wmt22", {"matched_only": False, "require_mean": False, "sd0": "drop", "moments": "ratings",
               "repeats": "average", "clusters": "strict"}),
    ("wmt-da", {"moments": "ratings", "sd0": "zero", "clusters": "strict", "roles": ("rating",)}),
    ("wmt24-esa", {"repeats": "average"}),
    ("recommended", {"rank_sets": False}),
    ("srp-paper", {"inclusive": False}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [(name, field, value) for name, together in ONCE_UNNOTICED for field, value in together.items()
     if (field, value) not in CHANGES_NOTHING[name]],
)  # fmt: skip
def test_what_was_once_unnoticed_is_noticed_alone(name: str, field: str, value: object) -> None:
    assert noticed(name, _with(name, field, value))
