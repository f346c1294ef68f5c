"""Numbers with the words that go with them."""

from __future__ import annotations


def count_words(n: int, one: str, many: str) -> str:
    """The number with the words for one or for many.

    >>> count_words(1, "rater has left", "raters have left"), count_words(1200, "task", "tasks")
    ('1 rater has left', '1,200 tasks')
    """
    return f"{n:,} {one if n == 1 else many}"
