"""Gives every item its place: task number, position, screen and column, and which side is the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.design.design_inputs import WorkSize
from app.design.item_order import ItemToPlace, Screen
from app.design.plan import OriginalItemPosition, PlanItem, PlannedItemGroup, Task


@dataclass(frozen=True, slots=True, eq=False)
class TaskDraft:
    """A task without its number: screens in order, arm, and the groups to which its items belong."""

    screens: tuple[Screen, ...]
    arm: int | None
    groups: frozenset[int]


def make_tasks_from_drafts(
    rng: np.random.Generator,
    rater: str,
    drafts: Sequence[TaskDraft],
    groups: Sequence[PlannedItemGroup],
    *,
    first_number: int,
) -> list[Task]:
    """Make a rater's tasks, numbered from first_number. groups: all planned groups, by number − 1."""
    places: dict[int, OriginalItemPosition] = {}
    for n, draft in enumerate(drafts):
        for position, piece in enumerate((piece for screen in draft.screens for piece in screen), start=1):
            places[id(piece)] = OriginalItemPosition(first_number + n, position)
    chains = _chains(drafts)
    return [
        _task(rng, rater, draft, places, groups, first_number + n, n + 1, chain and first_number + chain - 1)
        for n, (draft, chain) in enumerate(zip(drafts, chains, strict=True))
    ]


def _task(
    rng: np.random.Generator,
    rater: str,
    draft: TaskDraft,
    places: dict[int, OriginalItemPosition],
    groups: Sequence[PlannedItemGroup],
    number: int,
    queue: int,
    chain: int | None,
) -> Task:
    n_items = sum(len(screen) for screen in draft.screens)
    sides = rng.permutation(np.arange(n_items) % 2)
    items: list[PlanItem] = []
    size = WorkSize()
    for n, screen in enumerate(draft.screens, start=1):
        for column, piece in enumerate(screen, start=1):
            items.append(_item(piece, places, len(items) + 1, n, column, int(sides[len(items)])))
            size += piece.size
    buckets = {groups[group - 1].bucket for group in draft.groups}
    bucket = buckets.pop() if len(buckets) == 1 else None
    return Task(number, rater, queue, tuple(items), size, bucket, draft.arm, chain)


def _item(
    piece: ItemToPlace, places: dict[int, OriginalItemPosition], position: int, screen: int, column: int, side: int
) -> PlanItem:
    return PlanItem(
        position,
        screen,
        column,
        piece.document,
        piece.first,
        piece.last,
        piece.role,
        piece.system,
        piece.systems,
        piece.group,
        None if piece.of is None else places[id(piece.of)],
        piece.variant,
        piece.reference,
        side,
        piece.propensity,
    )


def _chains(drafts: Sequence[TaskDraft]) -> list[int | None]:
    """Return for each task the place (from 1) of the first task to which common groups chain it, else None."""
    first = list(range(len(drafts)))
    for n in range(1, len(drafts)):
        if drafts[n].groups & drafts[n - 1].groups:
            first[n] = first[n - 1]
    return [place + 1 if first.count(place) > 1 else None for place in first]
