"""Rows as CSV, at full precision and without anything that a spreadsheet would execute."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from app.domain.spreadsheet_cells import escape_formula
from app.reports.kit.table import Cell


def render_csv(headings: Sequence[str] | None, rows: Iterable[Sequence[Cell]]) -> bytes:
    """Write rows as CSV, after their headings if there are any; a spreadsheet executes no cell.

    Raises ValueError if a row has more or fewer cells than there are headings.
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
    """Mark a name that a spreadsheet would execute as a formula as text; numbers remain numbers."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return escape_formula(cell) if isinstance(cell, str) else cell
