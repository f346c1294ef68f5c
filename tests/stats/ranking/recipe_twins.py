"""A slow twin of every named recipe: dictionaries, loops and SciPy, from ratings to clusters and rank sets.

Nothing here reads a choice from a `Recipe`: each twin is written from the published practice (the table of named
recipes in docs/statistics.md), so that a recipe whose choices were changed no longer agrees with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from app.stats.ratings import RatingRole
from tests.stats.ranking import recipe_twin_pairs as pairs_of
from tests.stats.ranking import recipe_twin_rows as rows_of
from tests.stats.ranking.recipe_twin_pairs import SEED, Found, World, weighed
from tests.stats.ranking.recipe_twin_rows import Row, Scores, Unit, by_unit
from tests.stats.ranking.test_rank_sets import slow_sets

NEAR = 1e-10

# --- from p-values to clusters. wins[i][j]: i beats j; told[i][j]: the test tells i and j apart

Table = list[list[bool]]


def counted(wins: Table) -> list[tuple[int, int]]:
    n = len(wins)
    return [(1 + sum(wins[j][i] for j in range(n)), n - sum(wins[i])) for i in range(n)]


def grown(wins: Table) -> list[tuple[int, int]]:
    ranges = []
    for i in range(len(wins)):
        first = last = i + 1
        while first > 1 and not wins[first - 2][i]:
            first -= 1
        while last < len(wins) and not wins[i][last]:
            last += 1
        ranges.append((first, last))
    return ranges


def cut_short(wins: Table) -> list[tuple[int, int]]:
    ranges, n = grown(wins), len(wins)
    return [(first, min(last, n - 1)) for first, last in ranges[:-1]] + ranges[-1:]


def all_beat_all(wins: Table, told: Table, i: int) -> bool:
    return all(wins[a][b] for a in range(i) for b in range(i, len(wins)))


def wins_of_the_last(wins: Table, told: Table, i: int) -> bool:
    return sum(wins[i - 1]) == len(wins) - i


def fewest_wins(wins: Table, told: Table, i: int) -> bool:
    return min(sum(wins[a]) for a in range(i)) == len(wins) - i


def no_chain(wins: Table, told: Table, i: int) -> bool:
    return all(told[a][b] for a in range(i) for b in range(i, len(wins)))


def no_range(wins: Table, told: Table, i: int) -> bool:
    ranges = grown(wins)
    return all(last <= i for _, last in ranges[:i]) and all(first > i for first, _ in ranges[i:])


def as_they_are(p: list[float]) -> list[float]:
    return p


def holm(p: list[float]) -> list[float]:
    ordered = sorted(p)
    return [max(min(1.0, (len(p) - k) * q) for k, q in enumerate(ordered) if q <= own) for own in p]


@dataclass(frozen=True)
class Twin:
    """What makes a recipe, as functions."""

    used: Callable[[list[Row]], tuple[list[Row], list[Row]]]
    segment_score: Callable[[list[Row]], float]
    test: Callable[[Scores, Scores, World], Found]
    line: Callable[[Table, Table, int], bool] | None
    unit: Callable[[Row], Unit] = rows_of.segment
    weights: Callable[[Sequence[Unit], dict[str, str]], Scores] = rows_of.alike
    adjust: Callable[[list[float]], list[float]] = as_they_are
    inclusive: bool = False
    better_mean_needed: bool = False
    higher_is_better: bool = True
    ranges: Callable[[Table], list[tuple[int, int]]] = counted
    interval: Callable[[np.ndarray, np.ndarray, float], tuple[float, float]] = pairs_of.with_t
    rank_sets: bool = False


RATING, REPEAT = RatingRole.RATING, RatingRole.REPEAT

TWINS = {
    "wmt-da": Twin(rows_of.worker_z, rows_of.pooled, pairs_of.rank_sum, wins_of_the_last),
    "google-mqm": Twin(
        rows_of.as_given(RATING, REPEAT), rows_of.mean_of_raters, pairs_of.marot, all_beat_all, higher_is_better=False
    ),
    "wmt22": Twin(
        rows_of.worker_z_of_wmt22, rows_of.pooled, pairs_of.rank_sum_matched, fewest_wins, better_mean_needed=True
    ),
    "wmt24-esa": Twin(
        rows_of.as_given(RATING), rows_of.latest_of_raters, pairs_of.stouffer, no_chain, weights=rows_of.domains_alike
    ),
    "wmt25": Twin(
        rows_of.as_given(RATING),
        rows_of.pooled,
        pairs_of.signed_rank,
        no_range,
        unit=rows_of.wave,
        weights=rows_of.domains_alike,
        ranges=grown,
    ),
    "wmt26": Twin(
        rows_of.as_given(RATING), rows_of.mean_of_raters, pairs_of.either_bootstrap, all_beat_all, ranges=cut_short
    ),
    "nllb-xsts": Twin(
        rows_of.as_given(RATING), rows_of.median_of_raters, pairs_of.bootstrap, None, interval=pairs_of.percentile
    ),
    "srp-paper": Twin(
        rows_of.as_given(RATING),
        rows_of.mean_of_raters,
        pairs_of.permutation_of_the_paper,
        all_beat_all,
        inclusive=True,
    ),
    "recommended": Twin(
        rows_of.z_if_comparable,
        rows_of.mean_of_raters,
        pairs_of.permutation_enough,
        all_beat_all,
        adjust=holm,
        inclusive=True,
        rank_sets=True,
    ),
}


def _sets(sums: np.ndarray, weights: np.ndarray, alpha: float, draws: int, world: World) -> list[tuple[int, int]]:
    """Rank sets; every rank in each where Holm's smallest p of exact document flips is above the level."""
    pairs = len(sums) * (len(sums) - 1) // 2
    if pairs * 2.0 ** (1 - len(world.documents)) > alpha:
        return [(1, len(sums))] * len(sums)
    return slow_sets(sums, weights, alpha, SEED, draws)


