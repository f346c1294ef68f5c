"""Control items cannot be told by where they stand in a task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest
from scipy.stats import chi2

from app.design.control_positions import ControlPositions, count_controls_by_position
from app.design.design_choices import Grouping, Structure
from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.parse import MIXES
from app.design.plan import Plan, Task
from tests.design.worlds import compiled, world

RATES = {"bad_reference": {"rate": 0.1}, "repeat": {"rate": 0.1, "min_distance": 6}, "reference": {"rate": 0.1}}
DESIGNS: dict[str, dict[str, Any]] = {
    **{structure: {"structure": structure} for structure in get_args(Structure)},
    **{grouping: {"grouping": grouping} for grouping in get_args(Grouping)},
    **{
        f"{structure} {mix}": {"structure": structure, "controls": {"mix": mix}}
        for structure in ("sr_dc", "sr_plus_dc")
        for mix in MIXES
    },
    "in order": {"task": {"shuffle": "none", "max_segments": 40}},
    "columns": {"task": {"columns": 2, "max_segments": 60}},
    "short": {"task": {"max_segments": 30}},
    "too far": {"controls": {"repeat": {"rate": 0.1, "min_distance": 10_000}}},
    "one document": {"task": {"max_segments": 24, "split_documents": "over_max_segments"}},
}
SHORTER = {"max_segments": 40, "max_items": 40}


def open_places(plan: Plan, role: str) -> Iterator[tuple[Task, list[int]]]:
    """Each task with the positions, from 0, at which a control of a kind may stand.

    What is shown again stands after something that was judged, as far away as asked; in columns all controls are.
    """
    again = role == "repeat" or plan.design.task.columns > 1
    distance = plan.design.controls.min_distance % 10_000  # of one that nothing keeps, nothing is left
    for rater in plan.raters:
        at, first_end = 0, None
        for task in plan.tasks_of_rater(rater):
            able = []
            for n, item in enumerate(task.items):
                far = first_end is not None and at - first_end >= distance
                able += [n] if far or not again else []
                at += item.last - item.first + 1
                first_end = at if first_end is None and item.role == "rating" else first_end
            yield task, able


def tenths(plan: Plan, role: str) -> np.ndarray[Any, Any]:
    """How many controls of a kind stand in each tenth of their tasks, and how many would by chance, shape (2, 10)."""
    found = np.zeros((2, 10))
    for task, able in open_places(plan, role):
        tenth = (np.arange(len(task.items)) * 10 + 5) // len(task.items)
        held = [n for n in able if task.items[n].role == role]
        found[0] += np.bincount(tenth[held], minlength=10)
        if held:
            found[1] += np.bincount(tenth[able], minlength=10) * len(held) / len(able)
    return found


@pytest.mark.parametrize("seeds", [8, pytest.param(20, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", DESIGNS)
def test_every_place_that_is_open_to_a_control_is_as_likely(name: str, seeds: int) -> None:
    design = {"overlap": None, "controls": RATES, **DESIGNS[name]}
    if design.get("structure") == "alternate_2018":
        design |= {"controls": {"bad_reference": RATES["bad_reference"]}}
    if design.get("structure") in ("sr_dc", "alternate_2018"):
        design |= {"task": SHORTER}
    roles = {"alternate_2018": ["degraded"], "too far": ["repeat"]}.get(name, ["degraded", "repeat", "reference"])
    found = {role: np.zeros((2, 10)) for role in roles}
    for seed in range(seeds):
        plan = compiled(design, world(24, 4, 3, longest=5, seed=seed), seed=seed)
        for role in roles:
            found[role] += tenths(plan, role)
    for role, (seen, expected) in found.items():
        assert seen.sum() > 100, role
        p = chi2.sf(((seen - expected) ** 2 / expected).sum(), 9)
        assert p > 0.001, (role, p, seen.tolist(), expected.round(1).tolist())


def test_control_documents_stand_beside_their_regular_copy_no_more_than_chance_has_it() -> None:
    beside = of = 0
    for seed in range(5):
        plan = compiled({"structure": "sr_plus_dc", "overlap": None}, world(30, 4, 2, seed=seed), seed=seed)
        for task in plan.tasks:
            degraded = [item for item in task.items if item.role == "degraded" and item.of]
            beside += sum(item.of is not None and abs(item.of.position - item.position) == 1 for item in degraded)
            of += len(degraded)
    assert of > 100
    assert beside / of < 0.2  # 0.8 before they were shuffled with the others


def test_the_report_tells_what_structure_makes_places_guessable() -> None:
    """Where a rater has one document of 24 segments in all, a distance of 20 leaves repeats the end of it."""
    rates = {"bad_reference": {"rate": 0.1}, "repeat": {"rate": 0.1, "min_distance": 20}}
    documents = tuple(DocumentToPlan(f"d{n:02}", (9,) * 3) for n in range(30))
    systems = [System(f"s{n}") for n in range(8)]
    outputs = {(d.key, s.key): tuple(f"{d.key}{s.key}{n}" for n in range(3)) for d in documents for s in systems}

    def places(raters: int) -> dict[str, ControlPositions]:
        people = [Rater(f"r{n}") for n in range(raters)]
        plan = compiled({"overlap": None, "controls": rates}, (TestSet(documents, outputs), systems, people))
        return {one.kind: one for one in count_controls_by_position(plan)}

    alone, several = places(30), places(3)
    for one in (*alone.values(), *several.values()):
        assert sum(one.counts) == pytest.approx(sum(one.by_chance))
    assert sum(alone["repeat"].counts[:7]) == 0
    assert alone["repeat"].misplaced_share > 0.6
    assert {kind for kind, one in alone.items() if one.is_guessable} == {"repeat"}
    assert not any(one.is_guessable for one in several.values())
