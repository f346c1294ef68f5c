"""References shown in place of an output, for formats whose rows must name a system."""

from __future__ import annotations

from app.formats.base import JudgmentRow, ShownOutputRow

NO_SYSTEM = "that a reference in an output's place is of no system: its name instead"


def list_judgment_systems_or_reference(row: JudgmentRow | ShownOutputRow) -> tuple[str, ...]:
    """Return the systems of a judgment; for a reference, which has no system, its name."""
    told = row.reference if isinstance(row, ShownOutputRow) else (row.item_meta or {}).get("reference")
    return row.systems or (str(told or row.role),)
