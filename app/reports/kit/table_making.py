"""Tables in the layout that most reports use."""

from __future__ import annotations

from collections.abc import Sequence

from app.reports.kit.table import Alignment, Table


def make_table(heads: Sequence[str], rows: Sequence[tuple[str, ...]], n_left_columns: int = 1) -> Table:
    """Make a table with names in the first columns, aligned left, and figures in the others, aligned right."""
    sides: list[Alignment] = ["left" if i < n_left_columns else "right" for i in range(len(heads))]
    return Table(tuple(heads), tuple(sides), tuple(rows))


def make_table_from_columns(columns: Sequence[tuple[str, Alignment]], rows: Sequence[tuple[str, ...]]) -> Table:
    """Make a table of columns in any order, each with its heading and alignment."""
    headings, sides = zip(*columns, strict=True)
    return Table(headings, sides, tuple(rows))
