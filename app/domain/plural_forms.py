"""Numbers with the words that go with them."""

from __future__ import annotations


def count_words(n: int, singular: str, plural: str) -> str:
    """The number with the words that follow it.

    >>> count_words(1, "rater has left", "raters have left"), count_words(1200, "task", "tasks")
    ('1 rater has left', '1,200 tasks')
    """
    return f"{n:,} {singular if n == 1 else plural}"
