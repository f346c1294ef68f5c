"""How often a recipe errs, and how often its intervals and rank sets contain the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, get_args

import numpy as np

from app.domain.errors import Invalid
from app.domain.recipe import Recipe
from app.stats.ranking.design_checks import share_of_documents_with_same_raters
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings
from app.stats.validation.proportion import Proportion
from app.stats.validation.redrawn_scores import CampaignWithRedrawnScores, OwnWorld
from app.stats.validation.studies import StudyPopulation
from app.stats.validation.study_findings import LEVELS, TrueScores, compare_ranking_with_truth

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


MEANING: Final[Mapping[What, str]] = {
    "p_below_0.01": "pairs with p ≤ .01 before adjustment",
    "p_below_0.05": "pairs with p ≤ .05 before adjustment",
    "p_below_0.1": "pairs with p ≤ .1 before adjustment",
    "p_below_0.5": "pairs with p ≤ .5 before adjustment",
    "pairs_claimed": "pairs claimed",
    "any_claim": "studies with any claim",
    "any_line": "studies with more than one cluster",
    "difference_interval": "intervals of differences that contain the true value",
    "score_interval": "intervals of scores that contain the true value",
    "rank_sets": "studies whose rank sets all contain the true rank",
    "wrong_claims": "pairs claimed for the wrong system",
}


@dataclass(frozen=True, slots=True)
class NominalRateCheck:
    """A share over simulated studies, beside what the recipe promises."""

    __pydantic_config__: ClassVar[Mapping[str, bool]] = {"use_attribute_docstrings": True}  # how reports document it

    world: World
    """null: no system is better; resampled: the ratings are the truth; others: scores drawn anew, no system better."""
    what: What
    meaning: str
    expected: float | None
    """Rate that the recipe promises; null if it promises none."""
    bound: Bound
    rate: float | None
    error: float | None
    """Standard error from simulating finitely many studies."""
    n: int
    """Studies in which the rate is defined."""
    kept: bool | None
    """Whether the promise is kept, by a one-sided exact bound; null if undecided."""
    low: float | None = None
    """One-sided exact bound at 99 %: the rate is no lower."""
    high: float | None = None
    """One-sided exact bound at 99 %: the rate is no higher."""
    exact: bool = False
    """Guaranteed by construction: the test's own randomization generates this null."""


@dataclass(frozen=True)
class RecipeValidator:
    """A campaign's design and a recipe settled on its data. truth: the ranking by all ratings. own: its design."""

    population: StudyPopulation
    recipe: Recipe
    truth: Ranking
    seed: int
    own: CampaignWithRedrawnScores

    @classmethod
    def from_ratings(cls, population: StudyPopulation, recipe: Recipe, seed: int) -> RecipeValidator:
        """Settle the recipe on all ratings. Raises Invalid if it does not fit them."""
        plain = replace(recipe, influence=False)
        rows = population.rows.in_canonical_order()
        truth = rank_systems(rows, plain, population.documents)
        settled = replace(truth.recipe, exclude=(), fallback=recipe.fallback)
        return cls(population, settled, truth, seed, CampaignWithRedrawnScores.from_ratings(rows, population.documents))

    def simulate_study_findings(self, world: World, number: int) -> dict[str, float]:
        """Return the findings of one study by name of the rate; rates that are undefined in it are left out."""
        rng = np.random.Generator(np.random.PCG64([self.seed, _NUMBER[world], number]))
        if world in {"null", "resampled"}:
            rows, documents = self.population.draw_study(rng, null=world == "null")
            truth = self._equal if world == "null" else TrueScores.from_ranking(self.truth)
            return self._findings_of_last_look((rows,), documents, truth)
        drawn = self.own.draw_null_study(_require_own_world(world), rng)
        looks = self.own.draw_interim_studies(drawn, rng) if world == "peeking" else (drawn,)
        return self._findings_of_last_look(looks, self.population.documents, self._equal)

    @property
    def _equal(self) -> TrueScores:
        return TrueScores(dict.fromkeys((row.system for row in self.truth.systems), 0.0))

    def _findings_of_last_look(
        self, looks: Sequence[Ratings], documents: DocumentTable | None, truth: TrueScores
    ) -> dict[str, float]:
        """Return the findings of the last look; a claim at any look counts as a claim."""
        measures: dict[str, float] = {}
        ever = dict[str, float]()
        for rows in looks:
            try:
                measures = compare_ranking_with_truth(rank_systems(rows, self.recipe, documents), truth)
            except Invalid:
                measures = {}
            for what in ("any_claim", "any_line"):
                if what in measures:
                    ever[what] = max(measures[what], ever.get(what, 0.0))
        return {**measures, **ever}

    @property
    def is_exact_under_null(self) -> bool:
        """Whether the null in which systems are swapped is the randomization of the recipe's own test."""
        recipe, population = self.recipe, self.population
        flips = recipe.test == "permutation" and recipe.unit == "document"
        return flips and population.has_paired_units and share_of_documents_with_same_raters(population.rows) == 1


