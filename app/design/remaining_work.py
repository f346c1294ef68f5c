"""The remaining work of a plan: what raters already have, their arms, and what everyone still has to judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.balanced_assignment import GroupAllocation
from app.design.design_inputs import Rater, TestSet, WorkSize
from app.design.grouping import GroupedOutputs
from app.design.item_order import ItemToPlace
from app.design.open_groups import OpenGroup, OpenGroupAssignments
from app.design.plan import Bucket, Plan
from app.design.task_maker import TaskInputs


def sum_kept_work_by_rater(plan: Plan, kept: Collection[int], raters: Iterable[Rater]) -> Mapping[str, WorkSize]:
    """Sum the work that each rater has done or keeps."""
    held = {rater.key: WorkSize() for rater in raters}
    for task in plan.tasks:
        if task.number in kept and task.rater in held:
            held[task.rater] += task.size
    return held


def make_task_inputs_of_remaining_groups(
    plan: Plan,
    test_set: TestSet,
    systems: tuple[str, ...],
    raters: tuple[Rater, ...],
    grouped: GroupedOutputs,
    filled: OpenGroupAssignments,
    buckets: Sequence[Bucket],
    shared: Mapping[str, tuple[tuple[ItemToPlace, ...], ...]],
) -> TaskInputs:
    """Make the task inputs of the open groups that somebody judges, each with its one rater."""
    code = {rater.key: n for n, rater in enumerate(raters)}
    place = {bucket.number: n for n, bucket in enumerate(buckets)}
    done = [(group, key) for group, key in filled.assignments if key is not None]
    kept = GroupedOutputs(
        grouped.stretches, grouped.entries, tuple(grouped.groups[group.material] for group, _ in done)
    )
    pools = tuple(np.array(sorted(code[key] for key in bucket.raters), dtype=np.int64) for bucket in buckets)
    cells = np.array([place[group.bucket] for group, _ in done], dtype=np.int64)
    ones = np.ones(len(done), dtype=np.int64)
    layout = AllocationInput(
        cells, np.arange(len(buckets)), pools, len(raters), kept.group_sizes(plan.design.unit), ones
    )
    dealt = GroupAllocation(
        np.array([[code[key]] for _, key in done], dtype=np.int64).reshape(-1, 1),
        np.array([[_chance(group, len(pools[place[group.bucket]]))] for group, _ in done]).reshape(-1, 1),
    )
    labels = tuple((group.unit, group.nth) for group, _ in done)
    return TaskInputs(
        plan.design, test_set, systems, raters, kept, layout, dealt, (), labels, _arms(plan, done), shared
    )


def _arms(plan: Plan, done: Sequence[tuple[OpenGroup, str]]) -> tuple[int | None, ...]:
    """Return arms: groups (or raters, if arms are crossed with raters) keep theirs; new ones get the least used."""
    if not plan.design.arms:
        return (None,) * len(done)
    by_rater = plan.design.cross == "raters"
    of_rater = {group.rater: group.arm for group in plan.groups}
    used = Counter(of_rater.values() if by_rater else (group.arm for group in plan.groups))
    result = []
    for group, key in done:
        arm = of_rater.get(key) if by_rater else group.before.arm if group.before is not None else None
        if arm is None:
            arm = min(range(len(plan.design.arms)), key=lambda n: (used[n], n))
            used[arm] += 1
            of_rater[key] = arm
        result.append(arm)
    return tuple(result)


def list_remaining_shared_items(
    plan: Plan, test_set: TestSet, systems: Collection[str], rater: str, kept: Collection[int]
) -> tuple[tuple[ItemToPlace, ...], ...]:
    """List what a rater still has to judge of the shared items: everything, for a new rater."""
    tasks = [task for task in plan.tasks_of_rater(rater) if task.number not in kept]
    items = [item for task in tasks for item in task.items if item.role == "calibration"]
    words_of = {document.key: document.words for document in (*test_set.documents, *test_set.calibration)}
    packs: dict[tuple[str, int], list[ItemToPlace]] = {}
    for item in items if rater in plan.raters else plan.common:
        still = tuple(name for name in item.systems if name in systems)
        if still or not item.systems:
            words = sum(words_of[item.document][item.first - 1 : item.last])
            piece = ItemToPlace(
                item.document, item.first, item.last, words, "calibration", still[0] if still else None, still
            )
            packs.setdefault((item.document, item.first), []).append(piece)
    return tuple(tuple(pack) for pack in packs.values())


def _chance(group: OpenGroup, people: int) -> float:
    """Return the propensity of the earlier assignment, if the group had one, of its square, or of a new assignment."""
    if group.before is not None:
        return group.before.propensity
    return group.square.chance if group.square is not None else 1 / max(people, 1)
