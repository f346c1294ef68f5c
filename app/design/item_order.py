"""The order in which a rater meets documents and systems: shuffled, and balanced over positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.design.design_inputs import Role, WorkSize


@dataclass(frozen=True, slots=True, eq=False)
class ItemToPlace:
    """An item before it is placed. group: index of its planned group. block: items that stay together."""

    document: str
    first: int
    last: int
    words: int
    role: Role
    system: str | None = None
    systems: tuple[str, ...] = ()
    group: int | None = None
    propensity: float | None = None
    of: ItemToPlace | None = None
    variant: str | None = None
    reference: str | None = None

    @property
    def size(self) -> WorkSize:
        """How much there is to judge."""
        return WorkSize(1, self.last - self.first + 1, self.words)


Screen = tuple[ItemToPlace, ...]
ScreenBlock = tuple[Screen, ...]


class SystemOrders:
    """Orders of the systems, each a row of a square in which every system occurs once in every position.

    The rows of one square are used up before the next is drawn. So for a rater who takes consecutive rows, the counts
    of a system in two positions differ by at most one. Squares are Williams designs with random names and random order
    of rows: with an even number of systems, each system also follows each other one equally often.
    """

    def __init__(self, rng: np.random.Generator, systems: Sequence[str]) -> None:
        self._rng = rng
        self._systems = tuple(systems)
        self._rows: list[dict[str, int]] = []

    def next_order(self) -> dict[str, int]:
        """Return the position of every system in the next order."""
        if not self._rows:
            n = len(self._systems)
            zigzag = np.array([(i + 1) // 2 if i % 2 else (n - i // 2) % n for i in range(n)])
            names = self._rng.permutation(n)
            for turn in self._rng.permutation(n):
                row = names[(zigzag + turn) % n]
                self._rows.append({self._systems[code]: place for place, code in enumerate(row)})
        return self._rows.pop()


def arrange_items_in_system_rounds(
    rng: np.random.Generator, items: Sequence[ItemToPlace], orders: SystemOrders
) -> list[ItemToPlace]:
    """Arrange items in rounds with one of each system, so that every task has the same share of every system (± 1)."""
    by_system: dict[str, list[ItemToPlace]] = {}
    for place in rng.permutation(len(items)):
        by_system.setdefault(items[place].systems[0], []).append(items[place])
    result: list[ItemToPlace] = []
    while any(by_system.values()):
        place_of = orders.next_order()
        there = sorted((name for name, left in by_system.items() if left), key=place_of.__getitem__)
        result += [by_system[system].pop() for system in there]
    return result


def arrange_items_on_screens(items: Sequence[ItemToPlace], columns: int) -> ScreenBlock:
    """Arrange items in screens with the given number of columns, or one fewer if they do not divide evenly."""
    count = -(-len(items) // columns)
    return tuple(tuple(items[len(items) * n // count : len(items) * (n + 1) // count]) for n in range(count))
