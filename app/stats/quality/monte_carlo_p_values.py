"""Chances by simulation, precise enough for a single rater to stand out among many."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

FEW = 10
"""With this many draws as extreme as the given case, more draws are not needed."""
RARE = 125
"""Draws for each test: the smallest chance of one among m tests is then 1 / 125 over all of them, which is rare."""
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ExceedanceCount:
    """Number of simulated cases, and of those as extreme as the given one."""

    hits: int
    drawn: int

    @property
    def p_value(self) -> float:
        """p, counting the given case as one of the draws.

        >>> ExceedanceCount(hits=0, drawn=199).p_value
        0.005
        """
        return (self.hits + 1) / (self.drawn + 1)


def refine_p_values(
    tallies: Mapping[Key, ExceedanceCount], count_further_hits: Callable[[Key, int], int], size: int
) -> dict[Key, float]:
    """Return the chance of each test, after further draws for tests with hardly any draw as extreme.

    With few draws the smallest chance, times the number of tests, is no longer small: one careless rater among sixty
    could not be found, however clear the case.

    Parameters
    ----------
    count_further_hits : given a test and n from 1, number of draws as extreme in the n-th further part of `size` draws.

    Source: Besag & Clifford 1991 (sequential Monte Carlo p-values); Benjamini & Hochberg 1995.
    """
    few = [key for key, one in tallies.items() if one.hits < FEW]
    wanted = RARE * len(tallies) / max(len(few), 1)
    chances = {key: one.p_value for key, one in tallies.items()}
    for key in few:
        tally, part = tallies[key], 0
        while tally.hits < FEW and tally.drawn + 1 < wanted:
            part += 1
            tally = ExceedanceCount(tally.hits + count_further_hits(key, part), tally.drawn + size)
        chances[key] = tally.p_value
    return chances
