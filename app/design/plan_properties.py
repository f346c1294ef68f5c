"""Properties of a plan: loads, balance, co-occurrence, positions, connectivity, controls, expected judgments."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from app.design.control_positions import KINDS, ControlPositions, count_controls_by_position
from app.design.design_inputs import WorkSize
from app.design.entropy import normalized_entropy
from app.design.plan import Plan, PlanItem, Task

OVERSHOOT = 1.25


@dataclass(frozen=True, slots=True)
class PlannedRaterLoad:
    """A rater's work. groups: planned groups; size: all items, including control and calibration items."""

    rater: str
    tasks: int
    groups: int
    size: WorkSize


@dataclass(frozen=True, slots=True)
class LoadSpread:
    """Of the loads of some raters: largest − smallest, in groups and in regular items. bucket None: over all."""

    bucket: str | None
    groups: int
    items: int


@dataclass(frozen=True, slots=True)
class UnmetRecommendation:
    """A recommendation (Riley et al. 2024, §3) that a design does not follow, and what that costs."""

    recommendation: str
    instead: str
    cost: str


@dataclass(frozen=True, slots=True)
class ControlItemDensity:
    """Shares of control items.

    asked: all rates together. least, mean: over tasks, where tasks of a chain count as one. overall: of all items that
    are not calibration items.
    """

    asked: float
    least: float
    mean: float
    overall: float

    @property
    def is_far_above_requested(self) -> bool:
        """Whether there are over a quarter more control items than requested."""
        return self.overall > OVERSHOOT * self.asked


@dataclass(frozen=True, slots=True)
class PlanProperties:
    """The report of a plan.

    normalized_entropy: of regular items over raters. rater_system: regular items of each system by rater.
    system_system: tasks with regular items of both; the diagonal counts tasks with the system (Knowles 2021, §5.4).
    together: the least system_system[i, j] / system_system[i, i]. positions: largest − smallest number of times that a
    system is in one of the positions of a group. connected: sets of raters that share systems or documents with no
    other set; several sets cannot be compared. control_density: None without controls; places: the positions of
    controls in their tasks. pair_judgments: judgments in which the same rater judged a pair of systems on the same
    stretch, minimum over pairs. rated_twice: stretches with several raters; rater_pairs: pairs of raters with common
    items, out of all pairs.
    """

    loads: tuple[PlannedRaterLoad, ...]
    spreads: tuple[LoadSpread, ...]
    normalized_entropy: float
    rater_system: Mapping[str, Mapping[str, int]]
    system_system: Mapping[str, Mapping[str, int]]
    together: float
    positions: int
    connected: tuple[tuple[str, ...], ...]
    control_density: ControlItemDensity | None
    places: tuple[ControlPositions, ...]
    pair_judgments: int
    rated_twice: int
    rater_pairs: tuple[int, int]
    total: WorkSize
    departures: tuple[UnmetRecommendation, ...]
    estimable: tuple[str, ...]


def compute_plan_properties(plan: Plan) -> PlanProperties:
    """Compute the properties of a plan.

    Source: Riley et al. 2024, §6.1.2 (entropy), §3 (recommendations); Knowles 2021, §5.4; docs/designs.md.
    """
    rated = [(task, item) for task in plan.tasks for item in task.items if item.role == "rating"]
    rater_system = _rater_system(plan, rated)
    together = _system_system(plan)
    return PlanProperties(
        loads=_loads(plan),
        spreads=_spreads(plan, rated),
        normalized_entropy=_entropy(plan, rated),
        rater_system=rater_system,
        system_system=together,
        together=min(
            (row[other] / row[name] for name, row in together.items() if row[name] for other in row), default=1.0
        ),
        positions=_positions(plan),
        connected=group_connected_raters(rated, plan.raters),
        control_density=compute_control_item_density(plan),
        places=count_controls_by_position(plan),
        pair_judgments=_pair_judgments(plan, rated),
        rated_twice=len({(g.unit, g.bucket) for g in plan.groups if g.nth > 1}),
        rater_pairs=_rater_pairs(plan),
        total=_total(plan.tasks),
        departures=list_unmet_recommendations(plan),
        estimable=_estimable(plan),
    )


