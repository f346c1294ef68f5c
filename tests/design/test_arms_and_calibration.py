"""Arms crossed with groups or raters, and items that everyone judges."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.design.arms import assign_arms_to_groups
from app.design.calibration import sample_common_calibration_items
from app.design.compile import hash_design_inputs
from app.design.design_choices import CalibrationRules
from app.design.design_inputs import DocumentToPlan
from app.design.plan import Plan
from app.domain.errors import Invalid
from tests.design.worlds import compiled, rated, world

SAMPLE = {"set": "xsts-v1", "sample": 12}
ARMS = [{"name": "document"}, {"name": "segment", "presentation": "segment"}]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 999), st.integers(2, 3))
def test_every_rater_has_as_many_groups_in_each_arm(seed: int, n_arms: int) -> None:
    arms = [{"name": f"a{n}"} for n in range(n_arms)]
    plan = compiled({"arms": arms, "ratings_per_item": 2}, world(20, 3, 4, seed=seed), seed=seed)
    by_rater: dict[str, Counter[int | None]] = defaultdict(Counter)
    for group in plan.groups:
        by_rater[group.rater][group.arm] += 1
    for counts in by_rater.values():
        assert max(counts[n] for n in range(n_arms)) - min(counts[n] for n in range(n_arms)) <= 1
    arm_of = {group.number: group.arm for group in plan.groups}
    for task, item in rated(plan):
        assert arm_of[item.group or 0] == task.arm


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_arms_are_as_even_as_can_be_everywhere(seed: int, n_arms: int) -> None:
    """Of every rater, of every text (several ratings are in as many arms) and of all; whoever rates what."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 30)), int(rng.integers(1, 9)))
    unit, rater = np.nonzero(rng.random(shape) < rng.random())
    arm = assign_arms_to_groups(rng, unit, rater, n_arms)
    for node in (unit, rater, np.zeros_like(unit)):
        for one in set(node.tolist()):
            assert np.ptp(np.bincount(arm[node == one], minlength=n_arms)) <= 1


@pytest.mark.parametrize("n_arms", [2, 3])
def test_all_texts_that_several_rate_are_compared_between_as_many_arms(n_arms: int) -> None:
    arms = [{"name": f"a{n}"} for n in range(n_arms)]
    plan = compiled({"arms": arms, "ratings_per_item": 2}, world(48, 3, 6))
    held: dict[int, list[int | None]] = defaultdict(list)
    for group in plan.groups:
        held[group.unit].append(group.arm)
    assert len(held) == 48
    assert all(len(set(some)) == len(some) == 2 for some in held.values())


def test_arms_take_turns_and_begin_with_either_equally_often() -> None:
    plan = compiled({"arms": ARMS, "ratings_per_item": 2, "task": {"max_segments": 20}}, world(40, 3, 6))
    first = Counter(plan.tasks_of_rater(rater)[0].arm for rater in plan.raters)
    assert first == {0: 3, 1: 3}
    for rater in plan.raters:
        order = [task.arm for task in plan.tasks_of_rater(rater)]
        half = len(order) // 2
        assert abs(order[:half].count(0) - order[:half].count(1)) <= 2


def test_crossed_with_raters_each_has_one_arm_and_arms_are_even() -> None:
    plan = compiled({"arms": ARMS, "cross": "raters"}, world(40, 3, 6))
    arms: dict[str, set[int | None]] = defaultdict(set)
    for task in plan.tasks:
        arms[task.rater].add(task.arm)
    assert Counter(min(some, key=str) for some in arms.values() if len(some) == 1) == {0: 3, 1: 3}


def common(plan: Plan, rater: str) -> list[tuple[int, str, int, str | None]]:
    return [
        (task.queue, item.document, item.first, item.system)
        for task in plan.tasks_of_rater(rater)
        for item in task.items
        if item.role == "calibration"
    ]


