"""The test of WMT26: one mean is above another where the lower end of a BCa bootstrap interval is above 0.

It is made twice, with differences on common units and with two independent samples, and one of them is enough. The
draws are those of `scipy.stats.bootstrap` with `numpy.random.default_rng(seed)` for each pair; means are rounded to ten
decimals, so that equal ones are ties on every machine.

Source: humeval/02b-analyze_results.py of wmt-conference/wmt26-general-mt (`is_significantly_better`); BCa: Efron 1987.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from app.stats.ratings import Floats

Counts = npt.NDArray[np.uint8]

RESAMPLES = 100
_DECIMALS = 10
_LARGE = 1 << 27  # values; what has fewer is kept, of four samples: 512 MB at most
_BLOCK = 1 << 20  # values drawn at a time


@dataclass(frozen=True, slots=True)
class BootstrapClaim:
    """Of a difference of means. p_value: that it is above 0; p_reverse: that it is below 0; both NaN if not tested."""

    p_value: float
    p_reverse: float


NOT_TESTED = BootstrapClaim(np.nan, np.nan)


def bootstrap_paired_differences(
    differences: Floats, *, alpha: float, seed: int, resamples: int = RESAMPLES
) -> list[BootstrapClaim]:
    """Of the mean of each row of differences, shape (pairs, n).

    Fewer than two differences, or equal ones, are not tested; none above 0: no claim.
    """
    if differences.shape[1] < 2:
        return [NOT_TESTED] * len(differences)
    (means,) = _draw_means([differences], resamples, seed)
    return [_claim_paired(drawn, row, alpha) for drawn, row in zip(means, differences, strict=True)]


def _claim_paired(drawn: Floats, differences: Floats, alpha: float) -> BootstrapClaim:
    claim = _claim(drawn, float(differences.mean()), [differences], alpha)
    return BootstrapClaim(
        p_value=claim.p_value if differences.max() > 0 else max(claim.p_value, 1.0),
        p_reverse=claim.p_reverse if differences.min() < 0 else max(claim.p_reverse, 1.0),
    )


def bootstrap_two_samples(
    samples: Sequence[Floats], pairs: Sequence[tuple[int, int]], *, alpha: float, seed: int, resamples: int = RESAMPLES
) -> list[BootstrapClaim]:
    """Of the mean of one sample less that of another, for each pair of samples. Fewer than two values: not tested."""
    claims = [NOT_TESTED] * len(pairs)
    together = defaultdict[tuple[int, int], list[int]](list)
    for number, (i, j) in enumerate(pairs):
        if min(samples[i].size, samples[j].size) > 1:
            together[samples[i].size, samples[j].size].append(number)
    for numbers in together.values():
        first, second = (sorted({pairs[number][side] for number in numbers}) for side in (0, 1))
        of_first, of_second = _draw_means(
            [np.stack([samples[i] for i in side]) for side in (first, second)], resamples, seed
        )
        for number in numbers:
            i, j = pairs[number]
            drawn = of_first[first.index(i)] - of_second[second.index(j)]
            x, y = samples[i], samples[j]
            claims[number] = _claim(drawn, float(x.mean() - y.mean()), [x, -y], alpha)
    return claims


def _draw_means(samples: Sequence[Floats], resamples: int, seed: int) -> list[Floats]:
    """The means of what is drawn from each sample with replacement.

    samples: rows of one length share their draws, shapes (k, n). The means have shapes (k, resamples).

    Pairs with as many units have the same draws, and so has every branch of a multiverse: those of samples that are
    not large are kept.
    """
    sizes = tuple(sample.shape[1] for sample in samples)
    rng = np.random.default_rng(seed)
    is_kept = resamples * max(sizes) <= _LARGE
    means = []
    for place, sample in enumerate(samples):
        blocks = (
            _blocks_of(_draw_kept_counts(sizes[: place + 1], resamples, seed).counts)
            if is_kept
            else _draw_counts(rng, sample.shape[1], resamples)
        )
        means.append(np.concatenate([sample @ (counts / sample.shape[1]).T for counts in blocks], axis=1))
    return means


@dataclass(frozen=True, slots=True, eq=False)
class DrawnCounts:
    """counts: how often each value is drawn, shape (resamples, size). state: of the generator afterwards."""

    counts: Counts
    state: Mapping[str, Any]


@lru_cache(maxsize=4)
def _draw_kept_counts(sizes: tuple[int, ...], resamples: int, seed: int) -> DrawnCounts:
    """Those of the last of several samples, which are drawn one after the other."""
    rng = np.random.default_rng(seed)
    if len(sizes) > 1:
        rng.bit_generator.state = _draw_kept_counts(sizes[:-1], resamples, seed).state
    counts, done = np.empty((resamples, sizes[-1]), dtype=np.uint8), 0
    for block in _draw_counts(rng, sizes[-1], resamples):
        counts[done : done + len(block)] = block
        done += len(block)
    return DrawnCounts(counts, rng.bit_generator.state)


def _blocks_of(counts: Counts) -> Iterator[Counts]:
    rows = max(1, _BLOCK // counts.shape[1])
    return (counts[first : first + rows] for first in range(0, len(counts), rows))


def _draw_counts(rng: np.random.Generator, size: int, resamples: int) -> Iterator[Counts]:
    """How often each value is drawn, shape (resamples, size), in blocks of rows."""
    rows = max(1, _BLOCK // size)
    for first in range(0, resamples, rows):
        n = min(rows, resamples - first)
        picked = rng.integers(0, size, size=(n, size)) + size * np.arange(n)[:, None]
        # One byte holds what is drawn: more than 255 times the same of n has a chance below 10^-500.
        yield np.bincount(picked.ravel(), minlength=n * size).astype(np.uint8).reshape(n, size)


def _claim(drawn: Floats, estimate: float, samples: Sequence[Floats], alpha: float) -> BootstrapClaim:
    """samples: those whose means, added up, are the estimate."""
    acceleration = _accelerate(samples)
    ordered, estimate = np.sort(np.round(drawn, _DECIMALS)), round(estimate, _DECIMALS)
    return BootstrapClaim(
        _p_value(ordered, estimate, acceleration, alpha), _p_value(-ordered[::-1], -estimate, -acceleration, alpha)
    )


def _accelerate(samples: Sequence[Floats]) -> float:
    """From leaving out one value at a time; NaN where no value differs from the others.

    Source: Efron & Tibshirani 1993, §14.3 and §25.6 (several samples).
    """
    cubes = squares = 0.0
    for sample in samples:
        n = sample.size
        influence = sample - sample.mean()  # (n − 1)·(mean of the means without one − the mean without this one)
        cubes += float((influence**3).sum()) / n**3
        squares += float((influence**2).sum()) / n**2
    return cubes / (6 * squares**1.5) if squares > 0 else np.nan


def _p_value(ordered: Floats, estimate: float, acceleration: float, alpha: float) -> float:
    """The smallest level at which the lower end is above 0, from 1/(B + 1); it is below α exactly where that end is.

    ordered: what was drawn, in ascending order.
    """
    below = float((ordered < estimate).mean() + (ordered <= estimate).mean()) / 2
    if not np.isfinite(acceleration):
        return np.nan  # no value differs from another
    if not 0 < below < 1:
        return 1.0  # no interval, so no claim
    bias = float(scipy.special.ndtri(below))
    lower = float(scipy.special.ndtr(_corrected_level(bias, acceleration, float(scipy.special.ndtri(alpha)))))
    is_claimed = bool(np.quantile(ordered, lower) > 0)
    least = 1 / (ordered.size + 1)
    level = float(scipy.special.ndtr(_uncorrected_level(bias, acceleration, _level_of_zero(ordered))))
    if is_claimed:
        return float(np.clip(level, least, np.nextafter(alpha, 0))) if least < alpha else least
    return float(np.clip(level, alpha, 1.0))


def _corrected_level(bias: float, acceleration: float, z: float) -> float:
    moved = bias + z
    return bias + moved / (1 - acceleration * moved)


def _uncorrected_level(bias: float, acceleration: float, z: float) -> float:
    moved = (z - bias) / (1 + acceleration * (z - bias)) if np.isfinite(z) else z
    return moved - bias


def _level_of_zero(ordered: Floats) -> float:
    """The normal quantile of the level whose percentile, by linear interpolation, is 0."""
    n = int((ordered <= 0).sum())
    if n in (0, ordered.size):
        return -np.inf if n == 0 else np.inf
    share = (n - 1 - ordered[n - 1] / (ordered[n] - ordered[n - 1])) / (ordered.size - 1)
    return float(scipy.special.ndtri(np.clip(share, 0.0, 1.0)))
