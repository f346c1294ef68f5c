"""Control items side by side with others: nothing but their texts tells them from ratings."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.design import task_maker
from app.design.control_items import ControlShortfall, add_control_items
from app.design.item_order import Screen
from app.design.plan import Plan, PlanItem
from app.design.repeats import RaterHistory
from app.design.replan import plan_remaining_tasks
from app.design.task_packing import PartialTask, TaskCapacity
from app.domain.errors import Invalid
from tests.design.test_any_design import worlds
from tests.design.worlds import World, compiled, sittings, world

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CONTROLS = ("degraded", "repeat", "reference")
Stretch = tuple[str, str, int, int]


def screens_of(plan: Plan) -> list[tuple[Stretch, list[PlanItem]]]:
    """Screens in order, each with its rater and stretch."""
    found: dict[tuple[int, int], list[PlanItem]] = defaultdict(list)
    for task in plan.tasks:
        for item in task.items:
            found[task.number, item.screen].append(item)
    return [
        ((plan.tasks[number - 1].rater, shown[0].document, shown[0].first, shown[0].last), shown)
        for (number, _), shown in found.items()
    ]


def told_by_width(plan: Plan) -> int:
    """Screens with a control that are not as wide as one with ratings of the same stretch by the same rater."""
    usual: dict[Stretch, set[int]] = defaultdict(set)
    for stretch, shown in screens_of(plan):
        if shown[0].role == "rating":
            usual[stretch].add(len(shown))
    return sum(
        len(shown) not in usual[stretch]
        for stretch, shown in screens_of(plan)
        if any(item.role in CONTROLS for item in shown)
    )


def design_of(columns: int, kinds: tuple[str, ...], limit: int = 60) -> dict[str, Any]:
    rates: dict[str, dict[str, Any]] = {"repeat": {"rate": 0.0, "min_distance": 6}}
    for kind in kinds:
        rates.setdefault(kind, {})["rate"] = 0.1
    return {"controls": rates, "task": {"columns": columns, "max_segments": limit}}


WORLDS = (st.integers(2, 5), st.integers(2, 6), st.integers(0, 999))
KINDS = st.sampled_from(
    [
        ("bad_reference",),
        ("repeat",),
        ("reference",),
        ("bad_reference", "repeat"),
        ("bad_reference", "repeat", "reference"),
    ]
)


@few
@given(*WORLDS, KINDS, st.sampled_from([24, 60, 100]))
def test_a_screen_with_a_control_is_as_wide_as_the_ratings_of_its_document(
    columns: int, systems: int, seed: int, kinds: tuple[str, ...], limit: int
) -> None:
    plan = compiled(design_of(columns, kinds, limit), world(10, systems, 3, longest=4, seed=seed), seed=seed)
    assert told_by_width(plan) == 0
    for _, shown in screens_of(plan):
        assert len({(item.document, item.first, item.last) for item in shown}) == 1
        assert {item.role for item in shown} == {"rating"} or all(item.role in CONTROLS for item in shown)
        assert [item.column for item in shown] == list(range(1, len(shown) + 1))
        assert sum(item.role == "reference" for item in shown) <= 1
        outputs = [item.system for item in shown if item.system is not None]
        assert len(set(outputs)) == len(outputs)


@few
@given(*WORLDS, KINDS, st.sampled_from([24, 60, 100]))
def test_every_task_reaches_the_rates_within_its_limit(
    columns: int, systems: int, seed: int, kinds: tuple[str, ...], limit: int
) -> None:
    plan = compiled(design_of(columns, kinds, limit), world(10, systems, 3, longest=4, seed=seed), seed=seed)
    role_of = {"bad_reference": "degraded", "repeat": "repeat", "reference": "reference"}
    for items in sittings(plan):
        for kind in kinds:
            assert sum(item.role == role_of[kind] for item in items) >= 0.1 * len(items) - 1e-9
    for task in plan.tasks:
        assert task.size.segments <= limit
        for item in task.items:
            assert (item.of is not None) == (item.role in ("degraded", "repeat"))
            if item.of:
                original = plan.tasks[item.of.task - 1].items[item.of.position - 1]
                assert plan.tasks[item.of.task - 1].rater == task.rater
                assert original.role == "rating"
                assert (original.document, original.first, original.system) == (item.document, item.first, item.system)


@few
@given(*WORLDS, KINDS)
def test_screens_come_again_at_their_distance_or_the_plan_says_how_many_do_not(
    columns: int, systems: int, seed: int, kinds: tuple[str, ...]
) -> None:
    plan = compiled(design_of(columns, kinds), world(12, systems, 3, longest=4, seed=seed), seed=seed)
    near = 0
    for rater in plan.raters:
        at, end = 0, {}
        for task in plan.tasks_of_rater(rater):
            for item in task.items:
                if item.role == "repeat" and item.of:
                    assert (item.of.task, item.of.position) in end
                    near += at - end[item.of.task, item.of.position] < 6
                at += item.last - item.first + 1
                end[task.number, item.position] = at
    assert near == sum(int(unmet.what.split()[0]) for unmet in plan.unmet if "too near" in unmet.what)


anything = st.fixed_dictionaries(
    {
        "controls": st.sampled_from([{"bad_reference": {"rate": rate}} for rate in (0.1, 0.3, 0.5)]),
        "task": st.fixed_dictionaries({"columns": st.integers(2, 5), "max_segments": st.sampled_from([12, 30, 100])}),
    },
    optional={
        "structure": st.just("alternate_2018"),
        "balance": st.just({"capacity": True}),
        "ratings_per_item": st.integers(1, 2),
        "arms": st.just([{"name": "a"}, {"name": "b"}]),
        "calibration": st.sampled_from([{"set": "k", "sample": 3}, {"common_items": 3, "placement": "spread"}]),
    },
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(anything, worlds(), st.integers(0, 999), st.integers(0, 3))
def test_whatever_is_asked_and_replanned_no_width_tells_a_control(
    design: dict[str, Any], given_world: World, seed: int, done: int
) -> None:
    test_set, systems, raters = given_world
    try:
        plan = compiled(design, given_world, seed=seed)
    except Invalid:
        return
    assert told_by_width(plan) == 0
    rate = design["controls"]["bad_reference"]["rate"]
    for items in sittings(plan):
        roles = [item.role for item in items if item.role != "calibration"]
        assert roles.count("degraded") >= rate * len(roles) - 1e-9
    handed_in = {task.number for task in plan.tasks if task.queue <= done}
    again = plan_remaining_tasks(plan, test_set, systems[: len(systems) // 2 + 1], raters, handed_in=handed_in)
    assert told_by_width(again.plan) == 0


def test_control_items_on_screens_of_their_own_are_found_by_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: what single columns do gives controls away where there are several."""

    def alone(
        rng: np.random.Generator,
        draft: PartialTask,
        room: TaskCapacity,
        references: dict[str, tuple[str, ...]],
        seen: RaterHistory,
    ) -> tuple[list[Screen], list[ControlShortfall]]:
        return add_control_items(rng, draft, room, references, seen)

    monkeypatch.setattr(task_maker, "add_control_screens", alone)
    plan = compiled(design_of(3, ("bad_reference", "repeat", "reference")), world(10, 6, 3, longest=4))
    assert told_by_width(plan) == sum(item.role in CONTROLS for task in plan.tasks for item in task.items) > 0


