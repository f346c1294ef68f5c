"""In which order a rater meets documents and systems: shuffled, and balanced over positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.design.values import Role, WorkSize


@dataclass(frozen=True, slots=True, eq=False)
class UnplacedItem:
    """One item before it has its place. group: index of its planned group. block: pieces that stay together."""

    document: str
    first: int
    last: int
    words: int
    role: Role
    system: str | None = None
    systems: tuple[str, ...] = ()
    group: int | None = None
    propensity: float | None = None
    of: UnplacedItem | None = None
    variant: str | None = None
    reference: str | None = None

    @property
    def size(self) -> WorkSize:
        """What judging it asks."""
        return WorkSize(1, self.last - self.first + 1, self.words)


Screen = tuple[UnplacedItem, ...]
ScreenBlock = tuple[Screen, ...]


class SystemOrders:
    """Orders of the systems, each the row of a square in which every system stands once in every position.

    Rows of one square are used up before the next is drawn, so over any number of rows the counts of a system in two
    positions differ by one at most for each rater that takes consecutive rows. Squares are Williams designs turned
    by random names and in random order of rows: for an even number of systems each also follows each other equally.
    """

    def __init__(self, rng: np.random.Generator, systems: Sequence[str]) -> None:
        self._rng = rng
        self._systems = tuple(systems)
        self._rows: list[dict[str, int]] = []

    def next_order(self) -> dict[str, int]:
        """The position of every system in the next order."""
        if not self._rows:
            n = len(self._systems)
            zigzag = np.array([(i + 1) // 2 if i % 2 else (n - i // 2) % n for i in range(n)])
            names = self._rng.permutation(n)
            for turn in self._rng.permutation(n):
                row = names[(zigzag + turn) % n]
                self._rows.append({self._systems[code]: place for place, code in enumerate(row)})
        return self._rows.pop()


def arrange_system_rounds(
    rng: np.random.Generator, pieces: Sequence[UnplacedItem], orders: SystemOrders
) -> list[UnplacedItem]:
    """Items in rounds of one of each system, so that every task holds the same share of every system (± 1)."""
    by_system: dict[str, list[UnplacedItem]] = {}
    for place in rng.permutation(len(pieces)):
        by_system.setdefault(pieces[place].systems[0], []).append(pieces[place])
    result: list[UnplacedItem] = []
    while any(by_system.values()):
        place_of = orders.next_order()
        there = sorted((name for name, left in by_system.items() if left), key=place_of.__getitem__)
        result += [by_system[system].pop() for system in there]
    return result


def arrange_screens(pieces: Sequence[UnplacedItem], columns: int) -> ScreenBlock:
    """Pieces in screens of so many columns or, where they do not come out even, one fewer."""
    count = -(-len(pieces) // columns)
    return tuple(tuple(pieces[len(pieces) * n // count : len(pieces) * (n + 1) // count]) for n in range(count))
