"""How long compiling a large plan takes: `python -m benchmarks.plans [--documents N --systems N --raters N]`.

1,000 documents of 1 to 10 segments × 30 systems × 100 raters, with buckets, overlap and control items.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping

import numpy as np

from app.design.compile import compile_plan
from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.parse import parse_design
from app.design.plan import Plan

DESIGNS: Mapping[str, Mapping[str, object]] = {
    "psxs, two ratings, evened out": {"ratings_per_item": 2, "even_out": True},
    "psxs, one rating, overlap, controls": {
        "controls": {"bad_reference": {"rate": 0.1}, "repeat": {"rate": 0.05}},
        "task": {"split_documents": "over_max_segments"},
    },
    "system-balanced, one rating": {"grouping": "system_balanced"},
    "no grouping, normalized entropy 0.8": {"grouping": "none", "balance": {"entropy": 0.8}, "overlap": None},
}


def world(documents: int, systems: int, raters: int) -> tuple[TestSet, list[System], list[Rater]]:
    """Make a synthetic campaign: 5 to 40 words per segment, no two outputs the same."""
    rng = np.random.default_rng(20261120)
    made = tuple(
        DocumentToPlan(f"d{n:05}", tuple(rng.integers(5, 41, size=int(rng.integers(1, 11))).tolist()))
        for n in range(documents)
    )
    compared = [System(f"s{n:03}") for n in range(systems)]
    outputs = {
        (one.key, system.key): tuple(f"{one.key}/{system.key}/{n}" for n in range(one.n_segments))
        for one in made
        for system in compared
    }
    return TestSet(made, outputs), compared, [Rater(f"r{n:04}") for n in range(raters)]


def measure(documents: int, systems: int, raters: int) -> dict[str, dict[str, float | int]]:
    """Return seconds, tasks and items for each design."""
    given = world(documents, systems, raters)
    result: dict[str, dict[str, float | int]] = {}
    for name, design in DESIGNS.items():
        started = time.perf_counter()
        plan: Plan = compile_plan(parse_design(dict(design)), *given, seed=1)
        seconds = time.perf_counter() - started
        items = sum(len(task.items) for task in plan.tasks)
        result[name] = {"seconds": round(seconds, 2), "tasks": len(plan.tasks), "items": items}
    return result


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--systems", type=int, default=30)
    parser.add_argument("--raters", type=int, default=100)
    asked = parser.parse_args()
    print(json.dumps(measure(asked.documents, asked.systems, asked.raters), indent=2))


if __name__ == "__main__":
    main()