_NUMBER: Final[Mapping[World, int]] = {"null": 1, "resampled": 0, **{w: i for i, w in enumerate(WORLDS) if i > 1}}


def _require_own_world(world: World) -> OwnWorld:
    if world in {"null", "resampled"}:
        raise ValueError(world)
    return world  # type: ignore[return-value]  # all others are worlds of its own design


def check_nominal_rates(
    validation: RecipeValidator, studies: Mapping[World, Sequence[Mapping[str, float]]]
) -> tuple[NominalRateCheck, ...]:
    """Compare the mean of each rate over the studies of each world with the recipe's promise."""
    recipe = validation.recipe
    family = recipe.adjust in {"holm", "maxT"}
    alpha = recipe.alpha
    # Without adjustment each direction of a one-sided test is tested by itself, so a pair has two chances.
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
        if world in studies and world not in {"null", "resampled"}:
            promised += [
                (world, "pairs_claimed", each, "at most"),
                (world, "any_claim", alpha if family else None, "at most"),
                (world, "difference_interval", 1 - alpha, "at least"),
                (world, "rank_sets", 1 - alpha, "at least"),
            ]
    exact = validation.is_exact_under_null
    return tuple(
        _rate(world, what, expected, bound, studies[world], exact=exact and world == "null" and what in CLAIMS)
        for world, what, expected, bound in promised
    )


def _rate(
    world: World,
    what: What,
    expected: float | None,
    bound: Bound,
    studies: Sequence[Mapping[str, float]],
    *,
    exact: bool,
) -> NominalRateCheck:
    values = np.array([study[what] for study in studies if what in study])
    if not values.size:
        return NominalRateCheck(world, what, MEANING[what], expected, bound, None, None, 0, None, exact=exact)
    mean, n = float(values.mean()), values.size
    # A rate of 0 or 1 among n studies has an error, too: the one it would have if one study differed.
    spread = max(float(values.std(ddof=1)), n**-0.5) if n > 1 else 1.0
    counted = Proportion(float(values.sum()), int(n))
    return NominalRateCheck(
        world=world,
        what=what,
        meaning=MEANING[what],
        expected=expected,
        bound=bound,
        rate=mean,
        error=float(spread / np.sqrt(n)),
        n=int(n),
        kept=is_nominal_rate_kept(expected, bound, mean, n, exact=exact),
        low=counted.lower_bound,
        high=counted.upper_bound,
        exact=exact,
    )


def is_nominal_rate_kept(
    expected: float | None, bound: Bound, rate: float | None, n: int, *, exact: bool
) -> bool | None:
    """Return whether n studies are consistent with a promise; None if there is no promise or no rate.

    exact: the promise is kept by construction, whatever the simulation finds: if systems are swapped within documents,
    p-values of sign flips by document are those of the test's own randomization.
    """
    if rate is None or expected is None:
        return None
    if exact:
        return True
    counted = Proportion(rate * n, n)
    return (
        counted.is_consistent_with_at_most(expected)
        if bound == "at most"
        else counted.is_consistent_with_at_least(expected)
    )