Rated = list[tuple[Task, PlanItem]]


def _total(tasks: tuple[Task, ...]) -> WorkSize:
    return sum((task.size for task in tasks), WorkSize())


def _loads(plan: Plan) -> tuple[PlannedRaterLoad, ...]:
    groups = Counter(group.rater for group in plan.groups)
    tasks: dict[str, list[Task]] = {rater: [] for rater in plan.raters}
    for task in plan.tasks:
        tasks[task.rater].append(task)
    return tuple(
        PlannedRaterLoad(rater, len(mine), groups[rater], _total(tuple(mine))) for rater, mine in sorted(tasks.items())
    )


def _spreads(plan: Plan, rated: Rated) -> tuple[LoadSpread, ...]:
    bucket_of = {group.number: group.bucket for group in plan.groups}
    groups = Counter((group.bucket, group.rater) for group in plan.groups)
    items = Counter((bucket_of[item.group], task.rater) for task, item in rated if item.group)
    result = []
    for bucket in plan.buckets:
        held = [(groups[bucket.number, rater], items[bucket.number, rater]) for rater in bucket.raters]
        result.append(LoadSpread(bucket.name, *_ranges(held)))
    used = sorted({rater for bucket in plan.buckets for rater in bucket.raters})
    whole = [
        (sum(groups[b.number, rater] for b in plan.buckets), sum(items[b.number, rater] for b in plan.buckets))
        for rater in used
    ]
    return (*result, LoadSpread(None, *_ranges(whole)))


def _ranges(held: list[tuple[int, int]]) -> tuple[int, int]:
    """Return largest − smallest of each count; 0 if there are no raters."""
    groups, items = [n for n, _ in held] or [0], [n for _, n in held] or [0]
    return max(groups) - min(groups), max(items) - min(items)


def _entropy(plan: Plan, rated: Rated) -> float:
    items = Counter(task.rater for task, _ in rated)
    return float(normalized_entropy(np.array([items[rater] for rater in plan.raters], dtype=np.int64)))


def _rater_system(plan: Plan, rated: Rated) -> Mapping[str, Mapping[str, int]]:
    table = {rater: dict.fromkeys(plan.systems, 0) for rater in plan.raters}
    for task, item in rated:
        for system in item.systems:
            table[task.rater][system] += 1
    return table


def _system_system(plan: Plan) -> Mapping[str, Mapping[str, int]]:
    code = {name: n for n, name in enumerate(plan.systems)}
    held = np.zeros((len(plan.tasks), len(plan.systems)), dtype=np.int64)
    for n, task in enumerate(plan.tasks):
        held[n, [code[name] for item in task.items if item.role == "rating" for name in item.systems]] = 1
    counts = (held.T @ held).tolist()
    return {name: dict(zip(plan.systems, row, strict=True)) for name, row in zip(plan.systems, counts, strict=True)}


def _positions(plan: Plan) -> int:
    """Return the largest − smallest count of a system in a position within its group, over systems and positions."""
    order: dict[int, list[PlanItem]] = defaultdict(list)
    for task in plan.tasks:
        for item in task.items:
            if item.group is not None and item.role == "rating":
                order[item.group].append(item)
    whole = [items for items in order.values() if len(items) == len(plan.systems)]
    if not whole or len(plan.systems) < 2:
        return 0
    counts = Counter((item.systems[0], place) for items in whole for place, item in enumerate(items))
    held = [counts[name, place] for name in plan.systems for place in range(len(plan.systems))]
    return max(held) - min(held)


