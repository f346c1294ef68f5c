"""Cells of a CSV file that a spreadsheet opens and does not run."""

from __future__ import annotations

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a text begins that a spreadsheet takes for a formula, or that hides one behind white space (OWASP)."""


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take a cell with this text for a formula."""
    return text.startswith(FORMULA)


def escape_formula(text: str) -> str:
    """The text as a spreadsheet shows it: with an apostrophe in front where it would run."""
    return f"'{text}" if is_formula(text) else text
