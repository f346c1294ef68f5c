"""Slow twins of recipes, the second part: tests of a pair and intervals of a system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import ceil
from typing import NamedTuple

import numpy as np
from scipy import stats

from app.stats.testing.permutation import sample_sign_patterns
from tests.stats.inference.matrices import of_documents
from tests.stats.ranking.recipe_twin_rows import Scores, Unit, domains_alike

SEED = 20261120


@dataclass(frozen=True)
class World:
    """What every test of a pair may look at: all documents and units that any system has, domains, the level."""

    documents: list[str]
    units: list[Unit]
    domain: dict[str, str]
    alpha: float
    n_pairs: int


class Found(NamedTuple):
    """p that the first is better, or of no direction; p that the second is (None without direction); who is ahead."""

    p: float
    reverse: float | None
    ahead: float


# --- tests of a pair, the first ranked higher


def apart(a: Scores, b: Scores, world: World, domain: str | None = None) -> np.ndarray:
    """Differences on common units, all or of one domain."""
    common = [u for u in world.units if u in a and u in b and domain in {None, world.domain[u[0]]}]
    return np.round([a[u] - b[u] for u in common], 10)


def by_document(a: Scores, b: Scores, world: World) -> tuple[np.ndarray, np.ndarray]:
    """Σ of differences and number of common units in every document."""
    sums, counts = (dict.fromkeys(world.documents, 0.0) for _ in range(2))
    for unit in world.units:
        if unit in a and unit in b:
            sums[unit[0]] += a[unit] - b[unit]
            counts[unit[0]] += 1
    return np.array(list(sums.values())), np.array(list(counts.values()))


def rank_sum(a: Scores, b: Scores, world: World) -> Found:
    x, y = (np.round(list(scores.values()), 10) for scores in (a, b))
    greater, less = (
        stats.mannwhitneyu(x, y, alternative=side, method="asymptotic", use_continuity=True).pvalue
        for side in ("greater", "less")
    )
    return Found(greater, less, 0)


def rank_sum_matched(a: Scores, b: Scores, world: World) -> Found:
    return rank_sum({u: a[u] for u in a if u in b}, {u: b[u] for u in b if u in a}, world)


@cache
def _signs_drawn(n: int, draws: int) -> np.ndarray:
    return np.concatenate(list(sample_sign_patterns(n, draws, SEED, 64))) * 2 - 1


def marot(a: Scores, b: Scores, world: World) -> Found:
    d = np.array([a[u] - b[u] if u in a and u in b else 0.0 for u in world.units])
    permuted = _signs_drawn(d.size, 10_000) @ d
    near = 1e-9 * max(1, abs(d.sum()))
    return Found(
        (1 + np.sum(permuted >= d.sum() - near)) / 10_001, (1 + np.sum(permuted <= d.sum() + near)) / 10_001, 0
    )


def permutation(a: Scores, b: Scores, world: World, draws: int) -> Found:
    """Signs of whole documents: all of them where they are no more than the draws, else drawn, plus one."""
    d, counts = by_document(a, b, world)
    held = counts > 0
    add = 0
    if 2 ** held.sum() <= draws:
        sums = np.array([sum(s * x for s, x in zip(signs, d[held], strict=True)) for signs in _signs(held.sum())])
    else:
        sums, add = _signs_drawn(d.size, draws) @ d, 1
    beyond = np.sum(np.abs(sums) >= abs(d.sum()) - 1e-9 * max(1, abs(d.sum())))
    return Found((beyond + add) / (len(sums) + add), None, round(d.sum(), 10))


def _signs(n: int) -> product:
    return product((1, -1), repeat=n)


def permutation_of_the_paper(a: Scores, b: Scores, world: World) -> Found:
    return permutation(a, b, world, 500)


def permutation_enough(a: Scores, b: Scores, world: World) -> Found:
    return permutation(a, b, world, max(10_000, ceil(20 * world.n_pairs / world.alpha)))


@cache  # levels change nothing here
def _wilcoxon(differences: tuple[float, ...], side: str) -> float:
    """SciPy's, but with up to 13 differences every sign in a table: SciPy takes its time over ties there."""
    if len(differences) > 13:
        return float(stats.wilcoxon(differences, alternative=side).pvalue)
    d = np.array([x for x in differences if x != 0])
    ranks = stats.rankdata(np.abs(d))
    sums = np.array(list(product((0, 1), repeat=d.size))) @ ranks
    own = ranks[d > 0].sum()
    greater, less = np.mean(sums >= own), np.mean(sums <= own)
    return float({"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}[side])


def stouffer(a: Scores, b: Scores, world: World) -> Found:
    strata = [apart(a, b, world, domain) for domain in sorted(set(world.domain.values()))]
    p = [_wilcoxon(tuple(d), "two-sided") for d in strata if d.size]
    ahead = weighed(a, domains_alike, world) - weighed(b, domains_alike, world)
    return Found(stats.combine_pvalues(p, method="stouffer").pvalue, None, ahead)


def signed_rank(a: Scores, b: Scores, world: World) -> Found:
    d = tuple(apart(a, b, world))
    return Found(_wilcoxon(d, "greater"), _wilcoxon(d, "less"), 0)


def either_bootstrap(a: Scores, b: Scores, world: World) -> Found:
    d = apart(a, b, world)
    x, y = ([scores[u] for u in world.units if u in scores] for scores in (a, b))
    p, reverse = np.min([_bca_levels(tuple(d)), _bca_levels(tuple(x), tuple(y))], axis=0)
    return Found(p, reverse, d.mean())


@cache  # the recipe's level changes nothing here, either
def _bca_levels(*values: tuple[float, ...]) -> tuple[float, float]:
    """The smallest level at which SciPy's one-sided interval of a mean or a difference of means leaves out 0."""
    samples = [np.array(x) for x in values]

    def mean(x: np.ndarray, y: np.ndarray | None = None, axis: int = -1) -> np.ndarray:
        return np.round(np.mean(x, axis=axis) - (0.0 if y is None else np.mean(y, axis=axis)), 10)

    drawn = stats.bootstrap(samples, mean, n_resamples=100, rng=np.random.default_rng(SEED))

    def leaves_out(level: float, side: str) -> bool:
        interval = stats.bootstrap(
            samples, mean, n_resamples=0, bootstrap_result=drawn, confidence_level=1 - level, alternative=side
        ).confidence_interval
        return bool(interval.low > 0 if side == "greater" else interval.high < 0)

    levels = []
    for side in ("greater", "less"):
        low, high = 1 / 101, 1.0
        for _ in range(0 if leaves_out(low, side) else 45):
            middle = (low + high) / 2
            low, high = (low, middle) if leaves_out(middle, side) else (middle, high)
        levels.append(low)
    return levels[0], levels[1]


def bootstrap(a: Scores, b: Scores, world: World) -> Found:
    d, counts = by_document(a, b, world)
    drawn = np.round(resampled(d, counts, max(10_000, ceil(20 / world.alpha))), 10)
    p = min(1.0, 2 * (1 + min((drawn <= 0).sum(), (drawn >= 0).sum())) / (drawn.size + 1))
    return Found(max(p, 0.5 ** ((counts > 0).sum() - 1)), None, round(d.sum(), 10))


def resampled(sums: np.ndarray, weights: np.ndarray, draws: int) -> np.ndarray:
    picked = np.random.Generator(np.random.PCG64(SEED)).integers(0, sums.size, size=(draws, sums.size))
    total = weights[picked].sum(axis=1)
    return sums[picked].sum(axis=1)[total > 0] / total[total > 0]


def weighed(units: Scores, weights: Callable[[Sequence[Unit], dict[str, str]], Scores], world: World) -> float:
    weight = weights(list(units), world.domain)
    return sum(weight[u] * units[u] for u in units) / sum(weight.values())


# --- intervals of a system's score, by documents


def with_t(sums: np.ndarray, weights: np.ndarray, alpha: float) -> tuple[float, float]:
    theta, error, degrees = of_documents(sums, weights)
    width = error * stats.t.isf(alpha / 2, degrees)
    return theta - width, theta + width


def percentile(sums: np.ndarray, weights: np.ndarray, alpha: float) -> tuple[float, float]:
    drawn = resampled(sums, weights, 5_000)
    return float(np.quantile(drawn, alpha / 2)), float(np.quantile(drawn, 1 - alpha / 2))
