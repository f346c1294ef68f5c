"""Tables for people: headings, alignments and rows of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cell = str | float | None
"""A cell of a file, at full precision."""
Alignment = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people, whose cells are text. breaks: indices of the rows that have a rule above them.

    Raises ValueError if a row has more or fewer cells than there are headings, as values would be in the wrong column.
    """

    headings: tuple[str, ...]
    alignments: tuple[Alignment, ...]
    rows: tuple[tuple[str, ...], ...]
    breaks: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        columns = len(self.headings)
        if len(self.alignments) != columns or any(len(row) != columns for row in self.rows):
            raise ValueError(f"not every row of the table has one cell for each of {self.headings}")
