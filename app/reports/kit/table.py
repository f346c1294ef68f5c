"""Tables for people: headings, sides and rows of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cell = str | float | None
"""Of a file, at full precision."""
Alignment = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people: cells are text already. breaks: indices of the rows that a rule stands above.

    Raises ValueError where a row has more or fewer cells than there are headings: figures would stand under others'.
    """

    headings: tuple[str, ...]
    alignments: tuple[Alignment, ...]
    rows: tuple[tuple[str, ...], ...]
    breaks: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        columns = len(self.headings)
        if len(self.alignments) != columns or any(len(row) != columns for row in self.rows):
            raise ValueError(f"not every row of the table has one cell for each of {self.headings}")
