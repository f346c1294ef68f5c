"""Writes the figures of a run between two marks in a page of the documents."""

from __future__ import annotations

from pathlib import Path


def marks(part: str = "") -> tuple[str, str]:
    """Return the marks around a table. part: which one, if several benchmarks write to a page."""
    name = f"measured: {part}: " if part else "measured: "
    return f"<!-- {name}begin -->\n", f"<!-- {name}end -->\n"


def write(page: Path, table: str, part: str = "") -> None:
    """Write a table between the two marks of a page. Raises ValueError if they are missing."""
    text = page.read_text(encoding="utf-8")
    first, last = marks(part)
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{page} lacks the marks {first, last}")
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")
