"""The test of WMT26: one mean is above another where the lower end of a BCa bootstrap interval is above 0.

It is made twice, with differences on common units and with two independent samples, and one of them is enough. The
draws are those of `scipy.stats.bootstrap` with `numpy.random.default_rng(seed)` for each pair; means are rounded to ten
decimals, so that equal ones are ties on every machine.

Source: humeval/02b-analyze_results.py of wmt-conference/wmt26-general-mt (`is_significantly_better`); BCa: Efron 1987.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from app.stats.ratings import Floats

RESAMPLES = 100
_DECIMALS = 10
_LARGE = 1 << 25  # values; what has fewer is kept, twice: 512 MB at most
_BLOCK = 1 << 20  # values drawn at a time


@dataclass(frozen=True, slots=True)
class BootstrapClaim:
    """Of a difference of means. p_value: that it is above 0; p_reverse: that it is below 0; both NaN if not tested."""

    p_value: float
    p_reverse: float


NOT_TESTED = BootstrapClaim(np.nan, np.nan)


def bootstrap_paired_difference(
    differences: Floats, *, alpha: float, seed: int, resamples: int = RESAMPLES
) -> BootstrapClaim:
    """Of the mean of differences, shape (n,). Fewer than two, or equal ones, are not tested; none above 0: no claim."""
    if differences.size < 2:
        return NOT_TESTED
    (drawn,) = _draw_means([differences], resamples, seed)
    estimate = float(differences.mean())
    claim = _claim(drawn, estimate, [differences], alpha)
    return BootstrapClaim(
        p_value=claim.p_value if differences.max() > 0 else max(claim.p_value, 1.0),
        p_reverse=claim.p_reverse if differences.min() < 0 else max(claim.p_reverse, 1.0),
    )


def bootstrap_two_samples(
    x: Floats, y: Floats, *, alpha: float, seed: int, resamples: int = RESAMPLES
) -> BootstrapClaim:
    """Of the mean of x, shape (n,), less that of y, shape (m,). Fewer than two of one are not tested."""
    if min(x.size, y.size) < 2:
        return NOT_TESTED
    of_x, of_y = _draw_means([x, y], resamples, seed)
    return _claim(of_x - of_y, float(x.mean() - y.mean()), [x, -y], alpha)


def _draw_means(samples: Sequence[Floats], resamples: int, seed: int) -> list[Floats]:
    """The means of what is drawn from each sample with replacement, shape (resamples,) each.

    Pairs with as many common units have the same draws, and most have: those of samples that are not large are kept.
    """
    sizes = tuple(sample.size for sample in samples)
    if resamples * sum(sizes) <= _LARGE:
        kept = _draw_kept_shares(sizes, resamples, seed)
        return [shares @ sample for shares, sample in zip(kept, samples, strict=True)]
    rng = np.random.default_rng(seed)
    return [
        np.concatenate([shares @ sample for shares in _draw_shares(rng, sample.size, resamples)]) for sample in samples
    ]


@lru_cache(maxsize=2)
def _draw_kept_shares(sizes: tuple[int, ...], resamples: int, seed: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(seed)
    return tuple(np.concatenate(list(_draw_shares(rng, size, resamples))) for size in sizes)


def _draw_shares(rng: np.random.Generator, size: int, resamples: int) -> Iterator[Floats]:
    """How often each value is drawn, as a share of its sample; (resamples, size), in blocks of rows."""
    rows = max(1, _BLOCK // size)
    for first in range(0, resamples, rows):
        n = min(rows, resamples - first)
        picked = rng.integers(0, size, size=(n, size)) + size * np.arange(n)[:, None]
        yield np.bincount(picked.ravel(), minlength=n * size).reshape(n, size) / size


def _claim(drawn: Floats, estimate: float, samples: Sequence[Floats], alpha: float) -> BootstrapClaim:
    """samples: those whose means, added up, are the estimate."""
    acceleration = _accelerate(samples)
    return BootstrapClaim(
        _p_value(drawn, estimate, acceleration, alpha), _p_value(-drawn, -estimate, -acceleration, alpha)
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


def _p_value(drawn: Floats, estimate: float, acceleration: float, alpha: float) -> float:
    """The smallest level at which the lower end is above 0, from 1/(B + 1); it is below α exactly where that end is."""
    drawn, estimate = np.round(drawn, _DECIMALS), round(estimate, _DECIMALS)
    below = float((drawn < estimate).mean() + (drawn <= estimate).mean()) / 2
    if not np.isfinite(acceleration):
        return np.nan  # no value differs from another
    if not 0 < below < 1:
        return 1.0  # no interval, so no claim
    bias = float(scipy.special.ndtri(below))
    lower = float(scipy.special.ndtr(_corrected_level(bias, acceleration, float(scipy.special.ndtri(alpha)))))
    is_claimed = bool(np.quantile(drawn, lower) > 0)
    least = 1 / (drawn.size + 1)
    level = float(scipy.special.ndtr(_uncorrected_level(bias, acceleration, _level_of_zero(drawn))))
    if is_claimed:
        return float(np.clip(level, least, np.nextafter(alpha, 0))) if least < alpha else least
    return float(np.clip(level, alpha, 1.0))


def _corrected_level(bias: float, acceleration: float, z: float) -> float:
    moved = bias + z
    return bias + moved / (1 - acceleration * moved)


def _uncorrected_level(bias: float, acceleration: float, z: float) -> float:
    moved = (z - bias) / (1 + acceleration * (z - bias)) if np.isfinite(z) else z
    return moved - bias


def _level_of_zero(drawn: Floats) -> float:
    """The normal quantile of the level whose percentile, by linear interpolation, is 0."""
    ordered = np.sort(drawn)
    n = int((ordered <= 0).sum())
    if n in (0, ordered.size):
        return -np.inf if n == 0 else np.inf
    share = (n - 1 - ordered[n - 1] / (ordered[n] - ordered[n - 1])) / (ordered.size - 1)
    return float(scipy.special.ndtri(np.clip(share, 0.0, 1.0)))
