"""Groups of systems that the tests keep apart, by the rules in use."""

from __future__ import annotations

import numpy as np

from app.domain.recipe import ClusterRule
from app.stats.ratings import Bools


def clusters(wins: Bools, rule: ClusterRule) -> tuple[int, ...] | None:
    """Number of the cluster of each system, from 1, or None without a rule.

    Parameters
    ----------
    wins : wins[i, j] is true where system i is significantly better than j; shape (S, S), systems in ranking order.
    rule : `wmt21` a line below rank i where i's wins over *any* system number S − i (the published WMT files: a
        lower system that beats a higher one can hide a line); `paper` where i beats every lower system (Knowles
        2021, footnote 4); `strict` where every system above the line beats every system below it.
    """
    if rule == "none":
        return None
    lines = _RULES[rule](wins)
    return tuple(int(c) for c in 1 + np.concatenate(([0], np.cumsum(lines))))[: len(wins)]


def rank_ranges(wins: Bools) -> tuple[tuple[int, int], ...]:
    """[1 + losses, S − wins] of each system: pairwise, not simultaneous."""
    won, lost = wins.sum(axis=1), wins.sum(axis=0)
    return tuple((1 + int(b), len(wins) - int(a)) for a, b in zip(won, lost, strict=True))


def _wmt21(wins: Bools) -> Bools:
    size = len(wins)
    return np.asarray(wins.sum(axis=1)[:-1] == size - np.arange(1, size))


def _paper(wins: Bools) -> Bools:
    return np.array([wins[i, i + 1 :].all() for i in range(len(wins) - 1)], dtype=np.bool_)


def _strict(wins: Bools) -> Bools:
    return np.array([wins[: i + 1, i + 1 :].all() for i in range(len(wins) - 1)], dtype=np.bool_)


_RULES = {"wmt21": _wmt21, "paper": _paper, "strict": _strict}
