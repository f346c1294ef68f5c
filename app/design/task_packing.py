"""Packs items into tasks: blocks of screens in order, never longer than the limits unless a single item is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from app.design.design_choices import ControlRules, Design, TaskRules
from app.design.design_inputs import WorkSize
from app.design.grouping import (
    count_least_control_items_for_total,
    count_needed_control_items,
    count_needed_control_screens,
)
from app.design.item_order import ItemToPlace, Screen, ScreenBlock, arrange_items_on_screens
from app.domain.errors import Invalid, Place

_SPARE = 50


@dataclass(frozen=True, slots=True)
class ControlQuota:
    """A task's part of the control items of a chain: how many of each kind; with columns, on how many screens."""

    kinds: Mapping[str, int]
    screens: int


@dataclass(slots=True, eq=False)
class PartialTask:
    """A task being filled: its screens, and for each the number of its block.

    quota: its control items, if those of a block are shared over several tasks. whole: nothing else is added to it.
    """

    screens: list[Screen] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    quota: ControlQuota | None = None
    whole: bool = False

    def all_items(self) -> list[ItemToPlace]:
        """Return all items."""
        return [item for screen in self.screens for item in screen]


@dataclass(frozen=True, slots=True)
class TaskCapacity:
    """What fits into a task, together with the control items that it will need.

    spare: the rater's shortest items, ascending, from which a degraded copy or reference can be made.
    """

    task: TaskRules
    controls: ControlRules
    regular_share: float = 1.0
    spare: tuple[ItemToPlace, ...] = ()

    @classmethod
    def for_rater(cls, design: Design, items: Sequence[ItemToPlace] = ()) -> TaskCapacity:
        """Return the capacity of a design's tasks for a rater who has these items."""
        spare = sorted((item for item in items if item.role == "rating"), key=_length)[:_SPARE]
        return cls(design.task, design.controls, design.max_regular_item_share, tuple(spare))

    def is_within_limits(self, size: WorkSize, share: float = 1.0) -> bool:
        """Whether a size is within the limits, or within a share of them."""
        limits = (
            (self.task.max_items, size.items, 1.0),
            (self.task.max_segments, size.segments, share),
            (self.task.max_words, size.words, share),
        )
        return all(limit is None or n <= int(limit * part + 1e-9) for limit, n, part in limits)

    def fits(self, screens: Sequence[Screen], quota: ControlQuota | None = None) -> bool:
        """Whether these screens and their controls fit, with controls of mean size and with the shortest ones."""
        regular = sum_work([item for screen in screens for item in screen])
        if not self.is_within_limits(regular, self.regular_share):
            return False
        own = sorted((item for screen in screens for item in screen if item.role == "rating"), key=_length)
        if not self.controls.has_any_control or not own:
            return True
        shortest = self._shortest_controls(screens, own, quota)
        mean, number = regular + WorkSize(items=len(shortest)), len(shortest)
        if len(own) > 1:
            size = sum_work(own)
            mean += WorkSize(0, -(-size.segments * number // len(own)), -(-size.words * number // len(own)))
        return self.is_within_limits(regular + sum_work(shortest)) and self.is_within_limits(mean)

    def _shortest_controls(
        self, screens: Sequence[Screen], own: Sequence[ItemToPlace], quota: ControlQuota | None
    ) -> list[ItemToPlace]:
        """Return the shortest originals of all control items; with several columns, those of whole screens."""
        if self.task.columns > 1:
            repeatable = sort_rating_screens_by_size(screens)
            widths = [len(screen) for screen in repeatable]
            count = quota.screens if quota else count_needed_control_screens(self.controls, len(own), widths)
            return [item for n in range(count) for item in repeatable[n % len(repeatable)]]
        needed = quota.kinds if quota else count_needed_control_items(self.controls, len(own))
        return [item for kind, n in needed.items() for item in self.choose_shortest_control_originals(kind, n, own)]

    def fits_item_alone(self, item: ItemToPlace) -> bool:
        """Whether an item that alone exceeds the regular share fits a task with its controls."""
        return replace(self, regular_share=1.0).fits([(item,)])

    def choose_shortest_control_originals(self, kind: str, count: int, own: Sequence[ItemToPlace]) -> list[ItemToPlace]:
        """Return the shortest originals for control items of a kind; a repeat must be of an item judged before."""
        able = list(own) if kind == "repeat" or not self.spare else list(self.spare)
        return [able[n % len(able)] for n in range(count)]


def _length(item: ItemToPlace) -> tuple[int, int]:
    return item.last - item.first, item.words


def sort_rating_screens_by_size(screens: Sequence[Screen]) -> list[Screen]:
    """Return the screens of ratings, sorted by size."""
    rated = [screen for screen in screens if screen[0].role == "rating"]
    return sorted(rated, key=lambda screen: (sum_work(screen).segments, sum_work(screen).words))


def sum_work(items: Sequence[ItemToPlace]) -> WorkSize:
    """Return the total work of these items."""
    segments = sum([item.last - item.first for item in items]) + len(items)
    return WorkSize(len(items), segments, sum([item.words for item in items]))


def pack_blocks_into_tasks(
    rng: np.random.Generator, blocks: Sequence[ScreenBlock], capacity: TaskCapacity
) -> tuple[list[PartialTask], list[ItemToPlace]]:
    """Put blocks into tasks, in order; a block that does not fit into the remaining space begins a new task.

    A block larger than a task fills consecutive tasks evenly, with whole screens and nothing else. If all of it belongs
    to one group, so that these tasks are a chain, its control items are shared evenly over them.

    Returns
    -------
    The tasks, and items that alone are longer than a task may be (each has a task to itself).

    Raises
    ------
    Invalid
        An item leaves no room for the control items that every task must hold.
    """
    tasks: list[PartialTask] = []
    oversize: list[ItemToPlace] = []
    for number, block in enumerate(blocks):
        if tasks and not tasks[-1].whole and capacity.fits([*tasks[-1].screens, *block]):
            tasks[-1].screens += block
            tasks[-1].blocks += [number] * len(block)
            continue
        parts = [PartialTask(list(block))] if capacity.fits(block) else _split_block(rng, block, capacity)
        for part in parts or _split_oversize_block(block, capacity, oversize):
            part.blocks = [number] * len(part.screens)
            tasks.append(part)
    return tasks, oversize


def _split_block(rng: np.random.Generator, block: ScreenBlock, capacity: TaskCapacity) -> list[PartialTask]:
    """Split a block into the fewest even parts that fit a task each; empty if not even single screens fit."""
    for count in range(2, len(block) + 1):
        parts = [block[len(block) * n // count : len(block) * (n + 1) // count] for n in range(count)]
        quotas = compute_control_quotas(rng, parts, capacity)
        if all(capacity.fits(part, quota) for part, quota in zip(parts, quotas, strict=True)):
            return [PartialTask(list(part), quota=quota, whole=True) for part, quota in zip(parts, quotas, strict=True)]
    return []


def compute_control_quotas(
    rng: np.random.Generator, block_parts: Sequence[ScreenBlock], capacity: TaskCapacity
) -> Sequence[ControlQuota | None]:
    """Return each part's share of the control items of a group.

    None if there are no control items, if the items belong to several groups, or if screens differ in width. In the
    last case the number of control items depends on which screens are repeated.
    """
    shown = [screen for part in block_parts for screen in part]
    items = [item for screen in shown for item in screen]
    alike = len({item.group for item in items}) == len({len(screen) for screen in shown}) == 1
    if not capacity.controls.has_any_control or items[0].group is None or not alike:
        return [None] * len(block_parts)
    if capacity.task.columns > 1:
        width = len(shown[0])
        number = count_needed_control_screens(capacity.controls, len(items), [width])
        least = count_least_control_items_for_total(capacity.controls, len(items) + number * width)
    else:
        least = count_needed_control_items(capacity.controls, len(items))
        number = sum(least.values())
    # Shorter parts get one more.
    order = sorted(rng.permutation(len(block_parts)).tolist(), key=lambda n: len(block_parts[n]))
    screens = [number // len(block_parts)] * len(block_parts)
    for n in order[: number % len(block_parts)]:
        screens[n] += 1
    slots = [n for n, count in enumerate(screens) for _ in range(count)]
    slots = [slots[n] for n in rng.permutation(len(slots))]
    kinds: list[Counter[str]] = [Counter(dict.fromkeys(least, 0)) for _ in block_parts]
    for turn, kind in enumerate(kind for kind, count in least.items() for _ in range(count)):
        kinds[slots[turn % len(slots)]][kind] += 1
    return [ControlQuota(dict(each), count) for each, count in zip(kinds, screens, strict=True)]


def _split_oversize_block(block: ScreenBlock, capacity: TaskCapacity, oversize: list[ItemToPlace]) -> list[PartialTask]:
    """Split a block with a screen that does not fit a task (with control items): as much as fits into each task."""
    parts: list[PartialTask] = []
    for screen in block:
        if not parts or not capacity.fits([*parts[-1].screens, screen]):
            parts.append(PartialTask())
            if not capacity.fits([screen]):
                _check_alone(capacity, screen)
                oversize.extend(screen)
        parts[-1].screens.append(screen)
    return parts


def _check_alone(capacity: TaskCapacity, screen: Screen) -> None:
    item = screen[0]
    if capacity.is_within_limits(item.size):
        if capacity.regular_share < 1 and capacity.fits_item_alone(item):
            return
        raise Invalid(
            f"segments {item.first}–{item.last} of document {item.document} and the control items that its task "
            "must hold do not fit the limits of a task together: split documents, raise the limits, or lower the rates",
            places=(Place(("task", "max_segments"), "no room for control items"),),
        )


def count_fitting_columns(columns: int, items: Sequence[ItemToPlace], capacity: TaskCapacity) -> int:
    """Return the most columns, up to those requested, whose largest items fit a task in every screen width."""
    largest = sorted(items, key=lambda item: (-item.size.segments, -item.size.words))

    def fit(columns: int) -> bool:
        widths = {len(screen) for screen in arrange_items_on_screens(largest, columns)}
        return all(capacity.fits([tuple(largest[:width])]) for width in widths)

    return next((n for n in range(columns, 1, -1) if fit(n)), 1)
