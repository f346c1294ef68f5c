"""Made-up campaigns for the tests of the design compiler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from app.design.compile import compile_plan
from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.parse import parse_design
from app.design.plan import Plan, PlanItem, Task

World = tuple[TestSet, list[System], list[Rater]]


def world(documents: int, systems: int, raters: int, *, longest: int = 6, seed: int = 0) -> World:
    """Documents of 1 to `longest` segments with a reference; all texts differ; each rater is one person."""
    rng = np.random.default_rng(seed)
    made = tuple(
        DocumentToPlan(
            f"d{n:03}",
            tuple(rng.integers(3, 30, size=int(rng.integers(1, longest + 1))).tolist()),
            domain=("news", "social")[n % 2],
            references=("refA",),
        )
        for n in range(documents)
    )
    compared = [System(f"s{n:02}") for n in range(systems)]
    outputs = {
        (one.key, system.key): tuple(f"{one.key}/{system.key}/{n}" for n in range(one.n_segments))
        for one in made
        for system in compared
    }
    return TestSet(made, outputs), compared, [Rater(f"r{n:02}") for n in range(raters)]


def compiled(design: Mapping[str, Any], given: World, seed: int = 1) -> Plan:
    """The plan of a design given as JSON."""
    return compile_plan(parse_design(dict(design)), *given, seed=seed)


def group_loads(plan: Plan) -> dict[int, dict[str, int]]:
    """Groups of every rater in every bucket, raters without any too."""
    loads = {bucket.number: dict.fromkeys(bucket.raters, 0) for bucket in plan.buckets}
    for group in plan.groups:
        loads[group.bucket][group.rater] += 1
    return loads


def ratings_of(plan: Plan) -> dict[tuple[str, int, int, str], list[str]]:
    """The raters of every output that a judgment is credited to, by (document, first, last, system)."""
    found: dict[tuple[str, int, int, str], list[str]] = defaultdict(list)
    for task, item in rated(plan):
        for system in item.systems:
            found[item.document, item.first, item.last, system].append(task.rater)
    return found


def rated(plan: Plan) -> list[tuple[Task, PlanItem]]:
    """Regular items, with their tasks."""
    return [(task, item) for task in plan.tasks for item in task.items if item.role == "rating"]


def sittings(plan: Plan) -> list[list[PlanItem]]:
    """The items of every task, those of the tasks of a chain together."""
    found: dict[tuple[bool, int], list[PlanItem]] = defaultdict(list)
    for task in plan.tasks:
        found[task.chain is None, task.number if task.chain is None else task.chain] += task.items
    return list(found.values())