@pytest.mark.parametrize("placement", ["first", "spread", "first_and_last"])
def test_everyone_judges_the_same_common_items_outside_of_the_buckets(placement: str) -> None:
    design = {
        "calibration": {"common_items": 20, "placement": placement},
        "overlap": None,
        "task": {"max_segments": 20},
    }
    plan = compiled(design, world(40, 4, 3))
    held = [{place[1:] for place in common(plan, rater)} for rater in plan.raters]
    assert held[0] == held[1] == held[2]
    assert len(held[0]) >= 20
    documents = {document for document, _, _ in held[0]}
    assert documents == {document.key for document in plan.documents if document.bucket is None}
    assert documents.isdisjoint(item.document for _, item in rated(plan))
    queues = [queue for queue, *_ in common(plan, "r00")]
    last = len(plan.tasks_of_rater("r00"))
    assert queues[0] <= last / 3 if placement == "spread" else queues[0] == 1
    if placement == "first":
        assert max(queues) < last / 2
    if placement == "first_and_last":
        assert max(queues) == last
        assert not [q for q in queues if last * 0.4 < q < last * 0.6]
    if placement == "spread":
        assert max(queues) >= last - 2
        assert len(set(queues)) >= 5


def test_a_sample_of_a_calibration_set_is_the_same_for_everyone() -> None:
    test_set, systems, raters = world(6, 2, 3)
    pairs = tuple(DocumentToPlan(f"c{n}", (8,)) for n in range(30))
    given_world = (replace(test_set, calibration=pairs), systems, raters)
    plan = compiled({"calibration": SAMPLE}, given_world)
    held = [common(plan, rater) for rater in plan.raters]
    assert {place[1:] for place in held[0]} == {place[1:] for place in held[1]} == {place[1:] for place in held[2]}
    assert len({tuple(place[1] for place in each) for each in held}) == 3, "each in an order of their own"
    again = compiled({"calibration": SAMPLE}, given_world)
    assert held == [common(again, rater) for rater in plan.raters]
    assert len(held[0]) == 12
    credited = {item.systems for task in plan.tasks for item in task.items if item.role == "calibration"}
    assert credited == {()}
    with pytest.raises(Invalid, match="31 calibration items are asked for; the set holds 30"):
        compiled({"calibration": {"set": "xsts-v1", "sample": 31}}, given_world)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(0, 10**6), st.data())
def test_a_sample_has_equally_many_of_every_level_that_has_enough(
    sizes: list[int], seed: int, data: st.DataObject
) -> None:
    """20 of five levels of 20 were drawn 3, 2, 7, 2 and 6."""
    wanted = data.draw(st.integers(1, sum(sizes)))
    pairs = [
        DocumentToPlan(f"c{level}-{n}", (8,), stratum=f"{level}")
        for level, size in enumerate(sizes)
        for n in range(size)
    ]
    drawn = sample_common_calibration_items(np.random.default_rng(seed), CalibrationRules("k", wanted), pairs)
    assert len({piece.document for piece in drawn}) == wanted
    counts = Counter(int(piece.document[1:].split("-")[0]) for piece in drawn)
    most = max(counts.values())
    assert all(counts[level] >= min(size, most - 1) for level, size in enumerate(sizes))


def test_levels_of_a_set_leave_what_a_plan_was_compiled_for_as_it_was() -> None:
    """Plans that were stored before levels played a part are not out of date: this digest is one of theirs."""
    test_set, systems, raters = world(2, 2, 2)
    names = [system.key for system in systems]
    for level in (None, "1"):
        pairs = (DocumentToPlan("c", (8,), stratum=level),)
        digest = hash_design_inputs(replace(test_set, calibration=pairs), names, raters)
        assert digest == "d8b3e7797da66599eec4f8a222b40da10b6143d02725ffe08d419f37349e5864"


def test_common_items_must_leave_something_to_deal() -> None:
    with pytest.raises(Invalid, match="leave nothing for the buckets"):
        compiled({"calibration": {"common_items": 100}}, world(4, 2, 2))


def test_sides_are_shown_in_either_order_equally_often_in_every_task() -> None:
    plan = compiled({}, world(20, 3, 3))
    for task in plan.tasks:
        second = sum(item.side_order for item in task.items)
        assert abs(2 * second - len(task.items)) <= 1
