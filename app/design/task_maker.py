"""Makes the tasks of one rater: arms, order, columns, calibration and controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.arms import interleave_tasks_of_arms
from app.design.balanced_assignment import GroupAllocation
from app.design.calibration import place_calibration_items
from app.design.control_items import ControlShortfall, add_control_items
from app.design.control_screens import add_control_screens
from app.design.design_choices import Design, Placement
from app.design.design_inputs import Rater, TestSet
from app.design.grouping import GroupedOutputs
from app.design.item_order import (
    ItemToPlace,
    ScreenBlock,
    SystemOrders,
    arrange_items_in_system_rounds,
    arrange_items_on_screens,
)
from app.design.item_positions import TaskDraft
from app.design.plan import PlannedItemGroup, UnmetRequest
from app.design.repeats import RaterHistory
from app.design.task_packing import PartialTask, TaskCapacity, count_fitting_columns, pack_blocks_into_tasks
from app.domain.plural_forms import pluralize


@dataclass(frozen=True, slots=True, eq=False)
class TaskInputs:
    """Everything that is assigned. shared: packs of items that every rater judges.

    If work continues an earlier plan, `labels` are unit and nth of each group (with one rater), `arms` its arm, and
    `remaining_shared` the shared items that each rater still has to judge.
    """

    design: Design
    test_set: TestSet
    systems: tuple[str, ...]
    raters: tuple[Rater, ...]
    outputs: GroupedOutputs
    layout: AllocationInput
    allocation: GroupAllocation
    shared: tuple[tuple[ItemToPlace, ...], ...]
    labels: tuple[tuple[int, int], ...] | None = None
    arms: tuple[int | None, ...] | None = None
    remaining_shared: Mapping[str, tuple[tuple[ItemToPlace, ...], ...]] | None = None

    def shared_items_of_rater(self, rater: str) -> tuple[tuple[ItemToPlace, ...], ...]:
        """Return the packs of shared items that this rater has to judge besides the groups."""
        return self.shared if self.remaining_shared is None else self.remaining_shared.get(rater, ())


@dataclass(slots=True, eq=False)
class UnmetRequestCollector:
    """Requests that could not be met, collected over all raters. oversize: items that are too long, by document."""

    oversize: Counter[str] = field(default_factory=Counter)
    narrowed: set[str] = field(default_factory=set)
    short: list[ControlShortfall] = field(default_factory=list)

    def list_unmet_requests(self, design: Design) -> tuple[UnmetRequest, ...]:
        """Return the unmet requests as statements."""
        result = []
        if self.oversize:
            named = ", ".join(sorted(self.oversize)[:5]) + (" …" if len(self.oversize) > 5 else "")
            number = self.oversize.total()
            what = pluralize(number, "item is longer than a task may be", "items are longer than a task may be")
            result.append(UnmetRequest(what, f"{'document' if len(self.oversize) == 1 else 'documents'} {named}"))
        if self.narrowed:
            why = f"{design.task.columns} outputs of {', '.join(sorted(self.narrowed)[:5])} exceed a task"
            result.append(UnmetRequest("some screens have fewer columns", why))
        for kind, number in sorted(Counter(short.kind for short in self.short).items()):
            most = max(short.missing for short in self.short if short.kind == kind)
            if kind == "distance":
                near = pluralize(most, "segment too near", "segments too near")
                what = pluralize(number, f"repeat is {near}", f"repeats are up to {near}")
                result.append(UnmetRequest(what, "their tasks are too short"))
            else:
                what = pluralize(number, f"task lacks {kind} items", f"tasks lack {kind} items")
                result.append(UnmetRequest(what, f"up to {most}: their documents have none"))
        return tuple(result)


@dataclass(slots=True, eq=False)
class RaterTaskMaker:
    """Makes one rater's tasks."""

    rng: np.random.Generator
    work: TaskInputs
    orders: SystemOrders
    troubles: UnmetRequestCollector

    def make_tasks(self, rater: str, planned: Sequence[tuple[PlannedItemGroup, int]], start: int) -> list[TaskDraft]:
        """Return the rater's tasks in order. start: determines which arm comes first."""
        shared = self._in_own_order(self.work.shared_items_of_rater(rater))
        n_arms = max(1, len(self.work.design.arms))
        mine = sorted({group.arm or 0 for group, _ in planned}) or [0]
        drafts: list[list[PartialTask]] = [[] for _ in range(n_arms)]
        for turn, arm in enumerate(mine):
            groups = [(group, of) for group, of in planned if (group.arm or 0) == arm]
            drafts[arm] = self._drafts(groups, shared[turn :: len(mine)])
        flat = [(arm, draft) for arm in range(n_arms) for draft in drafts[arm]]
        order = interleave_tasks_of_arms(_runs(flat, n_arms), start % n_arms)
        references = {document.key: document.references for document in self.work.test_set.documents}
        capacity = TaskCapacity.for_rater(self.work.design, [item for _, draft in flat for item in draft.all_items()])
        history, tasks = RaterHistory(), []
        for task in order:
            arm, draft = flat[task]
            top_up = self.work.design.structure == "sr_plus_dc"
            if capacity.task.columns > 1:
                shown, short = add_control_screens(self.rng, draft, capacity, references, history)
            else:
                shown, short = add_control_items(self.rng, draft, capacity, references, history, top_up=top_up)
            self.troubles.short += short
            tasks.append(TaskDraft(tuple(shown), arm if self.work.design.arms else None, _numbers_of_groups(draft)))
        return tasks

    def _in_own_order(self, packs: Sequence[tuple[ItemToPlace, ...]]) -> Sequence[tuple[ItemToPlace, ...]]:
        """Return the shared items in an order of this rater's own, so that no item is always at the same place."""
        if self.work.design.task.shuffle == "none":
            return packs
        return [packs[n] for n in self.rng.permutation(len(packs))] if packs else packs

    def _drafts(
        self, planned: Sequence[tuple[PlannedItemGroup, int]], shared: Sequence[tuple[ItemToPlace, ...]]
    ) -> list[PartialTask]:
        blocks = place_calibration_items(
            self._blocks(planned), [self._copy_shared_items(pack) for pack in shared], self._placement()
        )
        capacity = TaskCapacity.for_rater(
            self.work.design, [item for block in blocks for screen in block for item in screen]
        )
        drafts, oversize = pack_blocks_into_tasks(self.rng, blocks, capacity)
        self.troubles.oversize.update(item.document for item in oversize)
        if self.work.design.task.shuffle == "items":
            for draft in drafts:
                draft.screens = [draft.screens[n] for n in self.rng.permutation(len(draft.screens))]
                draft.blocks = list(range(len(draft.screens)))
        return drafts

    def _placement(self) -> Placement:
        calibration = self.work.design.calibration
        return calibration.placement if calibration else "first"

    def _blocks(self, planned: Sequence[tuple[PlannedItemGroup, int]]) -> list[ScreenBlock]:
        design = self.work.design
        shuffled = list(planned)
        if design.task.shuffle != "none":
            shuffled = [planned[n] for n in self.rng.permutation(len(planned))]
        if design.structure == "latin_square":
            return self._by_document(shuffled)
        packs = [self._make_unplaced_items(group, of) for group, of in shuffled]
        if design.grouping == "psxs":
            return [self._columns(pack) for pack in packs]
        singles = [item for pack in packs for item in pack]
        if design.grouping == "system_balanced" and design.task.shuffle != "none":
            singles = arrange_items_in_system_rounds(self.rng, singles, self.orders)
        return [((item,),) for item in singles]

    def _make_unplaced_items(self, group: PlannedItemGroup, of: int) -> list[ItemToPlace]:
        grouped = self.work.outputs
        stretch = grouped.stretches[grouped.segment_range_index_of_group(of)]
        return [
            ItemToPlace(
                group.document,
                stretch.first,
                stretch.last,
                stretch.words,
                "rating",
                systems[0],
                systems,
                group.number,
                group.propensity,
            )
            for systems in (grouped.entries[n].systems for n in grouped.groups[of])
        ]

    def _columns(self, pack: Sequence[ItemToPlace]) -> ScreenBlock:
        """Return a group's items in an order of the systems, on screens with as many columns as fit a task."""
        ordered = list(pack)
        if self.work.design.task.shuffle != "none":
            place_of = self.orders.next_order()
            ordered.sort(key=lambda item: place_of[item.systems[0]])
        columns = self.work.design.task.columns
        fitting = (
            count_fitting_columns(columns, ordered, TaskCapacity.for_rater(self.work.design, ordered))
            if columns > 1
            else 1
        )
        if fitting < min(columns, len(ordered)):
            self.troubles.narrowed.add(ordered[0].document)
        return arrange_items_on_screens(ordered, fitting)

    def _copy_shared_items(self, pack: Sequence[ItemToPlace]) -> ScreenBlock:
        """Copy shared items, so that every rater's item has its own place."""
        own = [replace(item) for item in pack]
        return self._columns(own) if own[0].systems else ((own[0],),)

    def _by_document(self, planned: Sequence[tuple[PlannedItemGroup, int]]) -> list[ScreenBlock]:
        """Return documents in the order of their first appearance, each with its segments in order."""
        by_document: dict[str, list[ItemToPlace]] = {}
        for group, of in planned:
            by_document.setdefault(group.document, []).extend(self._make_unplaced_items(group, of))
        return [tuple((item,) for item in sorted(items, key=lambda item: item.first)) for items in by_document.values()]


def _numbers_of_groups(draft: PartialTask) -> frozenset[int]:
    return frozenset(item.group for item in draft.all_items() if item.group is not None)


def _runs(flat: Sequence[tuple[int, PartialTask]], n_arms: int) -> list[list[tuple[int, ...]]]:
    """Return for each arm its runs of consecutive tasks, which belong together because a group extends over them."""
    runs: list[list[tuple[int, ...]]] = [[] for _ in range(n_arms)]
    last: frozenset[int] = frozenset()
    for n, (arm, draft) in enumerate(flat):
        here = _numbers_of_groups(draft)
        if here & last:
            runs[arm][-1] = (*runs[arm][-1], n)
        else:
            runs[arm].append((n,))
        last = here
    return runs
