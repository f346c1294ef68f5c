"""Clusters of systems that the tests separate, by the rules in use."""

from __future__ import annotations

import numpy as np

from app.domain.recipe import ClusterRule
from app.stats.ratings import Bools


def assign_clusters(wins: Bools, rule: ClusterRule, *, separated: Bools | None = None) -> tuple[int, ...] | None:
    """Return the cluster number of each system, from 1, or None without a rule.

    Parameters
    ----------
    wins : wins[i, j] is true if system i is significantly better than j; shape (S, S), systems in ranking order.
    rule : when to draw a line below rank i. `wmt21`: i's wins over *any* system number S − i (the published WMT files:
        a lower system that beats a higher one can hide a line). `wmt22`: the smallest number of wins among the systems
        1 … i is S − i (Appraise `make_rankings.py`). `wmt24`: no chain of pairs with p > α crosses the line, whichever
        system is better (WMT24 `tools.py`). `wmt25`: no range of `compute_rank_ranges` crosses the line. `paper`: i
        beats every lower system (Knowles 2021, footnote 4). `strict` and `wmt26`: every system above beats every system
        below.
    separated : separated[i, j] is true if the test separates i and j, in either direction; shape (S, S). By default, if
        either beats the other.
    """
    if rule == "none":
        return None
    lines = _wmt24(wins | wins.T if separated is None else separated) if rule == "wmt24" else _RULES[rule](wins)
    return tuple(int(c) for c in 1 + np.concatenate(([0], np.cumsum(lines))))[: len(wins)]


def compute_rank_ranges(wins: Bools, rule: ClusterRule = "none") -> tuple[tuple[int, int], ...]:
    """Return [1 + losses, S − wins] of each system: pairwise, not simultaneous.

    Under `wmt25` and `wmt26` a range starts at the system's own rank and extends up to the first neighbour that beats
    it and down to the first that it beats. Systems further away are not checked, so a significant reversal there is
    missed. Under `wmt26` only the last system's range reaches the last rank.
    """
    if rule == "wmt25":
        return _grown(wins)
    if rule == "wmt26":
        return _cut_short(_grown(wins))
    won, lost = wins.sum(axis=1), wins.sum(axis=0)
    return tuple((1 + int(b), len(wins) - int(a)) for a, b in zip(won, lost, strict=True))


def _wmt21(wins: Bools) -> Bools:
    size = len(wins)
    return np.asarray(wins.sum(axis=1)[:-1] == size - np.arange(1, size))


def _wmt22(wins: Bools) -> Bools:
    size = len(wins)
    fewest = np.minimum.accumulate(wins.sum(axis=1))[:-1]
    return np.asarray(fewest == size - np.arange(1, size))


def _wmt24(separated: Bools) -> Bools:
    return np.array([separated[:i, i:].all() for i in range(1, len(separated))], dtype=np.bool_)


def _wmt25(wins: Bools) -> Bools:
    first, last = np.array(_grown(wins)).T
    return np.array([(last[:i] <= i).all() and (first[i:] > i).all() for i in range(1, len(wins))], dtype=np.bool_)


def _grown(wins: Bools) -> tuple[tuple[int, int], ...]:
    ranges = []
    for i in range(len(wins)):
        beaten_by, beats = np.flatnonzero(wins[:i, i]), np.flatnonzero(wins[i, i + 1 :])
        start = int(beaten_by[-1]) + 2 if beaten_by.size else 1
        ranges.append((start, i + 1 + int(beats[0]) if beats.size else len(wins)))
    return tuple(ranges)


def _cut_short(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Cut ranges as WMT26's script does: its loop ends one rank early, so only the last system has the last rank."""
    last = len(ranges)
    return tuple((start, end if i == last else min(end, last - 1)) for i, (start, end) in enumerate(ranges, 1))


def _paper(wins: Bools) -> Bools:
    return np.array([wins[i, i + 1 :].all() for i in range(len(wins) - 1)], dtype=np.bool_)


def _strict_wins(wins: Bools) -> Bools:
    return np.array([wins[: i + 1, i + 1 :].all() for i in range(len(wins) - 1)], dtype=np.bool_)


_RULES = {
    "wmt21": _wmt21,
    "wmt22": _wmt22,
    "wmt25": _wmt25,
    "wmt26": _strict_wins,
    "paper": _paper,
    "strict": _strict_wins,
}
