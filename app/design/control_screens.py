"""Control items for outputs side by side: whole screens of a task, shown again.

A control item on a screen of its own would be recognizable by its width. Therefore a screen of ratings is repeated with
the same width: some columns are degraded, or one contains the reference, and the others are repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.design.control_items import DRAWS, ControlShortfall, make_control_item
from app.design.grouping import count_least_control_items_for_total, count_needed_control_screens
from app.design.item_order import Screen
from app.design.repeats import (
    PlannedScreenRepeat,
    RaterHistory,
    choose_screen_to_repeat,
    measure_repeat_distance_shortfalls,
)
from app.design.task_packing import ControlQuota, PartialTask, TaskCapacity, sort_rating_screens_by_size, sum_work

References = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class _RepeatedScreen:
    """A screen that is shown again, and the kind of control item in each of its columns."""

    screen: Screen
    kinds: tuple[str, ...]


def add_control_screens(
    rng: np.random.Generator, draft: PartialTask, capacity: TaskCapacity, references: References, history: RaterHistory
) -> tuple[list[Screen], list[ControlShortfall]]:
    """Return the screens of a task with its control items, whose screens are as wide as those of ratings.

    Every screen with control items shows the outputs of one screen of ratings in the same columns, at least
    min_distance segments after it; all its columns are control items.

    Parameters
    ----------
    references : names of the references of each document. history : the rater's earlier tasks.
    """
    screens = list(draft.screens)
    short: list[ControlShortfall] = []
    if capacity.controls.has_any_control and sort_rating_screens_by_size(screens):
        chosen = _screens_to_repeat(rng, screens, capacity, references, draft.quota)
        needed = draft.quota.kinds if draft.quota else _least_controls_of(screens, chosen, capacity)
        assigned = _assign_kinds(rng, chosen, needed, references)
        size = sum_work([item for screen in (*screens, *(again.screen for again in assigned)) for item in screen])
        for again in assigned:
            planned = PlannedScreenRepeat(capacity, size, again.screen)
            size = planned.task_size_if_replaced_by(_insert(rng, screens, again, planned, references, history))
        short = _list_missing_controls(screens, needed)
    history.add_task(screens)
    return screens, short + [
        ControlShortfall("distance", off)
        for off in measure_repeat_distance_shortfalls(screens, capacity.controls.min_distance, history)
    ]


def _n_rated(screens: Sequence[Screen]) -> int:
    return sum(item.role == "rating" for screen in screens for item in screen)


def _least_controls_of(
    screens: Sequence[Screen], chosen: Sequence[Screen], capacity: TaskCapacity
) -> Mapping[str, int]:
    """Return the least number of control items of each kind that a task with these screens must contain."""
    return count_least_control_items_for_total(capacity.controls, _n_rated(screens) + sum(map(len, chosen)))


def _screens_to_repeat(
    rng: np.random.Generator,
    screens: Sequence[Screen],
    capacity: TaskCapacity,
    references: References,
    quota: ControlQuota | None,
) -> list[Screen]:
    """Choose screens to show again that fit: random ones, or the smallest if 20 draws did not fit."""
    own = sort_rating_screens_by_size(screens)
    able = [screen for screen in own if references.get(screen[0].document)] if capacity.controls.reference else own
    size = sum_work([item for screen in screens for item in screen])
    for draw in range(DRAWS + 1):
        drawn = [(able or own)[n] for n in rng.permutation(len(able or own))] if draw < DRAWS else own
        widths = [len(screen) for screen in drawn]
        count = quota.screens if quota else count_needed_control_screens(capacity.controls, _n_rated(screens), widths)
        chosen = [drawn[n % len(drawn)] for n in range(count)]
        if capacity.is_within_limits(size + sum_work([item for screen in chosen for item in screen])):
            break
    return chosen


def _assign_kinds(
    rng: np.random.Generator, chosen: Sequence[Screen], needed: Mapping[str, int], references: References
) -> list[_RepeatedScreen]:
    """Assign kinds of control items to columns: references and degraded copies spread over screens, else repeats."""
    kinds = [["repeat"] * len(screen) for screen in chosen]
    free = [rng.permutation(len(screen)).tolist() for screen in chosen]
    order = rng.permutation(len(chosen)).tolist()
    able = [n for n in order if references.get(chosen[n][0].document)]
    for n in able[: needed["reference"]]:
        kinds[n][free[n].pop()] = "reference"
    left = needed["degraded"]
    while left and any(free):
        for n in sorted((n for n in order if free[n]), key=lambda n: -len(free[n]))[:left]:
            kinds[n][free[n].pop()] = "degraded"
            left -= 1
    return [_RepeatedScreen(screen, tuple(each)) for screen, each in zip(chosen, kinds, strict=True)]


def _insert(
    rng: np.random.Generator,
    screens: list[Screen],
    repeat_screen: _RepeatedScreen,
    planned: PlannedScreenRepeat,
    references: References,
    history: RaterHistory,
) -> Screen:
    """Show a screen again, or another one of the same width, and return it."""

    def stands_in(screen: Screen) -> bool:
        able = "reference" not in repeat_screen.kinds or bool(references.get(screen[0].document))
        return able and len(screen) == len(repeat_screen.screen) and planned.can_be_replaced_by(screen)

    capacity = planned.capacity
    original, gap = choose_screen_to_repeat(rng, screens, history, capacity, stands_in)
    pairs = zip(repeat_screen.kinds, original, strict=True)
    screens.insert(gap, tuple(make_control_item(kind, item, capacity.controls, references) for kind, item in pairs))
    return original


def _list_missing_controls(screens: Sequence[Screen], needed: Mapping[str, int]) -> list[ControlShortfall]:
    """List the kinds of which the task has fewer than it must."""
    roles = Counter[str](item.role for screen in screens for item in screen)
    return [ControlShortfall(kind, least - roles[kind]) for kind, least in needed.items() if roles[kind] < least]
