"""References that stood in an output's place, as formats have them whose rows must name a system."""

from __future__ import annotations

from app.formats.base import JudgmentRow, ShownOutputRow

NO_SYSTEM = "that a reference in an output's place is of no system: its name instead"


def list_systems_or_reference(row: JudgmentRow | ShownOutputRow) -> tuple[str, ...]:
    """The systems that are credited; of a reference, with which nobody is, its name."""
    told = row.reference if isinstance(row, ShownOutputRow) else (row.item_meta or {}).get("reference")
    return row.systems or (str(told or row.role),)