def test_after_a_first_task_screens_come_again_far_enough_away() -> None:
    plan = compiled(design_of(3, ("bad_reference", "repeat"), 40), world(60, 3, 2, longest=1))
    first = {task.number for task in plan.tasks if task.queue == 1}
    assert len(first) < len(plan.tasks)
    for rater in plan.raters:
        at, end = 0, {}
        for task in plan.tasks_of_rater(rater):
            for item in task.items:
                if item.role == "repeat" and item.of:
                    assert task.number in first or at - end[item.of.task, item.of.position] >= 6
                at += 1
                end[task.number, item.position] = at


def test_columns_are_fewer_where_any_width_that_occurs_does_not_fit_with_its_controls() -> None:
    """Six outputs in four columns stand on screens of three, which need six control items; four would need four."""
    rates = {"bad_reference": {"rate": 0.2}, "repeat": {"rate": 0.2, "min_distance": 0}}
    plan = compiled({"controls": rates, "task": {"columns": 4, "max_segments": 8}}, world(6, 6, 2, longest=1))
    assert {len(shown) for _, shown in screens_of(plan)} == {2}
    assert "some screens have fewer columns" in [unmet.what for unmet in plan.unmet]


def test_references_that_columns_leave_no_place_for_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        compiled({"controls": {"reference": {"rate": 0.2}}, "task": {"columns": 3}}, world(6, 3, 2))
    assert "with 3 columns a rate of 0.167 is the most" in str(refused.value.places)
