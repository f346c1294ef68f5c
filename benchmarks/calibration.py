"""How often claims err where campaigns are as people have them: `python -m benchmarks.calibration`.

Every claim is tried in every world of `app.stats.validation.worlds`, in which no system is better than another (or the
candidate stands at the border of what a gate claims). The figures go to benchmarks/calibration.json, from which
`docs/calibration.md` and its picture are made (`--page` makes these alone).

`--campaigns` is the number of simulated campaigns a cell; with 1,000 all cells take about half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from math import ceil
from pathlib import Path
from typing import Final, Literal

import numpy as np

from app.domain.errors import Invalid
from app.domain.recipe import NAMED, Recipe
from app.stats.ranking import rank
from app.stats.ratings import Ratings
from app.stats.result import Ranking
from app.stats.side_tables import Documents
from app.stats.validation.designs import Design
from app.stats.validation.found import Truth, found_in
from app.stats.validation.worlds import WORLDS, World, WorldName, campaign

MEASURED: Final = Path(__file__).with_suffix(".json")
SYSTEMS: Final = 3
SEED: Final = 20
TYPICAL: Final = 0.9
"""A warning belongs to a world where this share of its campaigns has it."""
Kind = Literal["size", "coverage"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One claim in one world. found: of n campaigns, how many (or the sum of shares) erred or held the truth.

    warnings: what the program said in nearly all of these campaigns and not in those of the clean world.
    """

    claim: str
    world: WorldName
    kind: Kind
    nominal: float
    found: float
    n: int
    warnings: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        """Share of the campaigns."""
        return self.found / self.n

    @property
    def margin(self) -> float:
        """Three standard errors at the nominal level."""
        return float(3 * (self.nominal * (1 - self.nominal) / self.n) ** 0.5)

    @property
    def kept(self) -> bool:
        """Whether the claim keeps its level, but for chance."""
        if self.kind == "size":
            return self.rate <= self.nominal + self.margin
        return self.rate >= self.nominal - self.margin

    @property
    def warned(self) -> bool:
        """Whether the program said something in this world that it does not say of clean campaigns."""
        return bool(self.warnings)


@dataclass(frozen=True, slots=True)
class Trial:
    """Findings of one simulated campaign by claim, and what was said beside them."""

    found: Mapping[str, float]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claimant:
    """What makes claims. claims: name → (kind, nominal). tried: one simulated campaign of a world."""

    name: str
    claims: Mapping[str, tuple[Kind, float]]
    tried: Callable[[World, int], Trial | None]


def by_recipe(recipe: Recipe) -> Claimant:
    """The claims of a ranking: that one system is better, the intervals of differences, the rank sets."""
    pairwise = recipe.adjust not in {"holm", "maxT"}
    sides = 2 if pairwise and recipe.alternative == "greater" else 1
    claims: dict[str, tuple[Kind, float]] = {
        "pairs claimed" if pairwise else "any pair claimed": ("size", sides * recipe.alpha)
    }
    if recipe.name == "recommended":
        claims |= {
            "interval of a difference": ("coverage", 1 - recipe.alpha),
            "rank sets": ("coverage", 1 - recipe.alpha),
        }
    return Claimant(f"`{recipe.name}`", claims, partial(_rank_once, recipe=recipe))


_NAMES: Final = {
    "pairs claimed": "pairs_claimed",
    "any pair claimed": "any_claim",
    "interval of a difference": "difference_interval",
    "rank sets": "rank_sets",
}


def _rank_once(world: World, number: int, *, recipe: Recipe) -> Trial | None:
    rng = np.random.Generator(np.random.PCG64([SEED, number]))
    rows = campaign(world, rng, np.zeros(SYSTEMS))
    topics = topics_of(world, rows)
    found, warnings = dict[str, float](), tuple[str, ...]()
    for part in _looks(world, rows):
        try:
            ranking = rank(part, recipe, topics)
        except Invalid:
            return None
        findings = found_in(ranking, _TRUTH)
        for name in _NAMES.values():
            if name in findings:  # asked several times, to have claimed once is to have claimed
                found[name] = max(found.get(name, 0.0), findings[name]) if "claim" in name else findings[name]
        warnings = _said(ranking)
    return Trial({name: found[own] for name, own in _NAMES.items() if own in found}, warnings)


_TRUTH: Final = Truth({f"S{i:02}": 0.0 for i in range(SYSTEMS)})


def topics_of(world: World, rows: Ratings) -> Documents:
    """What is known of the documents: their topics as domains, in worlds that have several."""
    n = len(rows.labels.documents)
    lengths = np.bincount(rows.labels.segment_document, minlength=n).astype(np.int32)
    return Documents(_domains(world, n), ("test",) * n, lengths, np.full(n, -1, dtype=np.int32))


def _domains(world: World, n: int) -> tuple[str, ...]:
    made: Design = world.design(np.random.Generator(np.random.PCG64(SEED)), SYSTEMS)
    if world.topics == 1:
        return ("all",) * n
    return tuple(f"topic-{topic}" for topic in made.topic[:n])


def _looks(world: World, rows: Ratings) -> Iterator[Ratings]:
    n = len(rows.labels.documents)
    for look in world.looks:
        yield rows if look == 1 else rows.where(rows.document < ceil(look * n))


def _said(ranking: Ranking) -> tuple[str, ...]:
    return ranking.warnings


def cells(claimant: Claimant, n: int, worlds: Sequence[WorldName] = tuple(WORLDS)) -> list[Cell]:
    """Every claim of a claimant in every world."""
    made, clean = list[Cell](), Counter[str]()
    for world in sorted(worlds, key=lambda name: name != "clean"):
        trials = [trial for number in range(n) if (trial := claimant.tried(WORLDS[world], number)) is not None]
        told = Counter(shape(one) for trial in trials for one in set(trial.warnings))
        words = {shape(one): one for trial in trials for one in trial.warnings}
        if world == "clean":
            clean = told
        new = sorted(
            words[one]
            for one, count in told.items()
            if count >= TYPICAL * len(trials) and (world == "clean" or clean[one] < TYPICAL * n)
        )
        for claim, (kind, nominal) in claimant.claims.items():
            values = [trial.found[claim] for trial in trials if claim in trial.found]
            if values:
                name = f"{claimant.name}: {claim}"
                made.append(Cell(name, world, kind, nominal, round(sum(values), 6), len(values), tuple(new)))
    return made


def shape(warning: str) -> str:
    """A warning without its figures, so that the same one of two campaigns is the same."""
    return "".join("#" if c.isdigit() else c for c in warning).replace("#.#", "#")


def claimants() -> list[Claimant]:
    """All that makes claims."""
    return [by_recipe(recipe) for recipe in NAMED.values()]


def _of(part: tuple[str, WorldName], n: int) -> list[Cell]:
    name, world = part
    claimant = next(one for one in claimants() if one.name == name)
    return cells(claimant, n, tuple(dict.fromkeys(("clean", world))))


def measure(n: int, processes: int) -> list[Cell]:
    """All cells."""
    parts = list(product([one.name for one in claimants()], WORLDS))
    with ProcessPoolExecutor(processes) as pool:
        return [cell for found in pool.map(partial(_of, n=n), parts) for cell in found]


def main() -> None:
    """Measure, write the figures, and make the page and the picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000, help="simulated campaigns a cell")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    found = measure(asked.campaigns, asked.processes)
    MEASURED.write_text(json.dumps([asdict(cell) for cell in found], indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
