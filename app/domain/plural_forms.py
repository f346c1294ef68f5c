"""Numbers with the words that follow them."""

from __future__ import annotations


def pluralize(n: int, singular: str, plural: str) -> str:
    """Return the number with the words that follow it.

    >>> pluralize(1, "rater has left", "raters have left"), pluralize(1200, "task", "tasks")
    ('1 rater has left', '1,200 tasks')
    """
    return f"{n:,} {singular if n == 1 else plural}"