# --- the whole


def said(name: str, rows: list[Row], domain: dict[str, str], alpha: float = 0.05) -> dict[str, object]:
    """What the twin of a recipe says: numbers and groups under the names of their place in the report."""
    twin = TWINS[name]
    sign = 1 if twin.higher_is_better else -1
    scored, raw = twin.used([row._replace(score=sign * row.score) for row in rows])
    units, raw_units = (by_unit(part, twin.unit, twin.segment_score) for part in (scored, raw))
    every = sorted({u for scores in units.values() for u in scores})
    n = len(units)
    world = World(sorted({u[0] for u in every}), every, domain, alpha, n * (n - 1) // 2)
    scores = {system: weighed(own, twin.weights, world) for system, own in units.items()}
    order = sorted(scores, key=scores.__getitem__, reverse=True)
    sums, weights = _document_sums(twin, units, order, world)
    ends = [twin.interval(x, w, alpha) for x, w in zip(sums, weights, strict=True)]
    draws = max(999, 20 * n * (n - 1))
    return {
        "order": order,
        "score": [sign * scores[system] for system in order],
        "raw": [sign * weighed(raw_units[system], twin.weights, world) for system in order],
        "interval": [end for pair in ends for end in (pair if sign > 0 else (-pair[1], -pair[0]))],
        "rank_set": _sets(sums, weights, alpha, draws, world) if twin.rank_sets else [None] * n,
        **_of_pairs(twin, units, scores, order, world),
    }


def _document_sums(
    twin: Twin, units: dict[str, Scores], order: list[str], world: World
) -> tuple[np.ndarray, np.ndarray]:
    sums, weights = np.zeros((2, len(order), len(world.documents)))
    for i, system in enumerate(order):
        weight = twin.weights(list(units[system]), world.domain)
        for unit, score in units[system].items():
            at = i, world.documents.index(unit[0])
            sums[at] += weight[unit] * score
            weights[at] += weight[unit]
    return sums, weights


def _of_pairs(
    twin: Twin, units: dict[str, Scores], scores: dict[str, float], order: list[str], world: World
) -> dict[str, object]:
    n = len(order)
    pairs = list(combinations(range(n), 2))
    tests = [twin.test(units[order[i]], units[order[j]], world) for i, j in pairs]
    adjusted = twin.adjust([found.p for found in tests])
    wins, told = ([[False] * n for _ in range(n)] for _ in range(2))

    def below(p: float) -> bool:
        return p <= world.alpha + NEAR if twin.inclusive else p < world.alpha - NEAR

    for (i, j), found, p in zip(pairs, tests, adjusted, strict=True):
        one_sided = found.reverse is not None
        wins[i][j] = below(p) and (one_sided or found.ahead > 0)
        wins[j][i] = below(found.reverse) if found.reverse is not None else below(p) and found.ahead < 0
        told[i][j] = told[j][i] = wins[i][j] or wins[j][i] or (not one_sided and below(p))
        if twin.better_mean_needed:
            wins[i][j] &= scores[order[i]] > scores[order[j]]
            wins[j][i] &= scores[order[j]] > scores[order[i]]
    return {
        "p_value": [found.p for found in tests],
        "p_reverse": [found.reverse for found in tests],
        "p_adjusted": adjusted,
        "significant": [wins[i][j] for i, j in pairs],
        "significant_reverse": [wins[j][i] for i, j in pairs],
        "rank_range": twin.ranges(wins),
        "cluster": _numbered(twin, wins, told),
    }


def _numbered(twin: Twin, wins: Table, told: Table) -> list[int | None]:
    if twin.line is None:
        return [None] * len(wins)
    number, found = 1, [1]
    for i in range(1, len(wins)):
        number += twin.line(wins, told, i)
        found.append(number)
    return found
