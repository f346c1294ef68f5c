"""Size and coverage of claims over simulated campaigns of a world: the gate's claims, and a recipe's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from app.domain.errors import Invalid
from app.domain.recipe import Recipe
from app.stats.gate.gate import GateRule, decide_claim
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.ratings import Floats
from app.stats.validation.proportion import Proportion
from app.stats.validation.study_findings import TrueScores, compare_ranking_with_truth
from app.stats.validation.worlds import SimulatedWorld, simulate_campaign, simulate_campaigns_as_document_sums

_KEY = 0x3017


def gate_error_rate(
    world: SimulatedWorld, rule: GateRule, *, n: int, seed: int, difference: float | None = None
) -> Proportion:
    """How often the gate lets the last system through, at the border of what is claimed (or at this difference).

    Where the world has several looks the gate is asked at each, and to be let through once is to be let through.
    """
    border = {"better": 0.0, "not_worse": -rule.margin, "equivalent": rule.margin}[rule.claim]
    means = np.array([0.0, border if difference is None else difference])
    let = sum(_let_through(sums, counts, world, rule) for sums, counts in _pairs(world, means, n, seed))
    return Proportion(let, n)


def _pairs(world: SimulatedWorld, means: Floats, n: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Sums of differences, last system minus first, and segments by document, of each campaign."""
    rng = np.random.Generator(np.random.PCG64([_KEY, seed]))
    for sums, counts, _ in simulate_campaigns_as_document_sums(world, rng, means, n):
        for total in sums:
            yield total[-1] - total[0], counts


def _let_through(sums: Floats, counts: Floats, world: SimulatedWorld, rule: GateRule) -> bool:
    documents = [ceil(look * counts.size) for look in world.looks]
    return any(decide_claim(sums[:d], counts[:d], rule).holds for d in documents)


@dataclass(frozen=True, slots=True)
class OperatingCharacteristics:
    """What a recipe does in a world. any_claim: campaigns with a claim against the truth (of equal systems any).

    pairs_claimed: pairs claimed, true or not. intervals: of differences that hold the truth. rank_sets: campaigns whose
    rank sets all do. None where the recipe gives none of these.
    """

    any_claim: Proportion | None
    pairs_claimed: Proportion | None
    intervals: Proportion | None
    rank_sets: Proportion | None


def simulate_recipe(
    world: SimulatedWorld, recipe: Recipe, means: Floats, *, n: int, seed: int
) -> OperatingCharacteristics:
    """Rank n campaigns of systems with these true means by a recipe; larger is better."""
    rows: list[Mapping[str, float]] = []
    truth = TrueScores({f"S{i:02}": float(mean) for i, mean in enumerate(means)})
    for number in range(n):
        rng = np.random.Generator(np.random.PCG64([_KEY, seed, number]))
        ranking = _rank_or_none(world, recipe, means, rng)
        rows.append({} if ranking is None else compare_ranking_with_truth(ranking, truth))
    return OperatingCharacteristics(
        proportion_of_studies(rows, "any_claim"),
        proportion_of_studies(rows, "pairs_claimed"),
        proportion_of_studies(rows, "difference_interval"),
        proportion_of_studies(rows, "rank_sets"),
    )


def _rank_or_none(world: SimulatedWorld, recipe: Recipe, means: Floats, rng: np.random.Generator) -> Ranking | None:
    try:
        return rank_systems(simulate_campaign(world, rng, means), recipe)
    except Invalid:
        return None


def proportion_of_studies(studies: list[Mapping[str, float]], what: str) -> Proportion | None:
    """The studies in which it is defined; None where there are none."""
    values = [one[what] for one in studies if what in one]
    return Proportion(float(sum(values)), len(values)) if values else None