def group_connected_raters(rated: Rated, raters: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return sets of raters connected by common systems or documents; raters without regular items are left out.

    Differences between two sets without a common system or document cannot be separated from differences between
    systems: a mixed model of such a design is not identified.

    Raters who judge the same system are comparable through it, so few designs are disconnected.
    """
    parent: dict[tuple[str, str], tuple[str, str]] = {}

    def root(node: tuple[str, str]) -> tuple[str, str]:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for task, item in rated:
        for other in [("document", item.document), *(("system", name) for name in item.systems)]:
            parent[root(other)] = root(("rater", task.rater))
    sets: dict[tuple[str, str], list[str]] = defaultdict(list)
    for rater in raters:
        if ("rater", rater) in parent:
            sets[root(("rater", rater))].append(rater)
    return tuple(tuple(members) for members in sets.values())


def compute_control_item_density(plan: Plan) -> ControlItemDensity | None:
    """Compute the density of control items in the tasks of a plan; None if its design requests none."""
    if not plan.design.controls.has_any_control:
        return None
    roles: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for task in plan.tasks:  # tasks of a chain share theirs
        together = ("task", task.number) if task.chain is None else ("chain", task.chain)
        roles[together].update(item.role for item in task.items)
    held = [(sum(each[kind] for kind in KINDS), each["rating"]) for each in roles.values() if each["rating"]]
    if not held:
        return None
    shares = [n / (n + ratings) for n, ratings in held]
    everything = sum(n for n, _ in held) / sum(n + ratings for n, ratings in held)
    return ControlItemDensity(plan.design.controls.total_rate, min(shares), sum(shares) / len(shares), everything)


def _pair_judgments(plan: Plan, rated: Rated) -> int:
    seen: dict[tuple[str, str, int], set[str]] = defaultdict(set)
    for task, item in rated:
        seen[task.rater, item.document, item.first].update(item.systems)
    counts = Counter(pair for names in seen.values() for pair in combinations(sorted(names), 2))
    return min((counts[pair] for pair in combinations(plan.systems, 2)), default=0)


def _rater_pairs(plan: Plan) -> tuple[int, int]:
    by_unit: dict[int, list[str]] = defaultdict(list)
    if plan.design.structure != "latin_square":  # in Latin squares a unit is a sentence, and no output has two raters
        for group in plan.groups:
            by_unit[group.unit].append(group.rater)
    rater_pairs = {pair for raters in by_unit.values() for pair in combinations(sorted(raters), 2)}
    n = len(plan.raters)
    return len(rater_pairs), n * (n - 1) // 2


def list_unmet_recommendations(plan: Plan) -> tuple[UnmetRecommendation, ...]:
    """List where a design deviates from the recommendations of Riley et al. 2024 (§3), and what this costs.

    The figures follow from the variance components of WMT23 zh-en and en-de (`app/stats/planning/power_and_cost.py`);
    tests/stats/planning/test_power_and_cost.py checks them.
    """
    design = plan.design
    sentences = []
    if design.grouping != "psxs":
        cost = {
            "none": "2.3 to 3.4 times as many documents for the precision of pSxS (MQM of 2023)",
            "system_balanced": "1.3 to 1.7 times as many documents for the precision of pSxS (MQM of 2023)",
        }[design.grouping]
        sentences.append(
            UnmetRecommendation("one rater judges all outputs of a document (pSxS)", design.grouping, cost)
        )
    if design.balance.kind != "full":
        balance = "by capacity" if design.balance.kind == "capacity" else f"entropy {design.balance.entropy:g}"
        cost = "a few raters decide the ranking: their preferences weigh more, and fewer pairs replicate"
        sentences.append(UnmetRecommendation("equal work for all raters", balance, cost))
    if design.ratings_per_item > 1:
        balance = f"{design.ratings_per_item} ratings per item"
        cost = "fewer documents for the same money; half of the documents rated twice was less stable than all once"
        sentences.append(UnmetRecommendation("one rating per item, more documents", balance, cost))
    return tuple(sentences)


def _estimable(plan: Plan) -> tuple[str, ...]:
    """Say what can be estimated from the ratings afterwards, and what cannot."""
    twice, of = _rater_pairs(plan)
    if plan.design.structure == "latin_square":
        return ("post-edits of every sentence by every rater; no agreement: no output is edited twice",)
    if twice:
        return (f"agreement of raters, over {twice} of {of} pairs", "variance components of raters and the residual")
    return (
        "no agreement of raters: no output is judged by two people",
        "no variance components of raters against documents: severity is separated only from systems",
    )
