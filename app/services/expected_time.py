"""How long a ranking is expected to take, from its size alone: what takes long is a job, the rest is made at once."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.recipe import Recipe
from app.stats.pair_tests import DRAWN_TESTS, draws
from app.stats.rank_sets import number_of_draws
from app.storage import test_sets
from app.storage.db import Session

AT_ONCE = 5.0
"""Seconds, as long as a client waits that says nothing of it."""

# Seconds of one processor that others want, too. Measured on 180 documents, rank sets in brackets: 15 systems 1.8 (.8),
# 30 systems 5.6 (1.3), 60 systems 40.6 (16.7).
_A_SUM, _A_COMPARISON, _A_REJECTION = 2.5e-9, 1.5e-8, 4e-10


@dataclass(frozen=True, slots=True)
class Size:
    """Of a campaign: systems, test documents and their segments."""

    systems: int
    documents: int
    segments: int

    @classmethod
    def of(cls, session: Session, campaign_id: int) -> Size:
        """As it is now."""
        return cls(*test_sets.size(session, campaign_id))


def seconds_to_rank(size: Size, recipe: Recipe) -> float:
    """Of drawn signs, which grow with the square of the number of pairs, and of rank sets; the rest is quick.

    >>> from app.domain.recipe import NAMED
    >>> [round(seconds_to_rank(Size(n, 180, 900), NAMED["recommended"]), 1) for n in (10, 30, 60)]
    [0.1, 4.6, 56.3]
    """
    pairs = size.systems * (size.systems - 1) // 2
    seconds = 0.0
    if recipe.test in DRAWN_TESTS and pairs:
        units = size.segments if recipe.unit == "segment" else size.documents
        seconds += draws(recipe, pairs) * (_A_SUM * size.systems * units + _A_COMPARISON * pairs)
    if recipe.rank_sets and pairs:
        seconds += number_of_draws(size.systems) * size.systems**2 * size.documents * _A_REJECTION
    return seconds
