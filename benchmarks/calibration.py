"""How often claims err where campaigns are as people have them: `python -m benchmarks.calibration`.

Every claim is tried in every world of `app.stats.validation.worlds`, in which no system is better than another (or the
candidate stands at the border of what a gate claims). The figures go to benchmarks/calibration.json, from which
`docs/calibration.md` and its picture are made.

`--campaigns` is the number of simulated campaigns a cell; with 1,000 all cells take about half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import ceil, sqrt
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
from scipy import special

from app.domain.errors import Invalid
from app.domain.recipe import NAMED, Recipe
from app.reports.forecast.report import list_few_document_warnings
from app.reports.gate.caveats import list_decision_caveats
from app.reports.gate.earlier_looks import EarlierLooks
from app.stats.aggregate import average_ratings_per_segment, make_score_matrix
from app.stats.gate.gate import GateRule, decide_claim
from app.stats.inference.by_document import estimate_ratio_precision
from app.stats.quality.quality_criteria import CHECKS
from app.stats.quality.report import make_rater_quality_report
from app.stats.ranking import caveats
from app.stats.ranking.design_checks import group_systems_linked_by_raters
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import COLUMNS, Floats, Ratings
from app.stats.validation.designs import SingleRatingDesign
from app.stats.validation.study_findings import TrueScores, compare_ranking_with_truth
from app.stats.validation.worlds import WORLDS, SimulatedWorld, WorldName, simulate_campaign

MEASURED: Final = Path(__file__).with_suffix(".json")
SYSTEMS: Final = 3
SEED: Final = 20
TYPICAL: Final = 0.9
"""A warning belongs to a world if this share of its campaigns has it."""
Kind = Literal["size", "coverage"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One claim in one world. found: the number of campaigns (or sum of shares), of n, that erred or held the truth.

    warnings: what the program said about the properties of this world in nearly all of these campaigns.
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
        """The share of campaigns."""
        return self.found / self.n

    @property
    def margin(self) -> float:
        """Three standard errors at the nominal level."""
        return float(3 * (self.nominal * (1 - self.nominal) / self.n) ** 0.5)

    @property
    def kept(self) -> bool:
        """Whether the claim keeps its level, apart from chance."""
        if self.kind == "size":
            return self.rate <= self.nominal + self.margin
        return self.rate >= self.nominal - self.margin

    @property
    def warned(self) -> bool:
        """Whether the program warned about the properties of this world."""
        return bool(self.warnings)


@dataclass(frozen=True, slots=True)
class Trial:
    """The findings of one simulated campaign by claim, and the warnings of the program."""

    found: Mapping[str, float]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claimant:
    """Something that makes claims. claims: name → (kind, nominal). tried: simulates one campaign of a world."""

    name: str
    claims: Mapping[str, tuple[Kind, float]]
    tried: Callable[[SimulatedWorld, int], Trial | None]


def by_recipe(recipe: Recipe) -> Claimant:
    """Return the claims of a ranking: one system is better, intervals of differences, rank sets."""
    pairwise = recipe.adjust not in {"holm", "maxT"}
    sides = 2 if pairwise and recipe.alternative == "greater" else 1
    claims: dict[str, tuple[Kind, float]] = {
        "pairs claimed" if pairwise else "any pair claimed": ("size", sides * recipe.alpha)
    }
    if recipe.name == "recommended":
        claims |= {
            "interval of a difference": ("coverage", 1 - recipe.alpha),
            "interval for new raters": ("coverage", 1 - recipe.alpha),
            "interval for new domains": ("coverage", 1 - recipe.alpha),
            "interval of a score": ("coverage", 1 - recipe.alpha),
            "rank sets": ("coverage", 1 - recipe.alpha),
        }
    return Claimant(f"`{recipe.name}`", claims, partial(_rank_once, recipe=recipe))


_NAMES: Final = {
    "pairs claimed": "pairs_claimed",
    "any pair claimed": "any_claim",
    "interval of a difference": "difference_interval",
    "interval for new raters": "new_raters_interval",
    "interval for new domains": "new_domains_interval",
    "interval of a score": "score_interval",
    "rank sets": "rank_sets",
}


def _rank_once(world: SimulatedWorld, number: int, *, recipe: Recipe) -> Trial | None:
    rng = np.random.Generator(np.random.PCG64([SEED, number]))
    rows = simulate_campaign(world, rng, np.zeros(SYSTEMS))
    topics = topics_of(world, rows)
    found, warnings = dict[str, float](), tuple[str, ...]()
    for part in _looks(world, rows):
        try:
            ranking = rank_systems(part, recipe, topics)
        except Invalid:
            return None
        findings = compare_ranking_with_truth(ranking, _TRUTH)
        for name in _NAMES.values():
            if name in findings:  # if the data are tested several times, one claim is enough
                found[name] = max(found.get(name, 0.0), findings[name]) if "claim" in name else findings[name]
        warnings = _said(ranking)
    return Trial({name: found[own] for name, own in _NAMES.items() if own in found}, warnings)


_EQUAL: Final = {f"S{i:02}": 0.0 for i in range(SYSTEMS)}
_TRUTH: Final = TrueScores(_EQUAL, values=_EQUAL)


def topics_of(world: SimulatedWorld, rows: Ratings) -> DocumentTable:
    """Return what is known about the documents: their topics, as domains, in worlds that have several."""
    n = len(rows.labels.documents)
    lengths = np.bincount(rows.labels.segment_document, minlength=n).astype(np.int32)
    return DocumentTable(_domains(world, n), ("test",) * n, lengths, np.full(n, -1, dtype=np.int32))


def _domains(world: SimulatedWorld, n: int) -> tuple[str, ...]:
    made: SingleRatingDesign = world.make_design(np.random.Generator(np.random.PCG64(SEED)), SYSTEMS)
    if world.topics == 1:
        return ("all",) * n
    return tuple(f"topic-{topic}" for topic in made.topic[:n])


def _looks(world: SimulatedWorld, rows: Ratings) -> Iterator[Ratings]:
    n = len(rows.labels.documents)
    for look in world.looks:
        yield rows if look == 1 else rows.where(rows.document < ceil(look * n))


def _said(ranking: Ranking) -> tuple[str, ...]:
    return (*ranking.warnings, *ranking.notes)


def cells(claimant: Claimant, n: int, worlds: Sequence[WorldName] = tuple(WORLDS)) -> list[Cell]:
    """Simulate every claim of a claimant in every world."""
    made = list[Cell]()
    for world in worlds:
        trials = [trial for number in range(n) if (trial := claimant.tried(WORLDS[world], number)) is not None]
        told = Counter(shape(one) for trial in trials for one in set(trial.warnings))
        words = {shape(one): one for trial in trials for one in trial.warnings}
        about = sorted(
            words[one] for one, count in told.items() if count >= TYPICAL * len(trials) and is_about(words[one], world)
        )
        for claim, (kind, nominal) in claimant.claims.items():
            values = [trial.found[claim] for trial in trials if claim in trial.found]
            if values:
                name = f"{claimant.name}: {claim}"
                made.append(Cell(name, world, kind, nominal, round(sum(values), 6), len(values), tuple(about)))
    return made


ABOUT: Final[Mapping[WorldName, str]] = MappingProxyType(
    {
        "few_documents": r"documents",
        "uneven": r"equally long|one document holds",
        "one_giant": r"equally long|one document holds",
        "one_larger_giant": r"equally long|one document holds",
        "topics": r"domains?",
        "rater_system": r"[0-9]+ raters?:|new raters",
        "confounded": r"confounded|no rater links",
        "disconnected": r"confounded|no rater links",
        "skewed": r"rare|skewed|other shapes",
        "weak_null": r"rare|skewed|other shapes",
        "peeking": r"one look|compared before",
    }
)
"""Words of a warning about the properties of a world. A warning about dependent segments fits all worlds."""


def is_about(warning: str, world: WorldName) -> bool:
    """Return whether a warning is about what distinguishes this world from the clean one, or dependent segments."""
    return bool(re.search(ABOUT.get(world, "(?!)"), warning)) or "segments of a document are alike" in warning


def shape(warning: str) -> str:
    """Return a warning without its figures, so that the same warning in two campaigns compares as equal."""
    return "".join("#" if c.isdigit() else c for c in warning).replace("#.#", "#")


def by_gate(rule: GateRule) -> Claimant:
    """Return a claim of the gate about a candidate that lies on the border of this claim."""
    name = rule.claim.replace("_", " ")
    return Claimant("gate", {name: ("size", rule.alpha)}, partial(_gate_once, rule=rule))


def _gate_once(world: SimulatedWorld, number: int, *, rule: GateRule) -> Trial:
    rng = np.random.Generator(np.random.PCG64([SEED, number]))
    border = {"better": 0.0, "not_worse": -rule.margin, "equivalent": rule.margin}[rule.claim]
    rows = simulate_campaign(world, rng, np.array([0.0, border]))
    if len(group_systems_linked_by_raters(rows)) > 1:  # the gate refuses such pairs
        return Trial({rule.claim.replace("_", " "): 0.0}, (UNLINKED,))
    ranking = rank_systems(rows, _LIGHT, topics_of(world, rows))
    sums, counts = _by_document(rows)
    decisions = [decide_claim(sums[:d], counts[:d], rule) for d in (ceil(look * counts.size) for look in world.looks)]
    asked_before = EarlierLooks(tuple(range(1, len(world.looks)))).list_warnings()
    warnings = (*_said(ranking), *list_decision_caveats(decisions[-1], rule), *asked_before)
    return Trial({rule.claim.replace("_", " "): float(any(one.holds for one in decisions))}, warnings)


UNLINKED: Final = "no rater links the two systems: the gate tells no difference"
_LIGHT: Final = replace(NAMED["recommended"], rank_sets=False, influence=False)
MARGIN: Final = 0.5


def by_forecast() -> Claimant:
    """Return the forecast of a pair's difference in a new study with its own documents, topics and raters."""
    return Claimant("forecast", {"difference of a new study": ("coverage", 0.95)}, _forecast_once)


