"""Cells of a CSV file that a spreadsheet opens without executing them."""

from __future__ import annotations

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Beginnings of texts that a spreadsheet takes for a formula, or that hide one behind white space (OWASP)."""


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take a cell with this text for a formula."""
    return text.startswith(FORMULA)


def escape_formula(text: str) -> str:
    """Return the text as a spreadsheet should show it: with an apostrophe in front if it would be executed."""
    return f"'{text}" if is_formula(text) else text
