"""Chooses and places control items, so that every task contains its share of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.design.design_choices import ControlRules
from app.design.grouping import count_needed_control_items
from app.design.item_order import ItemToPlace, Screen
from app.design.repeats import (
    PlannedScreenRepeat,
    RaterHistory,
    choose_screen_to_repeat,
    find_gaps_for_control_items,
    measure_repeat_distance_shortfalls,
)
from app.design.task_packing import PartialTask, TaskCapacity, sum_work

DRAWS = 20


@dataclass(frozen=True, slots=True)
class ControlShortfall:
    """A missing control item, or one closer to its original than requested. missing: by how much."""

    kind: str
    missing: int


def add_control_items(
    rng: np.random.Generator,
    draft: PartialTask,
    capacity: TaskCapacity,
    references: Mapping[str, Sequence[str]],
    history: RaterHistory,
    *,
    top_up: bool = False,
) -> tuple[list[Screen], list[ControlShortfall]]:
    """Return the screens of a task, with one item each, including its control items.

    Degraded copies and references are placed among the items of their document if these stand together (in its block),
    else anywhere. Repeats are placed anywhere from min_distance segments after their original. All positions open to an
    item are equally likely. With top_up, control items are added as long as they fit (SR+DC).

    Parameters
    ----------
    references : names of the references of each document. history : the rater's earlier tasks.

    Source: Knowles 2021, §2.
    """
    screens, blocks = list(draft.screens), list(draft.blocks)
    ratings = [item for item in draft.all_items() if item.role == "rating"]
    short: list[ControlShortfall] = []
    if ratings and capacity.controls.has_any_control:
        needed = draft.quota.kinds if draft.quota else count_needed_control_items(capacity.controls, len(ratings))
        chosen = _choose(rng, ratings, capacity, draft.all_items(), needed, references, top_up=top_up)
        for kind, count in needed.items():
            have = sum(item.role == kind for item in chosen)
            short.extend([ControlShortfall(kind, count - have)] if have < count else [])
        for item in chosen:
            if item.role != "repeat":
                _insert(rng, screens, blocks, item, capacity)
        _insert_repeats(rng, screens, chosen, capacity, history)
    history.add_task(screens)
    short += [
        ControlShortfall("distance", off)
        for off in measure_repeat_distance_shortfalls(screens, capacity.controls.min_distance, history)
    ]
    return screens, short


def _choose(
    rng: np.random.Generator,
    ratings: Sequence[ItemToPlace],
    capacity: TaskCapacity,
    controls: Sequence[ItemToPlace],
    needed: Mapping[str, int],
    references: Mapping[str, Sequence[str]],
    *,
    top_up: bool,
) -> list[ItemToPlace]:
    """Choose control items that fit: random ones, or the shortest if 20 draws did not fit."""
    own = sorted(ratings, key=lambda item: (item.size.segments, item.words))
    for draw in range(DRAWS + 1):
        chosen: list[ItemToPlace] = []
        for kind, count in needed.items():
            drawn = [own[n] for n in rng.permutation(len(own))]
            able = drawn if draw < DRAWS else capacity.choose_shortest_control_originals(kind, len(own), own)
            if kind == "reference":
                able = [item for item in able if references.get(item.document)]
            picked = [able[n % len(able)] for n in range(count)] if able else []
            chosen += [make_control_item(kind, item, capacity.controls, references) for item in picked]
        if capacity.is_within_limits(sum_work([*controls, *chosen])):
            break
    while top_up:
        kind = tuple(needed)[len(chosen) % len(needed)]
        fitting = [
            item
            for item in ratings
            if capacity.is_within_limits(sum_work([*controls, *chosen, item]))
            and (kind != "reference" or references.get(item.document))
        ]
        if not fitting:
            break
        chosen.append(make_control_item(kind, fitting[int(rng.integers(len(fitting)))], capacity.controls, references))
    return chosen


def make_control_item(
    kind: str, item: ItemToPlace, controls: ControlRules, references: Mapping[str, Sequence[str]]
) -> ItemToPlace:
    """Make the control item of a kind from a rating."""
    plain = replace(item, group=None, propensity=None, systems=(), of=item)
    if kind == "degraded":
        return replace(plain, role="degraded", variant=controls.method)
    if kind == "reference":
        return replace(plain, role="reference", system=None, of=None, reference=references[item.document][0])
    return replace(plain, role="repeat", systems=item.systems)


def _insert(
    rng: np.random.Generator, screens: list[Screen], blocks: list[int], item: ItemToPlace, capacity: TaskCapacity
) -> None:
    """Insert an item at a random position of the block with its document, or anywhere if no block has several."""
    held = [n for n, screen in zip(blocks, screens, strict=True) if screen[0].document == item.document]
    home = held[int(rng.integers(len(held)))] if held else blocks[int(rng.integers(len(blocks)))]
    places = [place for place, block in enumerate(blocks) if block == home]
    if len(places) > 1:
        place = places[0] + int(rng.integers(len(places) + 1))
    else:  # next to its original it would be recognized
        ends = [n for n in range(len(screens) + 1) if not 0 < n < len(blocks) or blocks[n] != blocks[n - 1]]
        open_ends = find_gaps_for_control_items(screens, ends, capacity)
        place, home = open_ends[int(rng.integers(len(open_ends)))], -1 - len(screens)
    screens.insert(place, (item,))
    blocks.insert(place, home)


def _insert_repeats(
    rng: np.random.Generator,
    screens: list[Screen],
    chosen: Sequence[ItemToPlace],
    capacity: TaskCapacity,
    history: RaterHistory,
) -> None:
    """Show ratings again, each in place of a chosen one; a longer one only if the task has room for it."""
    size = sum_work([*(item for screen in screens for item in screen), *(p for p in chosen if p.role == "repeat")])
    for item in chosen:
        if item.role != "repeat":
            continue
        planned = PlannedScreenRepeat(capacity, size, (item,))
        repeat, gap = choose_screen_to_repeat(rng, screens, history, capacity, planned.can_be_replaced_by)
        original = repeat[0]
        screens.insert(gap, (replace(original, role="repeat", group=None, propensity=None, of=original),))
        size = planned.task_size_if_replaced_by((original,))
