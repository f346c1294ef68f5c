"""Rows as CSV: full precision, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from app.domain.cells import escape_formula
from app.reports.kit.table import Cell


def render_csv(headings: Sequence[str] | None, rows: Iterable[Sequence[Cell]]) -> bytes:
    """Rows as CSV, after their headings where there are any; no cell runs in a spreadsheet.

    Raises ValueError where a row has more or fewer cells than there are headings.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    if headings is not None:
        writer.writerow(headings)
    for row in rows:
        if headings is not None and len(row) != len(headings):
            raise ValueError(f"not every row of the file has one cell for each of {headings}")
        writer.writerow([_escape_formula(cell) for cell in row])
    return out.getvalue().encode()


def _escape_formula(cell: Cell) -> Cell:
    """A name that a spreadsheet would run as a formula is marked as text; numbers stay numbers."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return escape_formula(cell) if isinstance(cell, str) else cell