def _forecast_once(world: SimulatedWorld, number: int) -> Trial:
    means = np.zeros(2)
    this, again = (
        simulate_campaign(world, np.random.Generator(np.random.PCG64([SEED, number, k])), means) for k in (0, 1)
    )
    (sums, counts), (new_sums, new_counts) = (_by_document(rows) for rows in (this, again))
    known = estimate_ratio_precision(sums, counts)
    # As in `stats.replication_forecast`.
    reach = sqrt(2) * float(known.error) * special.stdtrit(float(known.degrees), 0.975)
    apart = sums.sum() / counts.sum() - new_sums.sum() / new_counts.sum()
    domains = topics_of(world, this).domain_codes_and_labels()[0] if world.topics > 1 else None
    laid = make_score_matrix(average_ratings_per_segment(this), this.labels, domains=domains)
    said = (*caveats.make_document_claim_caveats(this, laid), *list_few_document_warnings(laid.n_documents))
    return Trial({"difference of a new study": float(abs(apart) <= reach)}, said)


def _by_document(rows: Ratings) -> tuple[Floats, Floats]:
    """Return the sum of the differences of two systems in each document, and its number of segments."""
    ahead = np.where(rows.system == 1, rows.score, -rows.score)
    sums = np.bincount(rows.document, weights=ahead).astype(np.float64)
    return sums, np.bincount(rows.document[rows.system == 0]).astype(np.float64)


