"""Redistributes the remainders of buckets, so that loads over the campaign are as even as the buckets allow.

Within a bucket loads differ by at most one group, and any rater may have the extra one. The load vectors that this
freedom allows are the bases of an integer polymatroid. In it, the vector with the least sum of squares has both the
least maximum and the greatest minimum (Frank & Murota 2022, "Decreasing minimization"). It is found by augmenting
paths, as in integer max-flow, as long as a chain of exchanges leads from a rater to one with at least two groups fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.design_inputs import Bools, Codes


@dataclass(frozen=True, slots=True)
class LoadRebalancingResult:
    """largest, smallest: groups of the raters with most and fewest. bound: no deal within the buckets has a largest
    load below it. moved: how many groups changed hands."""

    largest: int
    smallest: int
    bound: int
    moved: int

    @property
    def is_largest_load_minimal(self) -> bool:
        """Whether the bound was reached."""
        return self.largest == self.bound


def even_out_loads(rng: np.random.Generator, layout: AllocationInput, raters: Codes) -> LoadRebalancingResult:
    """Exchange extra groups, in place, until the loads differ as little as the buckets allow.

    Parameters
    ----------
    raters : shape (G, K), −1 pads; within each cell loads differ by at most one group.
    """
    state = _RaterLoads(layout, raters)
    moved = 0
    while (path := state.path()) is not None:
        for giver, taker in pairwise(path):
            state.exchange(rng, giver, taker)
            moved += 1
    used = np.flatnonzero(state.may.any(axis=0))
    return LoadRebalancingResult(int(state.load.max()), int(state.load[used].min()), state.bound(), moved)


class _RaterLoads:
    """Counts of every rater in every cell, and the cells in which a group can pass from one rater to another."""

    def __init__(self, layout: AllocationInput, raters: Codes) -> None:
        self.layout, self.raters = layout, raters
        self.members = layout.item_groups_by_cell()
        self.may: Bools = np.zeros((len(layout.bucket), layout.n_raters), dtype=np.bool_)
        self.have = np.zeros((len(layout.bucket), layout.n_raters), dtype=np.int64)
        for cell, bucket in enumerate(layout.bucket):
            self.may[cell, layout.pools[bucket]] = len(self.members[cell]) > 0
        group, place = np.nonzero(raters >= 0)
        np.add.at(self.have, (layout.cell[group], raters[group, place]), 1)
        self.load = self.have.sum(axis=0)
        self.ways = np.zeros((layout.n_raters, layout.n_raters), dtype=np.int64)
        for cell in range(len(layout.bucket)):
            self._count_ways(cell, 1)

    def _extra(self, cell: int) -> tuple[Bools, Bools]:
        """Return who has an extra group in a cell, and who could have one."""
        level = self.have[cell][self.may[cell]].min(initial=np.iinfo(np.int64).max)
        return self.may[cell] & (self.have[cell] > level), self.may[cell] & (self.have[cell] == level)

    def _count_ways(self, cell: int, sign: int) -> None:
        extra, plain = self._extra(cell)
        self.ways += sign * np.outer(extra, plain)

    def _reach(self, sources: Codes) -> Codes:
        """Return from where each rater was reached: −1 if not at all, itself for a source, shape (R,)."""
        came = np.full(len(self.load), -1, dtype=np.int64)
        came[sources] = sources
        front = list(sources)
        while front:
            here = front.pop(0)
            fresh = np.flatnonzero((self.ways[here] > 0) & (came < 0))
            came[fresh] = here
            front.extend(fresh)
        return came

    def path(self) -> list[int] | None:
        """Return a chain of raters from one to another with at least two groups fewer; None if there is none."""
        for source in np.argsort(-self.load, kind="stable"):
            came = self._reach(np.array([source]))
            there = np.flatnonzero(came >= 0)
            goal = int(there[self.load[there].argmin()])
            if self.load[goal] <= self.load[source] - 2:
                path = [goal]
                while path[-1] != source:
                    path.append(int(came[path[-1]]))
                return path[::-1]
        return None

    def bound(self) -> int:
        """Return the groups of the raters reachable from those with most, divided equally and rounded up."""
        came = self._reach(np.flatnonzero(self.load == self.load.max()))
        closed = self.load[came >= 0]
        return -(-int(closed.sum()) // len(closed))

    def exchange(self, rng: np.random.Generator, giver: int, taker: int) -> None:
        """Pass one group of the giver to the taker."""
        for cell in range(len(self.layout.bucket)):
            extra, plain = self._extra(cell)
            if extra[giver] and plain[taker]:
                break
        members = self.members[cell]
        shown = self.raters[members]
        free = members[(shown == giver).any(axis=1) & ~(shown == taker).any(axis=1)]
        fewest = free[self.layout.ratings[free] == self.layout.ratings[free].min()]  # keeps overlap where it is spread
        group = int(rng.permutation(fewest)[0])
        self._count_ways(cell, -1)
        self.raters[group, self.raters[group] == giver] = taker
        self.have[cell, giver] -= 1
        self.have[cell, taker] += 1
        self._count_ways(cell, 1)
        self.load[giver] -= 1
        self.load[taker] += 1
