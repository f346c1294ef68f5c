"""The slow way: universes one after the other, and every share of the multiverse counted on fingers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from app.stats.multiverse.branches import ABSENT, UNTESTED, MultiverseBranchClaims
from app.stats.multiverse.shares import MultiverseClaims, PairClaimShare

NAMES = ("scoring", "exclusion", "normalize", "test", "adjust")


@dataclass(frozen=True)
class Universe:
    """One choice of each dimension, and the mark of each pair."""

    choices: dict[str, str]
    marks: dict[tuple[str, str], int]


def universes(branches: Sequence[MultiverseBranchClaims], systems: Sequence[str]) -> list[Universe]:
    pairs = list(combinations(systems, 2))
    found = []
    for one in branches:
        for (test, adjust), marks in zip(one.universes, one.claims.tolist(), strict=True):
            choices = dict(zip(NAMES, (one.scoring, one.exclusion, one.normalize, test, adjust), strict=True))
            found.append(Universe(choices, dict(zip(pairs, marks, strict=True))))
    return found


def check_shares(told: MultiverseClaims, branches: Sequence[MultiverseBranchClaims], systems: Sequence[str]) -> None:
    """Every figure of every pair and every choice, against the count."""
    every = universes(branches, systems)
    pairs = list(combinations(systems, 2))
    assert told.n == len(every)
    assert [(one.first, one.second) for one in told.pairs] == pairs
    for number, one in enumerate(told.pairs):
        _check_pair(one, every)
        _check_ahead(one, [int(branch.ahead[number]) for branch in branches if branch.universes])
    counted = {(one.dimension, one.choice): (one.n, one.claimed) for one in told.choices}
    assert len(counted) == len(told.choices)
    assert counted == dict(_choices(every))


def _check_pair(one: PairClaimShare, every: Sequence[Universe]) -> None:
    pair = (one.first, one.second)
    of = [(universe, universe.marks[pair]) for universe in every]
    tested = [(universe, mark) for universe, mark in of if mark in (-1, 0, 1)]
    first, second, neither = (sum(mark == wanted for _, mark in tested) for wanted in (1, -1, 0))
    assert (one.n, one.untested) == (len(tested), sum(mark == UNTESTED for _, mark in of)), pair
    assert one.first_better == _share(first, one.n), pair
    assert one.second_better == _share(second, one.n), pair
    if not tested:
        assert (one.kind, one.hangs_on, one.spread) == (None, None, None)
        return
    if first and second:
        kind = "reversed"
    elif neither == 0:
        kind = "always"
    else:
        kind = "depends" if first or second else "never"
    assert one.kind == kind, pair
    spreads = {name: _spread(name, tested) for name in NAMES}
    widest = max(spreads.values())
    assert (one.spread is None) == (widest == 0), pair
    if one.spread is not None:
        assert abs(one.spread - widest) < 1e-9, pair
        assert one.hangs_on is not None
        assert spreads[one.hangs_on] == widest, pair


def _check_ahead(one: PairClaimShare, marks: Sequence[int]) -> None:
    ranked = [mark for mark in marks if mark != ABSENT]
    assert one.first_ahead == _share(ranked.count(1), len(ranked))
    assert one.second_ahead == _share(ranked.count(-1), len(ranked))


def _share(count: int, n: int) -> float | None:
    return count / n if n else None


def _spread(name: str, tested: Sequence[tuple[Universe, int]]) -> Fraction:
    """Between the choices of a dimension: widest difference of (claims of the first − of the second) / tested."""
    marks: dict[str, list[int]] = {}
    for universe, mark in tested:
        marks.setdefault(universe.choices[name], []).append(mark)
    net = [Fraction(sum(given), len(given)) for given in marks.values()]
    return max(net) - min(net)


def _choices(every: Sequence[Universe]) -> Iterator[tuple[tuple[str, str], tuple[int, float | None]]]:
    for name in NAMES:
        for choice in {universe.choices[name] for universe in every}:
            of = [universe for universe in every if universe.choices[name] == choice]
            marks = [mark for universe in of for mark in universe.marks.values() if mark in (-1, 0, 1)]
            yield (name, choice), (len(of), _share(sum(mark != 0 for mark in marks), len(marks)))
