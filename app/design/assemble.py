"""From assigned groups to tasks: who judges which group in which arm, and the tasks of every rater."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.design.arms import assign_arms_to_groups, assign_arms_to_raters
from app.design.item_order import SystemOrders
from app.design.item_positions import make_tasks_from_drafts
from app.design.plan import PlannedItemGroup, Task, UnmetRequest
from app.design.task_maker import RaterTaskMaker, TaskInputs, UnmetRequestCollector

Rngs = Callable[..., np.random.Generator]


@dataclass(frozen=True, slots=True)
class AssembledTasks:
    """The tasks of a plan, their groups, and the requests that could not be met."""

    tasks: tuple[Task, ...]
    groups: tuple[PlannedItemGroup, ...]
    unmet: tuple[UnmetRequest, ...]


def assemble_tasks(rngs: Rngs, work: TaskInputs) -> AssembledTasks:
    """Make the tasks of all raters."""
    planned = make_planned_item_groups(rngs, work)
    by_rater: dict[str, list[tuple[PlannedItemGroup, int]]] = {rater.key: [] for rater in work.raters}
    for group, of in planned:
        by_rater[group.rater].append((group, of))
    orders = SystemOrders(rngs("orders"), work.systems)
    starts = rngs("starts").permutation(len(work.raters))
    troubles = UnmetRequestCollector()
    groups = tuple(group for group, _ in planned)
    tasks: list[Task] = []
    for n, rater in enumerate(work.raters):
        maker = RaterTaskMaker(rngs("rater", n), work, orders, troubles)
        drafts = maker.make_tasks(rater.key, by_rater[rater.key], int(starts[n]))
        tasks += make_tasks_from_drafts(rngs("sides", n), rater.key, drafts, groups, first_number=len(tasks) + 1)
    return AssembledTasks(tuple(tasks), groups, troubles.list_unmet_requests(work.design))


def make_planned_item_groups(rngs: Rngs, work: TaskInputs) -> list[tuple[PlannedItemGroup, int]]:
    """Make a planned group for each (group, rater), in the order of the test set, with the index of its group."""
    raters, rows = work.allocation.raters, _rows(work)
    arms = _arms(rngs, work, rows)
    result = []
    for number, (group, unit, turn, place) in enumerate(rows):
        stretch = work.outputs.stretches[work.outputs.segment_range_index_of_group(group)]
        planned = PlannedItemGroup(
            number + 1,
            int(work.layout.bucket[work.layout.cell[group]]) + 1,
            unit,
            turn,
            work.test_set.documents[stretch.document].key,
            stretch.first,
            stretch.last,
            work.raters[int(raters[group, place])].key,
            float(work.allocation.propensity[group, place]),
            arms[number],
        )
        result.append((planned, group))
    return result


def _rows(work: TaskInputs) -> list[tuple[int, int, int, int]]:
    """Return group index, unit, number of the rating, and place among the group's raters, for each planned group."""
    raters, latin = work.allocation.raters, work.design.structure == "latin_square"
    rows: list[tuple[int, int, int, int]] = []
    nth: Counter[int] = Counter()
    for group in range(len(raters)):
        unit = (work.outputs.segment_range_index_of_group(group) if latin else group) + 1
        for place in np.flatnonzero(raters[group] >= 0).tolist():
            nth[unit] += 1
            label = work.labels[group] if work.labels else (unit, nth[unit])
            rows.append((group, *label, place))
    return rows


def _arms(rngs: Rngs, work: TaskInputs, rows: Sequence[tuple[int, int, int, int]]) -> list[int | None]:
    n_arms = len(work.design.arms)
    if work.arms is not None:
        return [work.arms[group] for group, _, _, _ in rows]
    if not n_arms:
        return [None] * len(rows)
    rater = np.array([work.allocation.raters[group, place] for group, _, _, place in rows], dtype=np.int64)
    if work.design.cross == "raters":
        arm_of = assign_arms_to_raters(rngs("arms"), work.layout.pools, len(work.raters), n_arms)
        return [int(arm_of[code]) for code in rater]
    unit = np.array([unit for _, unit, _, _ in rows], dtype=np.int64)
    return [int(arm) for arm in assign_arms_to_groups(rngs("arms"), unit, rater, n_arms)]
