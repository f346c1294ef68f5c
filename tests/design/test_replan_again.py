"""One replan after another: what is judged is judged, whichever of them planned it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.plan import Plan, Task
from app.design.replan import Replan, plan_remaining_tasks
from app.services.plans.replanning import merge_plans
from tests.design.worlds import World, compiled, ratings_of, world

DESIGN = {"ratings_per_item": 2, "buckets": {"raters_per_bucket": 5}, "task": {"max_segments": 12}}


def with_late(given: World, name: str, *, like: str | None = None) -> World:
    """A system more, with texts of its own, or those of another."""
    test_set, systems, raters = given
    late = {
        (document.key, name): test_set.outputs[document.key, like]
        if like
        else tuple(f"{document.key}/{name}/{n}" for n in range(document.n_segments))
        for document in test_set.documents
    }
    return replace(test_set, outputs={**test_set.outputs, **late}), [*systems, System(name)], raters


def with_bought(given: World, key: str) -> World:
    """A document more."""
    test_set, systems, raters = given
    texts = {(key, one.key): (f"{key}/{one.key}/1", f"{key}/{one.key}/2") for one in systems}
    documents = (*test_set.documents, DocumentToPlan(key, (5, 6)))
    return TestSet(documents, {**test_set.outputs, **texts}), systems, raters


def go_on(plan: Plan, given: World, done: set[int], bought: tuple[str, ...] = ()) -> tuple[Replan, Plan]:
    """A replan where so many tasks are handed in, and the plan in force after it."""
    test_set, systems, raters = given
    again = plan_remaining_tasks(plan, test_set, systems, raters, handed_in=done, added_documents=bought)
    return again, merge_plans(plan, again).plan


def everything(plan: Plan) -> set[int]:
    return {task.number for task in plan.tasks}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 999), st.sampled_from(["psxs", "system_balanced", "none"]), st.sampled_from([None, "s00", "s01"]))
def test_what_is_judged_is_never_planned_again_by_any_later_replan(seed: int, grouping: str, like: str | None) -> None:
    now = world(4, 3, 5, seed=seed)
    plan = compiled(DESIGN | {"grouping": grouping}, now, seed=seed)
    now = with_late(now, "late", like=like)
    again, plan = go_on(plan, now, everything(plan))
    assert {name for _, name in again.credited} == ({"late"} if like else set())
    assert {name for task in again.plan.tasks for item in task.items for name in item.systems} <= {"late"}
    now = with_bought(now, "bought")
    again, plan = go_on(plan, now, everything(plan), ("bought",))
    assert {item.document for task in again.plan.tasks for item in task.items} == {"bought"}
    for _ in range(2):
        again, plan = go_on(plan, now, everything(plan))
        assert again.plan.tasks == ()
        assert set(again.count_ratings_by_change()) == {"stayed"}
    for raters in ratings_of(plan).values():
        assert len(raters) == len(set(raters)) == 2


def test_a_late_system_that_nobody_has_judged_yet_stays_with_whom_it_was_planned_for() -> None:
    now = world(6, 2, 4)
    plan = compiled(DESIGN | {"buckets": {"raters_per_bucket": 4}}, now)
    now = with_late(now, "late")
    first, planned = go_on(plan, now, everything(plan))
    again, _ = go_on(planned, now, everything(plan))
    assert first.count_ratings_by_change() == {"stayed": 12, "new": 12}
    assert again.count_ratings_by_change() == {"stayed": 24}
    assert [(group.document, group.nth, group.rater) for group in again.plan.groups] == [
        (group.document, group.nth, group.rater) for group in first.plan.groups
    ]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 999), st.sampled_from(["psxs", "system_balanced", "none"]), st.data())
def test_after_any_changes_every_output_has_k_people_who_count(seed: int, grouping: str, data: st.DataObject) -> None:
    now = world(4, 2, 6, seed=seed, longest=4)
    plan = compiled(DESIGN | {"grouping": grouping, "buckets": {"raters_per_bucket": 6}}, now, seed=seed)
    for step in range(4):
        done = {task.number for task in plan.tasks if data.draw(st.booleans())} | handed_in(plan, now)
        what = data.draw(st.sampled_from(["late", "bought", "leaves", "nothing"]))
        bought = (f"bought{step}",) if what == "bought" else ()
        if what == "late":
            now = with_late(now, f"late{step}")
        elif what == "bought":
            now = with_bought(now, *bought)
        elif what == "leaves":
            now = (*now[:2], now[2][1:])
        _, plan = go_on(plan, now, done, bought)
    counted = ratings_of(replace(plan, tasks=tuple(map(counting, plan.tasks))))
    test_set, systems, _ = now
    assert {(key[0], key[3]) for key in counted} == {(d.key, s.key) for d in test_set.documents for s in systems}
    for raters in counted.values():
        assert len(raters) == len(set(raters)) == 2


def handed_in(plan: Plan, now: World) -> set[int]:
    """What those who left had handed in, as all that a plan still has of theirs."""
    staying = {rater.key for rater in now[2]}
    return {task.number for task in plan.tasks if task.rater not in staying}


def counting(task: Task) -> Task:
    """A task without what is judged again."""
    return replace(task, items=tuple(item for item in task.items if item.group is not None))


def edited(plan: Plan, documents: set[str]) -> list[tuple[str, int, str, str]]:
    """What raters edit of some documents: document, segment, system, rater."""
    return [
        (item.document, item.first, item.systems[0], task.rater)
        for task in plan.tasks
        for item in task.items
        if item.document in documents
    ]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 999), st.sampled_from([(3, 3), (4, 3), (3, 1)]), st.booleans())
def test_bought_documents_are_dealt_by_squares_of_their_own(seed: int, shape: tuple[int, int], finished: bool) -> None:
    n_systems, n_raters = shape
    now = world(3, n_systems, n_raters, seed=seed)
    plan = compiled({"structure": "latin_square"}, now, seed=seed)
    old = {document.key for document in now[0].documents}
    before, done = edited(plan, old), everything(plan) if finished else set()
    bought = {"x", "y"}
    for key in sorted(bought):
        now = with_bought(now, key)
    again, plan = go_on(plan, now, done, tuple(sorted(bought)))
    nobodys = (n_systems - n_raters) * (sum(document.n_segments for document in now[0].documents))
    said = [unmet.what for unmet in again.plan.unmet]
    assert said == ([f"{nobodys} outputs are edited by nobody"] if nobodys else [])
    assert sorted(edited(plan, old)) == sorted(before)
    found = edited(plan, bought)
    sentences = {(key, n) for key in bought for n in (1, 2)}
    assert {(key, n, rater.key) for key, n in sentences for rater in now[2]} == {(k, n, r) for k, n, _, r in found}
    assert len({(key, n, system) for key, n, system, _ in found}) == len(found) == len(sentences) * n_raters
    for rater in now[2]:
        counts = dict.fromkeys((system.key for system in now[1]), 0) | Counter(
            s for *_, s, r in found if r == rater.key
        )
        assert max(counts.values()) - min(counts.values()) <= 1
    assert {g.propensity for g in again.plan.groups if g.document in bought} == {1 / n_systems}
    by_unit = {(g.unit, g.nth) for g in plan.groups}
    assert len(by_unit) == len(plan.groups)
    assert len({g.unit for g in plan.groups if g.document in bought}) == len(sentences)
    again, _ = go_on(plan, now, everything(plan))
    assert again.plan.tasks == ()


def test_what_no_square_can_hold_is_said() -> None:
    now = world(3, 3, 3)
    plan = compiled({"structure": "latin_square"}, now)
    test_set, systems, raters = with_bought(with_late(now, "late"), "bought")
    missing = TestSet(test_set.documents, {k: v for k, v in test_set.outputs.items() if k != ("bought", "s01")})
    again, _ = go_on(plan, (missing, systems, raters), everything(plan), ("bought",))
    assert again.plan.tasks == ()
    said = {unmet.what: unmet.why for unmet in again.plan.unmet}
    assert set(said) == {"1 document is given to nobody", "late systems have no part in documents planned before"}
    assert "bought" in said["1 document is given to nobody"]


LISTED = [
    {"name": "small", "raters": ["r00", "r01", "r02"], "documents": ["d000"]},
    {"name": "large", "raters": ["r03", "r04", "r05"], "documents": ["d001", "d002"]},
]


def test_bought_documents_go_to_a_bucket_that_somebody_is_left_in() -> None:
    test_set, systems, raters = world(3, 3, 6)
    plan = compiled({"structure": "latin_square", "buckets": {"explicit": LISTED}}, (test_set, systems, raters))
    now = with_bought((test_set, systems, raters[3:]), "bought")
    again, after = go_on(plan, now, everything(plan), ("bought",))
    assert {rater for *_, rater in edited(after, {"bought"})} == {"r03", "r04", "r05"}
    assert again.plan.unmet == ()


def test_bought_documents_are_said_to_be_nobody_s_where_no_bucket_has_raters() -> None:
    test_set, systems, raters = world(3, 3, 6)
    plan = compiled({"structure": "latin_square", "buckets": {"explicit": LISTED}}, (test_set, systems, raters))
    now = with_bought((test_set, systems, [Rater("new", buckets=("elsewhere",))]), "bought")
    again, _ = go_on(plan, now, everything(plan), ("bought",))
    assert again.plan.tasks == ()
    (told,) = again.plan.unmet
    assert (told.what, told.why) == ("1 document is given to nobody", "nobody is left in their bucket: bought")
