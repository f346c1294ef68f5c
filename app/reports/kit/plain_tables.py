"""Tables as most reports lay them out."""

from __future__ import annotations

from collections.abc import Sequence

from app.reports.kit.table import Alignment, Table


def make_table(heads: Sequence[str], rows: Sequence[tuple[str, ...]], left: int = 1) -> Table:
    """Names in the first columns, at the left; figures in the others, at the right."""
    sides: list[Alignment] = ["left" if i < left else "right" for i in range(len(heads))]
    return Table(tuple(heads), tuple(sides), tuple(rows))


def make_aligned_table(columns: Sequence[tuple[str, Alignment]], rows: Sequence[tuple[str, ...]]) -> Table:
    """Columns of any order, each with its heading and side."""
    headings, sides = zip(*columns, strict=True)
    return Table(headings, sides, tuple(rows))
