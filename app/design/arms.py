"""Conditions to be compared: crossed with groups or with raters, and balanced in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from app.design.design_inputs import Codes


def assign_arms_to_raters(rng: np.random.Generator, pools: Sequence[Codes], n_raters: int, n_arms: int) -> Codes:
    """Return an arm for each rater, shape (R,), as evenly as possible overall, and first within each bucket."""
    result = np.full(n_raters, -1, dtype=np.int64)
    used = np.zeros(n_arms, dtype=np.int64)
    for pool in pools:
        here = np.bincount(result[pool][result[pool] >= 0], minlength=n_arms)
        for rater in rng.permutation(pool[result[pool] < 0]):
            arms = rng.permutation(n_arms)
            arm = int(arms[np.lexsort((used[arms], here[arms]))[0]])
            result[rater] = arm
            used[arm] += 1
            here[arm] += 1
    return result


def assign_arms_to_groups(rng: np.random.Generator, unit: Codes, rater: Codes, n_arms: int) -> Codes:
    """Return an arm for each planned group, shape (G,), balanced over raters and units.

    Every rater's groups, the ratings of every unit and all groups are each divided equally among the arms (± 1). So up
    to n_arms ratings of the same outputs are in as many arms.

    Raters and units are the two sides of a graph, groups its edges, and arms colours. Such a graph always has a
    colouring in which the colours are equally frequent at each node. A node is split into nodes of n_arms edges each
    (and one with the rest), at which no colour may occur twice. Kőnig's algorithm colours one edge at a time, and
    exchanges two colours along a path that alternates between them. With two arms these paths form the Euler tours of a
    balanced orientation.

    unit, rater: of each planned group, shape (G,).

    Source: de Werra 1971, "Equitable colorations of graphs".

    Examples
    --------
    >>> unit, rater = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 2, 0])
    >>> arm = assign_arms_to_groups(np.random.default_rng(1), unit, rater, 2)
    >>> [sorted(arm[unit == n].tolist()) for n in range(3)], [sorted(arm[rater == n].tolist()) for n in range(3)]
    ([[0, 1], [0, 1], [0, 1]], [[0, 1], [0, 1], [0, 1]])
    """
    colours = _Colours(n_arms, (_split(rng, rater, n_arms), _split(rng, unit, n_arms)))
    for group in rng.permutation(len(unit)).tolist():
        colours.colour(group, rng.permutation(n_arms).tolist())
    colours.even_out(rng.permutation(len(unit)).tolist())
    return np.array(colours.of, dtype=np.int64)


def _split(rng: np.random.Generator, node: Codes, most: int) -> list[tuple[int, int]]:
    """Return, for each edge, its node and the part of it; each part has `most` random edges, the last one the rest."""
    count: Counter[int] = Counter()
    result = [(0, 0)] * len(node)
    for edge in rng.permutation(len(node)).tolist():
        at = int(node[edge])
        result[edge] = (at, count[at] // most)
        count[at] += 1
    return result


class _Colours:
    """A partial colouring. of: colour of each edge, −1 for none. ends: the nodes of each edge, by side."""

    def __init__(self, n_colours: int, ends: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]) -> None:
        self.of = [-1] * len(ends[0])
        self._ends = ends
        self._colours = range(n_colours)
        self._edge: tuple[dict[tuple[int, int, int], int], ...] = ({}, {})  # by side: edge of a colour at a node

    def _edge_of_colour(self, side: int, edge: int, colour: int) -> int | None:
        """Return the edge of a colour at one end of an edge."""
        return self._edge[side].get((*self._ends[side][edge], colour))

    def colour(self, edge: int, order: Sequence[int]) -> None:
        """Colour one more edge with the first colour that is free at both ends; if there is none, make one free."""
        here, there = (
            [colour for colour in order if self._edge_of_colour(side, edge, colour) is None] for side in (0, 1)
        )
        chosen = next((colour for colour in here if colour in there), here[0])
        taken = self._edge_of_colour(1, edge, chosen)
        if taken is not None:  # it cannot reach the other end: it would arrive by the colour that is free there
            self._exchange(self._path(taken, 1, there[0]), there[0])
        self._set_colour(edge, chosen)

    def even_out(self, order: Sequence[int]) -> None:
        """Exchange colours along paths until all are equally frequent (± 1); nodes remain balanced."""
        while True:
            count = [self.of.count(colour) for colour in self._colours]
            many, few = count.index(max(count)), count.index(min(count))
            if count[many] - count[few] < 2:
                return
            left = (count[many] - count[few]) // 2
            for edge in order:
                side = next((side for side in (0, 1) if self._edge_of_colour(side, edge, few) is None), None)
                if self.of[edge] != many or side is None:
                    continue
                path = self._path(edge, side, few)
                if len(path) % 2:  # it begins and ends in the more frequent colour
                    self._exchange(path, few)
                    left -= 1
                if not left:
                    break

    def _set_colour(self, edge: int, colour: int) -> None:
        self.of[edge] = colour
        for side in (0, 1):
            self._edge[side][*self._ends[side][edge], colour] = edge

    def _path(self, edge: int, side: int, other: int) -> list[int]:
        """Return the path that starts with an edge on one side and alternates between its colour and another."""
        mine, path = self.of[edge], [edge]
        while True:
            side = 1 - side
            step = self._edge_of_colour(side, path[-1], mine if len(path) % 2 == 0 else other)
            if step is None:
                return path
            path.append(step)

    def _exchange(self, path: Sequence[int], other: int) -> None:
        """Exchange the two colours along a whole path; `other` is the colour that does not start it."""
        mine = self.of[path[0]]
        for edge in path:
            for side in (0, 1):
                del self._edge[side][*self._ends[side][edge], self.of[edge]]
        for n, edge in enumerate(path):
            self._set_colour(edge, mine if n % 2 else other)


def interleave_tasks_of_arms(sequences: Sequence[Sequence[tuple[int, ...]]], start: int) -> list[int]:
    """Return the order of a rater's tasks: one run of each arm in turn, starting with arm `start`.

    sequences: for each arm its runs (tasks that must be consecutive), each a tuple of task indices. If an arm has more
    runs than the others, they are spread out, not left to the end.

    Examples
    --------
    >>> interleave_tasks_of_arms([[(0,), (1, 2)], [(3,), (4,)]], start=1)
    [3, 0, 4, 1, 2]
    """
    n_arms = len(sequences)
    keyed = []
    for arm, runs in enumerate(sequences):
        turn = Fraction(2 * ((arm - start) % n_arms) + 1, 2 * n_arms)
        keyed += [((n + turn) / len(runs), arm, run) for n, run in enumerate(runs)]
    return [task for _, _, run in sorted(keyed) for task in run]