def by_flags() -> Claimant:
    """Return the flags of the quality report, for honest raters: the share of campaigns in which any is raised."""
    claims: dict[str, tuple[Kind, float]] = {f"any {check} flag": ("size", 0.05) for check in CHECKS}
    return Claimant("quality", claims, _flags_once)


def _flags_once(world: SimulatedWorld, number: int) -> Trial | None:
    """Simulate a campaign in which two raters in turn rate every output, because flags compare raters."""
    if world.dealing != "all systems" or len(world.looks) > 1:
        return None
    drawn = world.make_design(np.random.Generator(np.random.PCG64([SEED, number])), SYSTEMS)
    parts = []
    for turn in range(2):
        made = replace(drawn, rater=(drawn.rater + turn) % world.raters)
        rng = np.random.Generator(np.random.PCG64([SEED, number, 1]))  # the same documents, systems and raters
        level = world.process.draw_system_levels_on_documents(made, rng, 1)[0]
        noise = np.random.Generator(np.random.PCG64([SEED, number, 2 + turn]))
        rows = made.make_ratings_scored_zero()
        scores = np.repeat(level, made.lengths, axis=1).ravel() + world.process.segment * noise.normal(size=len(rows))
        parts.append(rows.with_scores(scores))
    report = make_rater_quality_report(together(parts[0], parts[1]))
    raised = {check for rater in report.raters for check in rater.beyond}
    return Trial({f"any {check} flag": float(check in raised) for check in CHECKS}, report.warnings)


def together(first: Ratings, second: Ratings) -> Ratings:
    """Combine two ratings of the same outputs into one set of rows."""
    columns: dict[str, Any] = {name: np.concatenate((getattr(first, name), getattr(second, name))) for name in COLUMNS}
    columns["judgment"] = np.arange(columns["judgment"].size, dtype=np.int32)
    return replace(first, **columns).in_canonical_order()


def claimants() -> list[Claimant]:
    """Return everything that makes claims."""
    rules = (GateRule("better"), GateRule("not_worse", MARGIN), GateRule("equivalent", MARGIN))
    return [
        *(by_gate(rule) for rule in rules),
        *(by_recipe(recipe) for recipe in NAMED.values()),
        by_forecast(),
        by_flags(),
    ]


def _of(part: int, n: int) -> list[Cell]:
    claimant = claimants()[part]
    return cells(claimant, n if claimant.name in OURS else max(1, n * OTHERS // 100))


OURS: Final = ("gate", "`recommended`", "forecast")
OTHERS: Final = 10  # per cent of the campaigns, for flags and for recipes that are kept as published


def measure(n: int, processes: int) -> list[Cell]:
    """Simulate all cells."""
    with ProcessPoolExecutor(processes) as pool:
        return [cell for found in pool.map(partial(_of, n=n), range(len(claimants()))) for cell in found]


def main() -> None:
    """Measure, write the figures, and create the page and the picture."""
    from benchmarks import calibration_page  # reads what this module writes

    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000, help="simulated campaigns a cell")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    found = measure(asked.campaigns, asked.processes)
    found.sort(key=lambda cell: list(WORLDS).index(cell.world))
    lines = (json.dumps(asdict(cell), ensure_ascii=False) for cell in found)
    MEASURED.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    calibration_page.write()


if __name__ == "__main__":
    main()
