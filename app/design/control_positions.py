"""Positions of control items within tasks: raters who could guess them might read carefully only there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.design.design_inputs import Codes
from app.design.plan import Plan, PlanItem

TENTHS = 10
SURELY = 27.88  # of a chi-squared with 9 degrees of freedom, p = .001
MUCH = 0.3
KINDS = ("degraded", "repeat", "reference")


@dataclass(frozen=True, slots=True)
class ControlPositions:
    """The positions of one kind of control item: observed and expected numbers in each tenth of their tasks.

    By chance, all positions in a task are equally likely, except those of calibration items.
    """

    kind: str
    counts: tuple[int, ...]
    by_chance: tuple[float, ...]

    @property
    def misplaced_share(self) -> float:
        """The share of these items that would have to be in another tenth, from 0 to 1."""
        off = sum(abs(n - chance) for n, chance in zip(self.counts, self.by_chance, strict=True))
        return off / 2 / max(sum(self.counts), 1)

    @property
    def is_guessable(self) -> bool:
        """Whether many of them are at positions that can be guessed, and more than chance explains."""
        pairs = [(n, chance) for n, chance in zip(self.counts, self.by_chance, strict=True) if chance]
        return self.misplaced_share > MUCH and sum((n - chance) ** 2 / chance for n, chance in pairs) > SURELY


def count_controls_by_position(plan: Plan) -> tuple[ControlPositions, ...]:
    """Count the positions of every kind of control item in a plan."""
    seen = np.zeros((len(KINDS), TENTHS), dtype=np.int64)
    chance = np.zeros((len(KINDS), TENTHS))
    for task in plan.tasks:
        tenth = (np.arange(len(task.items)) * TENTHS + TENTHS // 2) // len(task.items)
        able = _items_by_tenth(tenth, task.items, {*KINDS, "rating"})
        for n, kind in enumerate(KINDS):
            here = _items_by_tenth(tenth, task.items, {kind})
            seen[n] += here
            chance[n] += able * (here.sum() / max(able.sum(), 1))
    return tuple(
        ControlPositions(kind, tuple(seen[n].tolist()), tuple(chance[n].tolist()))
        for n, kind in enumerate(KINDS)
        if seen[n].any()
    )


def _items_by_tenth(tenth: Codes, items: Sequence[PlanItem], roles: set[str]) -> Codes:
    """Count the items of some roles in each tenth."""
    held = [item.role in roles for item in items]
    return np.bincount(tenth[held], minlength=TENTHS)
