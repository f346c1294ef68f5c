"""How often a recipe errs, and how often its intervals and rank sets hold the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np

from app.domain.errors import Invalid
from app.domain.recipe import Recipe
from app.stats.design_checks import share_with_same_raters
from app.stats.ranking import rank
from app.stats.ratings import Ratings
from app.stats.result import Ranking
from app.stats.side_tables import Documents
from app.stats.validation.counted import Counted
from app.stats.validation.found import LEVELS, Truth, found_in
from app.stats.validation.own import OwnDesign, OwnWorld
from app.stats.validation.studies import Population

World = Literal["null", "resampled", "clean", "topics", "rater_system", "skewed", "weak_null", "peeking"]
What = Literal[
    "p_below_0.01",
    "p_below_0.05",
    "p_below_0.1",
    "p_below_0.5",
    "pairs_claimed",
    "any_claim",
    "any_line",
    "difference_interval",
    "score_interval",
    "rank_sets",
    "wrong_claims",
]
Bound = Literal["at most", "at least"]
WORLDS: Final[tuple[World, ...]] = get_args(World)
CLAIMS: Final = frozenset({"any_claim", "any_line", "pairs_claimed", *(f"p_below_{x:g}" for x in LEVELS)})


@dataclass(frozen=True, slots=True)
class Rate:
    """A share over simulated studies.

    expected: what the recipe promises; None where it promises nothing. bound: at most or at least that much.
    rate: mean over the `n` studies in which it is defined; error: its standard error. low, high: one-sided exact bounds
    of it, 99 % each. exact: the promise is kept by construction, whatever simulation finds: where systems change places
    within documents, p-values of sign flips by document are those of the test's own randomization.
    """

    world: World
    what: What
    expected: float | None
    bound: Bound
    rate: float | None
    error: float | None
    n: int
    low: float | None = None
    high: float | None = None
    exact: bool = False

    @property
    def kept(self) -> bool | None:
        """Whether the studies leave it open, or show, that the promise is kept; None where there is nothing to say."""
        if self.rate is None or self.expected is None:
            return None
        if self.exact:
            return True
        counted = Counted(self.rate * self.n, self.n)
        return counted.at_most(self.expected) if self.bound == "at most" else counted.at_least(self.expected)


@dataclass(frozen=True)
class Validation:
    """A campaign's design and a recipe, settled on its data. truth: the ranking by all ratings. own: its design."""

    population: Population
    recipe: Recipe
    truth: Ranking
    seed: int
    own: OwnDesign

    @classmethod
    def of(cls, population: Population, recipe: Recipe, seed: int) -> Validation:
        """Settle the recipe on all ratings. Raises Invalid where it does not fit them."""
        plain = replace(recipe, influence=False)
        rows = population.rows.canonical()
        truth = rank(rows, plain, population.documents)
        settled = replace(truth.recipe, exclude=(), fallback=recipe.fallback)
        return cls(population, settled, truth, seed, OwnDesign.of(rows, population.documents))

    def study(self, world: World, number: int) -> dict[str, float]:
        """What one study finds, by name of the rate; rates that are undefined in it are left out."""
        rng = np.random.Generator(np.random.PCG64([self.seed, _NUMBER[world], number]))
        if world in {"null", "resampled"}:
            rows, documents = self.population.study(rng, null=world == "null")
            truth = self._equal if world == "null" else Truth.of(self.truth)
            return self._found((rows,), documents, truth)
        drawn = self.own.study(_own(world), rng)
        looks = self.own.looks(drawn, rng) if world == "peeking" else (drawn,)
        return self._found(looks, self.population.documents, self._equal)

    @property
    def _equal(self) -> Truth:
        return Truth(dict.fromkeys((row.system for row in self.truth.systems), 0.0))

    def _found(self, looks: Sequence[Ratings], documents: Documents | None, truth: Truth) -> dict[str, float]:
        """Of the last look; a claim at any look is a claim."""
        found: dict[str, float] = {}
        ever = dict[str, float]()
        for rows in looks:
            try:
                found = found_in(rank(rows, self.recipe, documents), truth)
            except Invalid:
                found = {}
            for what in ("any_claim", "any_line"):
                if what in found:
                    ever[what] = max(found[what], ever.get(what, 0.0))
        return {**found, **ever}

    @property
    def exact(self) -> bool:
        """Whether the null of changing places is the randomization that the recipe's test makes."""
        recipe, population = self.recipe, self.population
        flips = recipe.test == "permutation" and recipe.unit == "document"
        return flips and population.together and share_with_same_raters(population.rows) == 1


_NUMBER: Final[Mapping[World, int]] = {"null": 1, "resampled": 0, **{w: i for i, w in enumerate(WORLDS) if i > 1}}


def _own(world: World) -> OwnWorld:
    if world in {"null", "resampled"}:
        raise ValueError(world)
    return world  # type: ignore[return-value]  # all others are worlds of its own design


def rates(validation: Validation, found: Mapping[World, Sequence[Mapping[str, float]]]) -> tuple[Rate, ...]:
    """Means over the studies of each world, beside what the recipe promises."""
    recipe = validation.recipe
    family = recipe.adjust in {"holm", "maxT"}
    alpha = recipe.alpha
    # Without adjustment each direction of a one-sided test stands alone, so a pair has two chances.
    each = 2 * alpha if recipe.alternative == "greater" and recipe.adjust == "none" else alpha
    promised: list[tuple[World, What, float | None, Bound]] = [
        *(("null", f"p_below_{x:g}", x, "at most") for x in LEVELS),  # type: ignore[list-item]  # these are its names
        ("null", "pairs_claimed", each, "at most"),
        ("null", "any_claim", alpha if family else None, "at most"),
        ("null", "any_line", alpha if family else None, "at most"),
        ("null", "difference_interval", 1 - alpha, "at least"),
        ("null", "rank_sets", 1 - alpha, "at least"),
        ("resampled", "difference_interval", 1 - alpha, "at least"),
        ("resampled", "score_interval", 1 - alpha, "at least"),
        ("resampled", "rank_sets", 1 - alpha, "at least"),
        ("resampled", "wrong_claims", alpha, "at most"),
        ("resampled", "pairs_claimed", None, "at least"),
    ]
    for world in WORLDS:
        if world in found and world not in {"null", "resampled"}:
            promised += [
                (world, "pairs_claimed", each, "at most"),
                (world, "any_claim", alpha if family else None, "at most"),
                (world, "difference_interval", 1 - alpha, "at least"),
                (world, "rank_sets", 1 - alpha, "at least"),
            ]
    made = (_rate(world, what, expected, bound, found[world]) for world, what, expected, bound in promised)
    exact = validation.exact
    return tuple(replace(one, exact=exact and one.world == "null" and one.what in CLAIMS) for one in made)


def _rate(
    world: World,
    what: What,
    expected: float | None,
    bound: Bound,
    studies: Sequence[Mapping[str, float]],
) -> Rate:
    values = np.array([study[what] for study in studies if what in study])
    if not values.size:
        return Rate(world, what, expected, bound, None, None, 0)
    mean, n = float(values.mean()), values.size
    # A rate of 0 or 1 among n studies has an error, too: that of one study that is otherwise.
    spread = max(float(values.std(ddof=1)), n**-0.5) if n > 1 else 1.0
    counted = Counted(float(values.sum()), int(n))
    return Rate(world, what, expected, bound, mean, float(spread / np.sqrt(n)), int(n), counted.low, counted.high)
