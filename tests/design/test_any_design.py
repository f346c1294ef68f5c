"""Whatever is asked: a plan that keeps its rules, or a refusal that says why; never anything else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from app.design.compile import compile_plan
from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.parse import parse_design
from app.design.plan_properties import compute_plan_properties
from app.design.replan import plan_remaining_tasks
from app.domain.errors import Invalid
from tests.design.worlds import World, ratings_of

LARGE = st.sampled_from([5, 12, 40, 100])


@st.composite
def worlds(draw: st.DrawFn) -> World:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    documents = tuple(
        DocumentToPlan(
            f"d{n}", tuple(rng.integers(1, 20, size=int(rng.integers(1, 9))).tolist()), references=("ref",)[n % 2 :]
        )
        for n in range(draw(st.integers(1, 12)))
    )
    systems = [System(f"s{n}") for n in range(draw(st.integers(1, 5)))]
    outputs = {
        (one.key, system.key): tuple(f"{one.key}{n}{rng.integers(3)}" for n in range(one.n_segments))
        for one in documents
        for system in systems
        if rng.random() < 0.9  # some outputs are missing, some are alike
    }
    persons = [None, None, "p"]
    raters = [Rater(f"r{n}", persons[int(rng.integers(3))], 400, "segments") for n in range(draw(st.integers(1, 6)))]
    return TestSet(documents, outputs, tuple(DocumentToPlan(f"c{n}", (5,)) for n in range(5))), systems, raters


designs = st.fixed_dictionaries(
    {},
    optional={
        "structure": st.sampled_from(["free", "sr_dc", "sr_plus_dc", "alternate_2018", "latin_square"]),
        "unit": st.sampled_from(["items", "segments", "words"]),
        "balance": st.sampled_from(["full", {"entropy": 0.8}, {"capacity": True}]),
        "even_out": st.booleans(),
        "ratings_per_item": st.integers(1, 3),
        "overlap": st.none(),
        "buckets": st.sampled_from([{"raters_per_bucket": 2}, {"explicit": [{"name": "x"}, {"name": "y"}]}]),
        "task": st.fixed_dictionaries({}, optional={"max_segments": LARGE, "columns": st.integers(1, 3)}),
        "arms": st.just([{"name": "a"}, {"name": "b"}]),
        "cross": st.sampled_from(["groups", "raters"]),
        "controls": st.just({"bad_reference": {"rate": 0.1}, "repeat": {"rate": 0.1}}),
        "calibration": st.sampled_from([{"set": "k", "sample": 3}, {"common_items": 3, "placement": "spread"}]),
    },
)


@pytest.mark.filterwarnings("error")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(designs, worlds(), st.integers(0, 10_000), st.floats(0, 1))
def test_a_design_is_compiled_by_its_rules_or_refused(
    design: dict[str, Any], given_world: World, seed: int, done: float
) -> None:
    test_set, systems, raters = given_world
    try:
        plan = compile_plan(parse_design(design), test_set, systems, raters, seed=seed)
    except Invalid as refused:
        event(str(refused)[:40])
        return
    event("compiled")
    limit = plan.design.task.max_segments
    for task in plan.tasks:
        whole = [item for item in task.items if item.role in ("rating", "calibration")]
        assert limit is None or task.size.segments <= limit or len(whole) == 1
    person = {rater.key: rater.person_key for rater in raters}
    for held in ratings_of(plan).values():
        assert max(Counter(person[key] for key in held).values()) == 1
    assert 0 <= compute_plan_properties(plan).normalized_entropy <= 1 + 1e-9
    handed_in = {task.number for task in plan.tasks if task.queue <= done * len(plan.tasks_of_rater(task.rater))}
    again = plan_remaining_tasks(
        plan, test_set, systems[: len(systems) // 2 + 1], raters[len(raters) // 2 :], handed_in=handed_in
    )
    assert handed_in <= set(again.kept_tasks)
    assert compute_plan_properties(again.plan).total.items == sum(len(task.items) for task in again.plan.tasks)
