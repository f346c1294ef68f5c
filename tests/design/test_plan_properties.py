"""The look over a plan, against slow counts, and the doctests of the package."""

from __future__ import annotations

import time
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet, WorkSize
from app.design.entropy import normalized_entropy
from app.design.plan import PlanItem, Task
from app.design.plan_properties import compute_plan_properties, group_connected_raters, list_unmet_recommendations
from app.design.simulate import simulate_rater_assignments
from app.domain.errors import Invalid
from tests.design.worlds import compiled, group_loads, rated, world


@pytest.mark.parametrize("grouping", ["psxs", "system_balanced", "none"])
def test_the_report_counts_what_the_tasks_hold(grouping: str) -> None:
    plan = compiled({"grouping": grouping, "controls": {"bad_reference": {"rate": 0.1}}}, world(20, 4, 5))
    found = compute_plan_properties(plan)
    done = Counter(task.rater for task, _ in rated(plan))
    exact = normalized_entropy(np.array([done[rater] for rater in plan.raters]))
    assert found.normalized_entropy == pytest.approx(float(exact))
    assert sum(load.size.items for load in found.loads) == sum(len(task.items) for task in plan.tasks)
    for rater, row in found.rater_system.items():
        for system, n in row.items():
            assert n == sum(task.rater == rater and system in item.systems for task, item in rated(plan))
    for a, b in combinations(plan.systems, 2):
        held = [{name for item in task.items if item.role == "rating" for name in item.systems} for task in plan.tasks]
        assert found.system_system[a][b] == found.system_system[b][a] == sum({a, b} <= names for names in held)
    for spread in found.spreads[:-1]:
        loads = group_loads(plan)[next(b.number for b in plan.buckets if b.name == spread.bucket)]
        assert spread.groups == max(loads.values()) - min(loads.values())
    assert found.control_density is not None
    assert found.control_density.least >= 0.1


@pytest.mark.parametrize(
    ("systems", "limit", "is_far_above_requested"), [(2, 100, True), (6, 100, False), (14, 600, False)]
)
def test_many_more_controls_than_asked_for_are_told(systems: int, limit: int, is_far_above_requested: bool) -> None:
    """Two ratings and a control fill a task of a short group; a long one shares its controls over a chain."""
    documents = tuple(DocumentToPlan(f"d{n}", (9,) * 31) for n in range(6))
    compared = [System(f"s{n:02}") for n in range(systems)]
    outputs = {(d.key, s.key): tuple(f"{d.key}{s.key}{n}" for n in range(31)) for d in documents for s in compared}
    design = {"overlap": None, "controls": {"bad_reference": {"rate": 0.12}}, "task": {"max_segments": limit}}
    density = compute_plan_properties(
        compiled(design, (TestSet(documents, outputs), compared, [Rater("r1")]))
    ).control_density
    assert density is not None
    assert (density.asked, density.is_far_above_requested) == (0.12, is_far_above_requested)
    assert density.least >= 0.12
    assert (density.overall > 0.3) == is_far_above_requested


def test_every_pair_of_systems_is_judged_together_as_often_as_there_are_ratings_under_psxs() -> None:
    plan = compiled({"overlap": None, "ratings_per_item": 2}, world(12, 4, 5))
    found = compute_plan_properties(plan)
    assert found.pair_judgments == 24
    assert found.rated_twice == 12
    assert found.departures[0].recommendation.startswith("one rating per item")


def test_what_cannot_be_estimated_is_said() -> None:
    alone = compute_plan_properties(compiled({"overlap": None}, world(12, 3, 4)))
    assert alone.rater_pairs == (0, 6)
    assert "no agreement of raters" in alone.estimable[0]
    assert "agreement of raters, over" in compute_plan_properties(compiled({}, world(40, 3, 4))).estimable[0]


def test_departures_name_what_each_costs() -> None:
    plan = compiled({"grouping": "none", "balance": {"entropy": 0.9}, "overlap": None}, world(20, 3, 4))
    assert [departure.instead for departure in list_unmet_recommendations(plan)] == ["none", "entropy 0.9"]
    assert list_unmet_recommendations(compiled({}, world(20, 3, 4))) == ()


def test_raters_who_share_neither_systems_nor_documents_are_apart() -> None:
    def one(rater: str, document: str, system: str) -> tuple[Task, PlanItem]:
        item = PlanItem(1, 1, 1, document, 1, 1, "rating", system, (system,))
        return Task(1, rater, 1, (item,), WorkSize(1, 1, 1)), item

    rows = [one("a", "d1", "x"), one("b", "d1", "y"), one("c", "d2", "z")]
    assert group_connected_raters(rows, ("a", "b", "c")) == (("a", "b"), ("c",))
    assert group_connected_raters([*rows, one("c", "d3", "y")], ("a", "b", "c")) == (("a", "b", "c"),)


def test_studies_are_simulated_by_the_dealing_of_campaigns_and_fast() -> None:
    pools = [np.sort((np.array([0, 1, 3]) + n) % 7) for n in range(7)]
    bucket = np.repeat(np.arange(7), [26] * 6 + [25])
    started = time.process_time()  # of this process: however busy the machine is
    raters = simulate_rater_assignments(
        np.random.default_rng(1),
        grouping="psxs",
        bucket_of_document=bucket,
        n_systems=15,
        pools=pools,
        n_raters=7,
        studies=1000,
    )
    assert time.process_time() - started < 5  # some 0.1 s on one core: thousands of studies a second
    assert raters.shape == (1000, 181, 15, 1)
    for n, pool in enumerate(pools):
        counts = np.stack([(raters[:, bucket == n, 0, 0] == rater).sum(axis=1) for rater in pool])
        assert np.ptp(counts, axis=0).max() <= 1
        assert counts.sum(axis=0).tolist() == [(bucket == n).sum()] * 1000


def test_a_study_without_documents_is_refused() -> None:
    with pytest.raises(Invalid, match="needs documents"):
        simulate_rater_assignments(
            np.random.default_rng(1),
            grouping="none",
            bucket_of_document=np.empty(0, dtype=np.int64),
            n_systems=2,
            pools=[np.arange(2)],
            n_raters=2,
            studies=1,
        )
