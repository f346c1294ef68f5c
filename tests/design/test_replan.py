"""After a change: whole groups move, finished ones stay, a half-done one is judged again."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.plan import Plan
from app.design.replan import Replan, plan_remaining_tasks
from tests.design.worlds import World, compiled, world

DESIGN = {"ratings_per_item": 2, "buckets": {"raters_per_bucket": 4}, "task": {"max_segments": 12}}


def first_tasks(plan: Plan, share: float) -> set[int]:
    """The first tasks of every rater, handed in."""
    done = set()
    for rater in plan.raters:
        mine = plan.tasks_of_rater(rater)
        done |= {task.number for task in mine[: int(len(mine) * share)]}
    return done


def outcome(plan: Plan, again: Replan, staying: set[str]) -> dict[tuple[str, int, str], Counter[str]]:
    """Raters of each output after the change: in what stays (without surplus) and in the new plan."""
    found: dict[tuple[str, int, str], Counter[str]] = defaultdict(Counter)
    kept_tasks, surplus = set(again.kept_tasks), set(again.surplus)
    for source, tasks in (
        ("old", [task for task in plan.tasks if task.number in kept_tasks]),
        ("new", list(again.plan.tasks)),
    ):
        for task in tasks:
            for item in task.items:
                if item.role != "rating" or (source == "old" and item.group in surplus):
                    continue
                assert source == "old" or task.rater in staying
                for system in item.systems:
                    found[item.document, item.first, system][task.rater] += 1
    return found


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 999),
    st.sampled_from(["psxs", "system_balanced", "none"]),
    st.floats(0, 1),
    st.integers(0, 1),
)
def test_after_a_dropout_every_output_still_gets_k_people(seed: int, grouping: str, share: float, leavers: int) -> None:
    before = world(10, 3, 5, seed=seed)
    test_set, systems, raters = before
    design = DESIGN | {"grouping": grouping, "buckets": {"raters_per_bucket": 5}}
    plan = compiled(design, before, seed=seed)
    left = raters[leavers + 1 :]
    staying = {rater.key for rater in left}
    again = plan_remaining_tasks(plan, test_set, systems, left, handed_in=first_tasks(plan, share))
    found = outcome(plan, again, staying)
    assert len(found) == sum(3 for document in test_set.documents)
    for raters_of in found.values():
        assert set(raters_of.values()) == {1}
        assert len(raters_of) == 2
    assert again.plan.unmet == ()


def test_nobody_gets_again_what_another_account_of_theirs_has_done() -> None:
    before = world(10, 3, 5, seed=4)
    test_set, systems, raters = before
    plan = compiled(DESIGN | {"buckets": {"raters_per_bucket": 5}}, before, seed=4)
    second = raters[1].key
    done = {task.number for task in plan.tasks_of_rater(second)}
    linked = [replace(rater, person="one") if n < 2 else rater for n, rater in enumerate(raters)]
    again = plan_remaining_tasks(plan, test_set, systems, linked, handed_in=done)
    theirs = {item.document for number in done for item in plan.tasks[number - 1].items}
    now = {item.document for task in again.plan.tasks_of_rater(raters[0].key) for item in task.items}
    assert theirs
    assert now
    assert not now & theirs


def test_finished_groups_stay_and_open_ones_of_those_who_stay_do_not_move() -> None:
    before = world(16, 3, 4)
    test_set, systems, raters = before
    plan = compiled(DESIGN, before)
    handed_in = first_tasks(plan, 0.5)
    again = plan_remaining_tasks(plan, test_set, systems, raters[1:], handed_in=handed_in)
    assert set(again.kept_tasks) >= handed_in
    counts = again.count_ratings_by_change()
    assert counts["stayed"] + counts["moved"] + counts["redone"] == len(plan.groups)
    for change in again.changes:
        if change.what == "moved":
            assert change.before == "r00"
            assert change.after != "r00"
        if change.before != "r00":
            assert (change.what, change.after) == ("stayed", change.before)


def test_a_half_done_group_is_judged_again_whole_and_its_work_becomes_surplus() -> None:
    before = world(6, 6, 3, longest=5)
    test_set, systems, raters = before
    plan = compiled({"overlap": None, "task": {"max_segments": 10}}, before)
    task = next(task for task in plan.tasks_of_rater("r00") if task.chain is not None)
    again = plan_remaining_tasks(plan, test_set, systems, raters[1:], handed_in={task.number})
    begun = {item.group for item in task.items} - set(again.kept_groups)
    assert begun
    assert set(again.surplus) == begun
    redone = [change for change in again.changes if change.what == "redone"]
    assert len(redone) == len(begun)
    for change in redone:
        made = [
            item
            for new in again.plan.tasks
            for item in new.items
            if (item.document, item.first) == (change.document, change.first)
        ]
        assert {item.systems[0] for item in made} == set(plan.systems)


def test_a_started_chain_of_one_who_stays_is_left_to_them() -> None:
    before = world(6, 6, 3, longest=5)
    test_set, systems, raters = before
    plan = compiled({"overlap": None, "task": {"max_segments": 10}}, before)
    task = next(task for task in plan.tasks_of_rater("r01") if task.chain is not None)
    again = plan_remaining_tasks(plan, test_set, systems, raters[1:], handed_in=(), started={task.number})
    chain = {other.number for other in plan.tasks if other.chain == task.chain}
    assert chain <= set(again.kept_tasks)
    assert again.surplus == ()


def late(before: World, *, identical: bool) -> World:
    test_set, systems, raters = before
    outputs = dict(test_set.outputs)
    for document in test_set.documents:
        outputs[document.key, "late"] = (
            test_set.outputs[document.key, "s00"]
            if identical
            else tuple(f"{document.key}/late/{n}" for n in range(document.n_segments))
        )
    return replace(test_set, outputs=outputs), [*systems, System("late")], raters


def test_a_late_system_is_judged_everywhere_by_those_who_judge_the_others() -> None:
    before = world(8, 3, 4)
    plan = compiled(DESIGN, before)
    handed_in = first_tasks(plan, 0.5)
    test_set, systems, raters = late(before, identical=False)
    again = plan_remaining_tasks(plan, test_set, systems, raters, handed_in=handed_in)
    found = outcome(plan, again, {rater.key for rater in raters})
    for document in test_set.documents:
        assert found[document.key, 1, "late"] == found[document.key, 1, "s00"]


def test_a_late_text_that_was_judged_already_is_credited_not_judged_again() -> None:
    before = world(8, 3, 4)
    plan = compiled(DESIGN, before)
    everything = {task.number for task in plan.tasks}
    again = plan_remaining_tasks(plan, *late(before, identical=True), handed_in=everything)
    assert again.plan.tasks == ()
    assert Counter(again.credited) == Counter((group.number, "late") for group in plan.groups)


def test_a_withdrawn_system_leaves_open_groups_and_stays_in_finished_ones() -> None:
    before = world(8, 3, 4)
    test_set, systems, raters = before
    plan = compiled(DESIGN, before)
    again = plan_remaining_tasks(plan, test_set, systems[1:], raters, handed_in=first_tasks(plan, 0.5))
    assert {name for task in again.plan.tasks for item in task.items for name in item.systems} == {"s01", "s02"}
    assert len(again.kept_groups) > 0


def test_bought_documents_go_to_the_buckets_with_fewest() -> None:
    before = world(8, 3, 4)
    test_set, systems, raters = before
    plan = compiled(DESIGN, before)
    more = DocumentToPlan("bought", (5, 6))
    outputs = dict(test_set.outputs) | {("bought", s.key): (f"{s.key}1", f"{s.key}2") for s in systems}
    wider = TestSet((*test_set.documents, more), outputs)
    again = plan_remaining_tasks(
        plan, wider, systems, raters, handed_in={task.number for task in plan.tasks}, added_documents=["bought"]
    )
    fresh = [change for change in again.changes if change.what == "new"]
    assert [(change.document, change.nth) for change in fresh] == [("bought", 1), ("bought", 2)]
    assert len({change.after for change in fresh}) == 2
    assert {item.document for task in again.plan.tasks for item in task.items} == {"bought"}


def test_less_capacity_moves_whole_groups_to_others_with_room() -> None:
    before = world(12, 3, 4, longest=1)
    test_set, systems, raters = before
    plan = compiled(DESIGN | {"buckets": {"raters_per_bucket": 4}}, before)
    able = [replace(raters[0], capacity=6), *raters[1:]]
    again = plan_remaining_tasks(plan, test_set, systems, able, handed_in=())
    done = Counter(group.rater for group in again.plan.groups)
    assert done["r00"] == 2
    assert sum(done.values()) == 24
    assert again.count_ratings_by_change() == {"stayed": 20, "moved": 4}


def test_what_nobody_can_take_over_is_said() -> None:
    before = world(4, 2, 2)
    test_set, systems, raters = before
    plan = compiled({"ratings_per_item": 2, "buckets": {"raters_per_bucket": 2}}, before)
    again = plan_remaining_tasks(plan, test_set, systems, raters[1:], handed_in=())
    assert again.plan.unmet[0].what == "4 ratings are not made"
    assert "nobody is left" in again.plan.unmet[0].why


@pytest.mark.parametrize("cross", ["groups", "raters"])
def test_open_groups_keep_their_arm(cross: str) -> None:
    before = world(12, 2, 4)
    test_set, systems, raters = before
    plan = compiled(DESIGN | {"arms": [{"name": "a"}, {"name": "b"}], "cross": cross}, before)
    again = plan_remaining_tasks(plan, test_set, systems, [*raters[1:], Rater("r09")], handed_in=())
    arms = {(group.document, group.first, group.nth): group.arm for group in plan.groups}
    by_rater = {group.rater: group.arm for group in plan.groups}
    for group in again.plan.groups:
        if cross == "groups":
            assert group.arm == arms[group.document, group.first, group.nth]
        elif group.rater in by_rater:
            assert group.arm == by_rater[group.rater]
    assert any(group.rater == "r09" for group in again.plan.groups)


def test_calibration_items_not_yet_judged_are_given_again_and_to_newcomers_all() -> None:
    before = world(12, 2, 3)
    test_set, systems, raters = before
    design = {
        "overlap": None,
        "calibration": {"common_items": 4, "placement": "first_and_last"},
        "task": {"max_segments": 8},
    }
    plan = compiled(design, before)
    handed_in = {plan.tasks_of_rater("r01")[0].number}
    again = plan_remaining_tasks(plan, test_set, systems, [*raters, Rater("r09")], handed_in=handed_in)

    def common(of: Plan, rater: str, tasks: set[int] | None = None) -> Counter[tuple[str, str | None]]:
        return Counter(
            (item.document, item.system)
            for task in of.tasks_of_rater(rater)
            if tasks is None or task.number in tasks
            for item in task.items
            if item.role == "calibration"
        )

    assert common(again.plan, "r09") == common(plan, "r00")
    later = plan_remaining_tasks(again.plan, test_set, systems[1:], [*raters, Rater("r10")], handed_in=())
    assert common(later.plan, "r10") == Counter({key: n for key, n in common(plan, "r00").items() if key[1] != "s00"})
    assert common(plan, "r01", set(again.kept_tasks)) + common(again.plan, "r01") == common(plan, "r00")


@pytest.mark.parametrize("design", [DESIGN, {"overlap": None}, {"grouping": "none"}, {"structure": "sr_dc"}])
def test_what_is_free_is_shared_evenly_with_newcomers_when_asked(design: dict[str, object]) -> None:
    """They got nothing; and nothing that is begun moves, nor does anybody judge a text twice."""
    before = world(24, 3, 5, seed=3)
    test_set, systems, raters = before
    plan = compiled(design, before, seed=3)
    done = first_tasks(plan, 0.3)
    crowd = [*raters, *(Rater(f"x{n}") for n in range(4))]
    alone = plan_remaining_tasks(plan, test_set, systems, crowd, handed_in=done, seed=5)
    assert {task.rater for task in alone.plan.tasks} <= set(plan.raters)
    shared = plan_remaining_tasks(plan, test_set, systems, crowd, handed_in=done, seed=5, rebalance=True)
    loads = Counter(group.rater for group in shared.plan.groups)
    assert max(loads.values()) - min(loads[rater.key] for rater in crowd) <= 1
    assert shared.kept_tasks == alone.kept_tasks
    found = outcome(plan, shared, {rater.key for rater in crowd})
    assert all(set(judged.values()) == {1} for judged in found.values())
    assert sum(map(len, found.values())) == sum(map(len, outcome(plan, alone, set(plan.raters)).values()))
    later = plan_remaining_tasks(alone.plan, test_set, systems, crowd, handed_in=(), rebalance=True, seed=6)
    assert len({group.rater for group in later.plan.groups}) == 9, "those whom an earlier replan gave nothing, too"


def test_late_outputs_that_others_judge_than_the_rest_are_told() -> None:
    before = world(12, 2, 3, seed=2)
    plan = compiled({"overlap": None}, before, seed=2)
    everything = {task.number for task in plan.tasks}
    test_set, systems, raters = late(before, identical=False)
    again = plan_remaining_tasks(plan, test_set, systems, raters, handed_in=everything)
    assert not [unmet for unmet in again.plan.unmet if "late outputs" in unmet.what]
    without = plan_remaining_tasks(plan, test_set, systems, raters[1:], handed_in=everything)
    moved = sum(group.rater == raters[0].key for group in plan.groups)
    assert [unmet.what for unmet in without.plan.unmet] == [
        f"{moved} late outputs are judged by others than the rest of their documents"
    ]
