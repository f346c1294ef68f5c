"""What every plan keeps: k people an item, even loads, groups together, tasks within limits, the same for a seed."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.plan import Plan, hash_json
from app.domain.errors import Invalid
from tests.design.worlds import compiled, group_loads, rated, ratings_of, world

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def plans(draw: st.DrawFn, **fixed: Any) -> Plan:
    raters = draw(st.integers(2, 6))
    given = world(draw(st.integers(2, 18)), draw(st.integers(2, 5)), raters, seed=draw(st.integers(0, 99)))
    design = {
        "grouping": draw(st.sampled_from(["psxs", "system_balanced", "none"])),
        "ratings_per_item": draw(st.integers(1, min(raters, 3))),
        "overlap": None,
        "unit": draw(st.sampled_from(["items", "segments", "words"])),
        "even_out": draw(st.booleans()),
        "task": {"max_segments": draw(st.integers(6, 40)), "max_items": draw(st.sampled_from([None, 8]))},
    }
    return compiled(design | fixed, given, seed=draw(st.integers(0, 10**9)))


@few
@given(plans())
def test_every_output_is_judged_by_exactly_k_people_once_each(plan: Plan) -> None:
    found = ratings_of(plan)
    assert found
    for raters in found.values():
        assert len(raters) == len(set(raters)) == plan.design.ratings_per_item


@few
@given(plans(grouping="psxs"))
def test_within_a_bucket_loads_differ_by_at_most_one_group(plan: Plan) -> None:
    for loads in group_loads(plan).values():
        assert max(loads.values()) - min(loads.values()) <= 1


@few
@given(plans(even_out=False, grouping="system_balanced"))
def test_a_balanced_deal_is_even_for_every_system_and_over_all_of_them(plan: Plan) -> None:
    if plan.design.unit == "items":
        for loads in group_loads(plan).values():
            assert max(loads.values()) - min(loads.values()) <= 1
    of: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    bucket_of = {document.key: document.bucket for document in plan.documents}
    for task, item in rated(plan):
        of[bucket_of[item.document] or 0, item.systems[0]][task.rater] += 1
    for (bucket, _), counts in of.items():
        everyone = plan.buckets[bucket - 1].raters
        spread = [counts[rater] for rater in everyone]
        assert max(spread) - min(spread) <= 1


@few
@given(plans(grouping="psxs"))
def test_a_group_has_one_rater_and_lies_in_consecutive_tasks_and_items(plan: Plan) -> None:
    places: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
    for task, item in rated(plan):
        places[item.group or 0].append((task.rater, task.queue, item.position))
    systems = len(plan.systems)
    for group, found in places.items():
        assert len(found) == systems
        assert {rater for rater, _, _ in found} == {plan.groups[group - 1].rater}
        queues = sorted({queue for _, queue, _ in found})
        assert queues == list(range(queues[0], queues[0] + len(queues)))
        for queue in queues:
            positions = sorted(position for _, at, position in found if at == queue)
            assert positions == list(range(positions[0], positions[0] + len(positions)))


@few
@given(plans())
def test_a_task_is_within_its_limits_unless_a_single_item_is_not(plan: Plan) -> None:
    rules = plan.design.task
    for task in plan.tasks:
        assert [item.position for item in task.items] == list(range(1, len(task.items) + 1))
        if len(task.items) > 1:
            assert task.size.segments <= (rules.max_segments or 0)
            assert task.size.items <= (rules.max_items or task.size.items)


@few
@given(plans(), st.integers(0, 3))
def test_the_same_seed_gives_the_same_plan_whatever_the_order_of_the_input(plan: Plan, turn: int) -> None:
    assert plan.digest() == replace(plan).digest() == hash_json(asdict(plan))
    given_world = world(7, 3, 4, seed=turn)
    test_set, systems, raters = given_world
    design = {"ratings_per_item": 2}
    first = compiled(design, given_world, seed=turn)
    assert compiled(design, (test_set, systems[::-1], raters[::-1]), seed=turn).digest() == first.digest()
    assert compiled({**design, "seed": turn}, given_world, seed=turn).digest() == first.digest()
    assert compiled(design, given_world, seed=turn + 1).digest() != first.digest()


def test_a_plan_is_the_same_on_any_machine() -> None:
    """The digests were made once and must never change without a new method version."""
    made = {
        name: hash_json([asdict(task) for task in compiled(design, world(20, 4, 5), seed=20261120).tasks])[:16]
        for name, design in {
            "psxs": {"controls": {"bad_reference": {"rate": 0.1}}},
            "none": {"grouping": "none", "balance": {"entropy": 0.8}, "overlap": None},
            "system_balanced": {"grouping": "system_balanced", "even_out": True},
        }.items()
    }
    assert made == DIGESTS


DIGESTS = {"psxs": "26c6baa281e96fbe", "none": "7d68ebbe0588549d", "system_balanced": "b9068c0f9a866acb"}


def test_accounts_of_one_person_never_share_an_item() -> None:
    test_set, systems, raters = world(12, 3, 4)
    accounts = [*raters, Rater("r90", person="p"), Rater("r91", person="p"), Rater("r92", person="p")]
    plan = compiled({"ratings_per_item": 5, "buckets": {"raters_per_bucket": 5}}, (test_set, systems, accounts))
    assert {"r91", "r92"}.isdisjoint(task.rater for task in plan.tasks)
    assert any("r91" in note for note in plan.notes)
    with pytest.raises(Invalid, match="there are 5"):
        compiled({"ratings_per_item": 6, "buckets": {"raters_per_bucket": 6}}, (test_set, systems, accounts))


def test_a_bucket_with_too_few_people_is_named() -> None:
    explicit = [{"name": "news", "raters": ["r00", "r01"]}, {"name": "social", "raters": ["r02"]}]
    with pytest.raises(Invalid, match="bucket social has 1 raters"):
        compiled({"ratings_per_item": 2, "buckets": {"explicit": explicit}}, world(6, 2, 3))


def test_identical_outputs_are_judged_once_and_credited_to_each() -> None:
    documents = (DocumentToPlan("d1", (5, 5)), DocumentToPlan("d2", (5,)))
    outputs: dict[tuple[str, str], tuple[str | None, ...]] = {
        ("d1", "a"): ("x", "y"),
        ("d1", "b"): ("x", "y"),
        ("d1", "c"): ("x", "z"),
        ("d2", "a"): ("u",),
        ("d2", "b"): ("v",),
        ("d2", "c"): (None,),
    }
    given = (TestSet(documents, outputs), [System(key) for key in "abc"], [Rater("r1"), Rater("r2")])
    shared = {(item.document, item.systems) for _, item in rated(compiled({"overlap": None}, given))}
    assert shared == {("d1", ("a", "b")), ("d1", ("c",)), ("d2", ("a",)), ("d2", ("b",))}
    apart = {(item.document, item.systems) for _, item in rated(compiled({"share_duplicates": False}, given))}
    assert ("d1", ("b",)) in apart


def test_a_share_is_judged_by_two_where_the_rest_is_judged_once() -> None:
    plan = compiled({"buckets": {"raters_per_bucket": 5}}, world(60, 3, 5))
    by_document = {document: set(raters) for (document, _, _, _), raters in ratings_of(plan).items()}
    assert Counter(len(raters) for raters in by_document.values()) == {1: 51, 2: 9}
    pairs = Counter(tuple(sorted(raters)) for raters in by_document.values() if len(raters) == 2)
    assert len(pairs) >= 8  # of 10, with 9 documents
    for loads in group_loads(plan).values():
        assert max(loads.values()) - min(loads.values()) <= 1


@pytest.mark.parametrize("raters", [4, 7, 12])
def test_automatic_buckets_overlap_and_connect_all_raters(raters: int) -> None:
    plan = compiled({}, world(3 * raters + 2, 2, raters))
    assert len(plan.buckets) == raters
    assert Counter(key for bucket in plan.buckets for key in bucket.raters) == dict.fromkeys(plan.raters, 3)
    assert len({bucket.raters for bucket in plan.buckets}) == raters
    reached = set(plan.buckets[0].raters)
    for _ in plan.buckets:
        reached |= {key for bucket in plan.buckets if reached & set(bucket.raters) for key in bucket.raters}
    assert reached == set(plan.raters)
    sizes = [len(bucket.documents) for bucket in plan.buckets]
    assert max(sizes) - min(sizes) <= 1


def test_the_layout_of_riley_et_al_comes_out() -> None:
    """Riley et al. 2024, §4.2: 181 documents, 7 raters in 7 buckets of 3 (25–26 documents), three ratings."""
    plan = compiled({"ratings_per_item": 3, "even_out": True}, world(181, 15, 7, longest=10))
    assert sorted(len(bucket.documents) for bucket in plan.buckets) == [25] + [26] * 6
    assert len({bucket.raters for bucket in plan.buckets}) == 7
    assert {len(raters) for raters in ratings_of(plan).values()} == {3}


def test_without_shuffling_documents_come_in_the_order_of_the_test_set_and_else_they_do_not() -> None:
    in_order = {}
    for shuffle in ("none", "systems"):
        plan = compiled({"overlap": None, "task": {"shuffle": shuffle}}, world(20, 2, 3))
        met = [[item.document for item in task.items if item.role == "rating"] for task in plan.tasks]
        in_order[shuffle] = all(documents == sorted(documents) for documents in met)
        assert max(len(set(documents)) for documents in met) > 2
    assert in_order == {"none": True, "systems": False}


def test_systems_stand_in_every_position_equally_often() -> None:
    plan = compiled({"overlap": None, "task": {"max_segments": None}}, world(40, 4, 4, longest=1))
    place: Counter[tuple[str, int]] = Counter()
    for task in plan.tasks:
        items = [item for item in task.items if item.role == "rating"]
        for start in range(0, len(items), 4):
            place.update((item.system or "", n) for n, item in enumerate(items[start : start + 4]))
    assert set(place.values()) == {10}


def test_long_documents_are_cut_into_even_stretches() -> None:
    documents = (DocumentToPlan("long", (4,) * 25),)
    outputs = {("long", "a"): tuple(f"a{n}" for n in range(25)), ("long", "b"): tuple(f"b{n}" for n in range(25))}
    given = (TestSet(documents, outputs), [System("a"), System("b")], [Rater("r1"), Rater("r2")])
    plan = compiled({"overlap": None, "task": {"max_segments": 10, "split_documents": "over_max_segments"}}, given)
    assert sorted({(item.first, item.last) for _, item in rated(plan)}) == [(1, 8), (9, 16), (17, 25)]
    whole = compiled({"overlap": None, "task": {"max_segments": 10}}, given)
    assert all(len(task.items) == 1 for task in whole.tasks)
    assert whole.unmet[0].what == "2 items are longer than a task may be"


def test_every_item_that_is_too_long_is_counted() -> None:
    documents = tuple(DocumentToPlan(f"d{n}", (4,) * (1 + n)) for n in range(9))
    outputs = {(d.key, s): tuple(f"{d.key}{s}{n}" for n in range(d.n_segments)) for d in documents for s in "abcd"}
    raters = [Rater(f"r{n}") for n in range(3)]
    design = {"ratings_per_item": 2, "task": {"max_segments": 2}}
    plan = compiled(design, (TestSet(documents, outputs), [System(s) for s in "abcd"], raters))
    too_long = [item for _, item in rated(plan) if item.last - item.first + 1 > 2]
    assert len(too_long) == 7 * 4 * 2
    assert [(unmet.what, unmet.why) for unmet in plan.unmet] == [
        ("56 items are longer than a task may be", "documents d2, d3, d4, d5, d6 …")
    ]


def test_columns_stand_side_by_side_and_use_every_column_equally() -> None:
    plan = compiled({"overlap": None, "task": {"columns": 3, "max_segments": 60}}, world(36, 6, 4, longest=4))
    column: Counter[tuple[str, int]] = Counter()
    for task in plan.tasks:
        screens: dict[int, list[Any]] = defaultdict(list)
        for item in task.items:
            screens[item.screen].append(item)
            column[item.system or "", item.column] += 1
        for items in screens.values():
            assert [item.column for item in items] == [1, 2, 3]
            assert len({(item.document, item.first) for item in items}) == 1
    counts = np.array(list(column.values()))
    assert np.ptp(counts) == 0


def test_a_screen_too_wide_for_a_task_is_narrowed_and_said_so() -> None:
    plan = compiled({"overlap": None, "task": {"columns": 4, "max_segments": 11}}, world(10, 4, 2, longest=5))
    assert all(task.size.segments <= 11 for task in plan.tasks)
    assert "some screens have fewer columns" in [unmet.what for unmet in plan.unmet]


@few
@given(st.integers(0, 999), st.sampled_from(["items", "segments", "words"]))
def test_nobody_gets_more_than_their_capacity(seed: int, unit: str) -> None:
    test_set, systems, raters = world(20, 3, 4, seed=seed)
    whole = sum(
        d.words and (3 if unit == "items" else 3 * d.n_segments if unit == "segments" else 3 * sum(d.words))
        for d in test_set.documents
    )
    parts = [1, 2, 3, 4]
    able = [
        replace(rater, capacity=whole * part * 12 // 100, capacity_unit=unit)  # 120 % of what is needed
        for rater, part in zip(raters, parts, strict=True)
    ]
    design = {"balance": {"capacity": True}, "overlap": None, "buckets": {"raters_per_bucket": 4}}
    plan = compiled(design, (test_set, systems, able), seed=seed)
    done: Counter[str] = Counter()
    for task in plan.tasks:
        done[task.rater] += task.size.count_in(unit)
    for rater in able:
        assert done[rater.key] <= (rater.capacity or 0)
    short = [replace(rater, capacity=(rater.capacity or 0) // 2) for rater in able]
    with pytest.raises(Invalid, match="the capacities do not suffice"):
        compiled(design, (test_set, systems, short), seed=seed)


def test_documents_without_any_output_are_said() -> None:
    test_set, systems, raters = world(6, 2, 3)
    outputs = {key: marks for key, marks in test_set.outputs.items() if key[0] != "d003"}
    plan = compiled({}, (replace(test_set, outputs=outputs), systems, raters))
    assert [unmet.what for unmet in plan.unmet] == ["1 document has nothing to judge"]
    assert "d003" in plan.unmet[0].why


def test_evening_out_is_reported_with_its_bound() -> None:
    plan = compiled({"overlap": None, "even_out": True}, world(38, 3, 7))
    assert plan.evened is not None
    assert plan.evened.is_largest_load_minimal
    done = Counter(group.rater for group in plan.groups)
    assert (max(done.values()), min(done.values())) == (plan.evened.largest, plan.evened.smallest) == (6, 5)


def test_more_than_a_capacity_is_said_where_the_balance_does_not_heed_it() -> None:
    test_set, systems, raters = world(12, 2, 3, longest=1)
    able = [replace(raters[0], capacity=3), replace(raters[1], capacity=100), raters[2]]
    plan = compiled({"overlap": None}, (test_set, systems, able))
    assert plan.unmet[0].what == "1 rater is given more than their capacity"
    assert "r00 (8 of 3 items)" in plan.unmet[0].why


def test_work_follows_capacity_where_groups_are_alike() -> None:
    test_set, systems, raters = world(40, 3, 4, longest=1)
    able = [replace(rater, capacity=12 * part) for rater, part in zip(raters, [1, 2, 3, 4], strict=True)]
    design = {"balance": {"capacity": True}, "overlap": None, "buckets": {"raters_per_bucket": 4}}
    plan = compiled(design, (test_set, systems, able))
    assert Counter(group.rater for group in plan.groups) == {"r00": 4, "r01": 8, "r02": 12, "r03": 16}


def test_a_sample_of_documents_says_with_which_probability_each_came_in() -> None:
    plan = compiled({"documents": {"sample": 10, "by": "domain"}}, world(25, 2, 3))
    chance = {document.key: document.inclusion for document in plan.documents}
    assert len(chance) == 10
    assert sorted(Counter(chance.values()).items()) == [(5 / 13, 5), (5 / 12, 5)]


def test_propensities_are_those_of_the_deal() -> None:
    plan = compiled({"buckets": {"raters_per_bucket": 4}}, world(20, 2, 4))
    several = Counter(group.unit for group in plan.groups)
    assert {(several[group.unit], group.propensity) for group in plan.groups} == {(1, 0.25), (2, 0.5)}
    evened = compiled({"overlap": None, "even_out": True}, world(20, 2, 4))
    share = Counter((group.bucket, group.rater) for group in evened.groups)
    size = Counter(group.bucket for group in evened.groups)
    for group in evened.groups:
        assert group.propensity == pytest.approx(share[group.bucket, group.rater] / size[group.bucket])
