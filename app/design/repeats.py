"""Showing again what a rater has judged: which screen, and at which later position of the work."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.design.design_inputs import WorkSize
from app.design.item_order import ItemToPlace, Screen
from app.design.task_packing import TaskCapacity, sum_work


@dataclass(slots=True, eq=False)
class RaterHistory:
    """What a rater has judged in earlier tasks.

    at: number of segments judged up to the end of each item. screens: those of ratings, with the number of segments
    judged up to their end. repeated: screens that were shown again, by identity.
    """

    items: list[ItemToPlace] = field(default_factory=list)
    screens: list[tuple[Screen, int]] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    segments: int = 0
    repeated: set[int] = field(default_factory=set)

    def add_task(self, screens: Sequence[Screen]) -> None:
        """Record a finished task."""
        for screen in screens:
            for item in screen:
                self.segments += item.size.segments
                if item.role == "rating":
                    self.items.append(item)
                    self.at.append(self.segments)
            if screen[0].role == "rating":
                self.screens.append((screen, self.segments))

    def draw_earlier_screens(self, rng: np.random.Generator, latest: int) -> Iterator[Screen]:
        """Yield screens of earlier tasks in random order; `latest` bounds their end, relative to the history's end."""
        count = bisect_right(self.screens, self.segments + latest, key=lambda screen: screen[1])
        return (self.screens[n][0] for n in rng.permutation(count))


@dataclass(frozen=True, slots=True)
class PlannedScreenRepeat:
    """A screen that is to be shown again. size: of the whole task, including this screen and everything else chosen."""

    capacity: TaskCapacity
    size: WorkSize
    screen: Screen

    def can_be_replaced_by(self, other: Screen) -> bool:
        """Whether another screen can be repeated instead: it is no longer, or within the limits of the task."""
        mine, theirs = sum_work(self.screen), sum_work(other)
        longer = theirs.segments > mine.segments or theirs.words > mine.words
        return not longer or self.capacity.is_within_limits(self.task_size_if_replaced_by(other))

    def task_size_if_replaced_by(self, other: Screen) -> WorkSize:
        """Return the size of the task with another screen in place of this one."""
        mine = sum_work(self.screen)
        rest = WorkSize(self.size.items - mine.items, self.size.segments - mine.segments, self.size.words - mine.words)
        return rest + sum_work(other)


def choose_screen_to_repeat(
    rng: np.random.Generator,
    screens: Sequence[Screen],
    history: RaterHistory,
    capacity: TaskCapacity,
    fits: Callable[[Screen], bool],
) -> tuple[Screen, int]:
    """Choose which screen of ratings is repeated in a task, and before which screen (or after the last).

    The position is drawn first, uniformly from those at which some screen was judged min_distance segments before. Then
    the screen is drawn: from this task if possible, else from an earlier one. If no position is that far away, the
    position is drawn from all after a screen of ratings, and the screen is the farthest. Screens are repeated a second
    time only if nothing else is left.

    Parameters
    ----------
    history : the rater's earlier tasks. fits : whether a screen may be chosen; true for at least one of the task.
    """
    ends = np.cumsum([0] + [sum_work(screen).segments for screen in screens]).tolist()
    here = [(screen, ends[n + 1]) for n, screen in enumerate(screens) if screen[0].role == "rating"]
    open_gaps = find_gaps_for_control_items(screens, range(len(screens) + 1), capacity)
    gaps = [open_gaps[n] for n in rng.permutation(len(open_gaps))]

    def fresh(screen: Screen) -> bool:
        return id(screen) not in history.repeated and fits(screen)

    for gap in gaps:
        latest = ends[gap] - capacity.controls.min_distance
        able = [screen for screen, end in here if end <= latest and fresh(screen)]
        screen_again = (
            able[int(rng.integers(len(able)))]
            if able
            else next(filter(fresh, history.draw_earlier_screens(rng, latest)), None)
        )
        if screen_again is not None:
            history.repeated.add(id(screen_again))
            return screen_again, gap
    everything = [*((screen, end - history.segments) for screen, end in history.screens), *here]
    for allowed in (fresh, fits):
        for gap in gaps:
            screen_again = next((screen for screen, end in everything if end <= ends[gap] and allowed(screen)), None)
            if screen_again is not None:
                history.repeated.add(id(screen_again))
                return screen_again, gap
    raise AssertionError("a screen of the task fits at its end")


def find_gaps_for_control_items(screens: Sequence[Screen], gaps: Iterable[int], capacity: TaskCapacity) -> list[int]:
    """Return the gaps between screens at which a control item may be placed.

    Items that everyone judges stay first or last if they were put there, unless all items are shuffled.
    """
    if capacity.task.shuffle == "items":
        return list(gaps)
    work = [n for n, screen in enumerate(screens) if screen[0].role != "calibration"]
    return [gap for gap in gaps if work[0] <= gap <= work[-1] + 1]


def measure_repeat_distance_shortfalls(screens: Sequence[Screen], distance: int, history: RaterHistory) -> list[int]:
    """Return by how many segments each repeat of the task added last is too close to its original."""
    end_of = {id(item): at for item, at in zip(history.items, history.at, strict=True)}
    at = history.segments - sum(item.size.segments for screen in screens for item in screen)
    result = []
    for item in (item for screen in screens for item in screen):
        if item.role == "repeat" and at - end_of[id(item.of)] < distance:
            result.append(distance - at + end_of[id(item.of)])
        at += item.size.segments
    return result
