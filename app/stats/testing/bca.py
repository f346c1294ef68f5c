"""The test of WMT26: one mean is above another if the lower end of a BCa bootstrap interval is above 0.

It is run twice, with differences on common units and with two independent samples, and one success is enough. For each
pair, the draws are those of `scipy.stats.bootstrap` with `numpy.random.default_rng(seed)`. Means are rounded to ten
decimals, so that equal means are ties on every machine.

Source: humeval/02b-analyze_results.py of wmt-conference/wmt26-general-mt (`is_significantly_better`); BCa: Efron 1987.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import numpy as np
import numpy.typing as npt
import scipy

from app.stats.ratings import Floats

Counts = npt.NDArray[np.uint8]

RESAMPLES = 100
_DECIMALS = 10
_LARGE = 1 << 27  # values; smaller draws are cached, for four samples: 512 MB at most
_BLOCK = 1 << 16  # values drawn at a time: they stay in the processor's cache
_FEWEST_ROWS = 16  # smallest number of draws at a time, however large each is

Moments = tuple[float, float]


@dataclass(frozen=True, slots=True)
class OneSidedPValues:
    """p-values of a difference of means. p_value: that it is above 0; p_reverse: below 0; both NaN if not tested."""

    p_value: float
    p_reverse: float


NOT_TESTED = OneSidedPValues(np.nan, np.nan)


def compute_bca_paired_p_values(
    scores: Floats, pairs: Sequence[tuple[int, int]], *, alpha: float, seed: int, resamples: int = RESAMPLES
) -> list[OneSidedPValues]:
    """p of the mean difference of two rows, for each pair of rows; scores: shape (k, n), of common units.

    Fewer than two differences, or equal ones, are not tested. If no difference is above 0, there is no claim.
    """
    if scores.shape[1] < 2:
        return [NOT_TESTED] * len(pairs)
    # The mean of drawn differences is the difference of drawn means, and there are fewer systems than pairs.
    (means,) = _draw_means([scores], resamples, seed)
    return [_claim_paired(means[i] - means[j], scores[i] - scores[j], alpha) for i, j in pairs]


def _claim_paired(drawn: Floats, differences: Floats, alpha: float) -> OneSidedPValues:
    claim = _claim(drawn, float(differences.mean()), _accelerate([_moments(differences)]), alpha)
    return OneSidedPValues(
        p_value=claim.p_value if differences.max() > 0 else max(claim.p_value, 1.0),
        p_reverse=claim.p_reverse if differences.min() < 0 else max(claim.p_reverse, 1.0),
    )


def compute_bca_two_sample_p_values(
    samples: Sequence[Floats], pairs: Sequence[tuple[int, int]], *, alpha: float, seed: int, resamples: int = RESAMPLES
) -> list[OneSidedPValues]:
    """p of the difference of the means of two samples, for each pair; samples below two values are not tested."""
    claims = [NOT_TESTED] * len(pairs)
    moments = [_moments(sample) if sample.size > 1 else (0.0, 0.0) for sample in samples]
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
            acceleration = _accelerate([moments[i], (-moments[j][0], moments[j][1])])
            claims[number] = _claim(drawn, float(samples[i].mean() - samples[j].mean()), acceleration, alpha)
    return claims


def _draw_means(samples: Sequence[Floats], resamples: int, seed: int) -> list[Floats]:
    """Return the means of draws with replacement from one sample, or from two, one after the other.

    samples: rows of one length share their draws, shapes (k, n). The means have shapes (k, resamples).
    """
    sizes = [sample.shape[1] for sample in samples]
    if resamples * max(sizes) > _LARGE:
        rng = np.random.default_rng(seed)
        drawn = [_draw_counts(rng, size, resamples) for size in sizes]
    else:
        drawn = [_keep_draws(seed, sizes[0]).blocks(0, resamples)]
        if sizes[1:] == sizes[:1]:
            drawn.append(_keep_draws(seed, sizes[0]).blocks(resamples, 2 * resamples))
        elif sizes[1:]:
            drawn.append(_keep_draws(seed, sizes[1], (sizes[0], resamples)).blocks(0, resamples))
    return [
        np.concatenate([sample @ counts.astype(np.float64).T for counts in blocks], axis=1) / sample.shape[1]
        for sample, blocks in zip(samples, drawn, strict=True)
    ]


@lru_cache(maxsize=2)
def _keep_draws(seed: int, size: int, after: tuple[int, int] | None = None) -> _Draws:
    """Return cached draws: pairs with equally many units share them, as do all branches of a multiverse.

    A smaller number of draws takes the first ones. after: size of a sample that is drawn from before, and how often.
    """
    return _Draws(np.random.default_rng(seed) if after is None else _keep_draws(seed, after[0]).after(after[1]), size)


class _Draws:
    """Successive draws from `size` values, cached once they are made; safe to share between threads."""

    def __init__(self, rng: np.random.Generator, size: int) -> None:
        self._rng, self._size, self._making = rng, size, Lock()
        self._kept: list[Counts] = []
        self._starts, self._states = [0], [rng.bit_generator.state]  # of each block, and of the one to come

    def blocks(self, first: int, last: int) -> Iterator[Counts]:
        """Yield the draws from `first` to before `last`."""
        with self._making:
            while (start := self._starts[-1]) < last:
                n = min(_rows_at_once(self._size), last - start)
                self._kept.extend(_draw_counts(self._rng, self._size, n))
                self._states.append(self._rng.bit_generator.state)
                self._starts.append(start + n)
        for start, counts in zip(self._starts, self._kept, strict=False):
            if start < last and first < start + len(counts):
                yield counts[max(first - start, 0) : last - start]

    def after(self, draws: int) -> np.random.Generator:
        """Return a generator in the state after `draws` draws."""
        for _ in self.blocks(0, draws):
            pass
        block = bisect_right(self._starts, draws) - 1
        rng = np.random.default_rng(0)
        rng.bit_generator.state = self._states[block]
        rng.integers(0, self._size, size=(draws - self._starts[block], self._size))
        return rng


def _rows_at_once(size: int) -> int:
    return max(_FEWEST_ROWS, _BLOCK // size)


def _draw_counts(rng: np.random.Generator, size: int, resamples: int) -> Iterator[Counts]:
    """Yield how often each value is drawn, shape (resamples, size), in blocks of rows."""
    rows = _rows_at_once(size)
    starts = size * np.arange(rows)[:, None]
    for first in range(0, resamples, rows):
        n = min(rows, resamples - first)
        picked = rng.integers(0, size, size=(n, size))
        picked += starts[:n]
        # One byte is enough: the chance that one of n values is drawn more than 255 times is below 10^-500.
        yield np.bincount(picked.ravel(), minlength=n * size).astype(np.uint8).reshape(n, size)


def _claim(drawn: Floats, estimate: float, acceleration: float, alpha: float) -> OneSidedPValues:
    drawn, estimate = np.round(drawn, _DECIMALS), round(estimate, _DECIMALS)
    return OneSidedPValues(
        _p_value(drawn, estimate, acceleration, alpha), _p_value(-drawn, -estimate, -acceleration, alpha)
    )


def _moments(sample: Floats) -> Moments:
    """Sums of the cubes and of the squares of each value's influence on the mean."""
    n = sample.size
    influence = sample - sample.mean()  # (n − 1)·(mean of the means without one − the mean without this one)
    return float((influence**3).sum()) / n**3, float((influence**2).sum()) / n**2


def _accelerate(moments: Sequence[Moments]) -> float:
    """Acceleration from leaving out one value at a time; NaN if all values are equal.

    moments: of the samples whose means add up to the estimate.

    Source: Efron & Tibshirani 1993, §14.3 and §25.6 (several samples).
    """
    cubes, squares = (sum(one[at] for one in moments) for at in (0, 1))
    return cubes / (6 * squares**1.5) if squares > 0 else np.nan


def _p_value(drawn: Floats, estimate: float, acceleration: float, alpha: float) -> float:
    """The smallest level at which the lower end is above 0, at least 1/(B + 1); below α exactly if the end at α is."""
    below = float((drawn < estimate).mean() + (drawn <= estimate).mean()) / 2
    if not np.isfinite(acceleration):
        return np.nan  # all values are equal
    if not 0 < below < 1:
        return 1.0  # no interval, so no claim
    bias = float(scipy.special.ndtri(below))
    lower = float(scipy.special.ndtr(_corrected_level(bias, acceleration, float(scipy.special.ndtri(alpha)))))
    zero = _level_of_zero(drawn)
    least = 1 / (drawn.size + 1)
    normal = float(scipy.special.ndtri(np.clip(zero, 0.0, 1.0)))
    level = float(scipy.special.ndtr(_uncorrected_level(bias, acceleration, normal)))
    if lower > zero:
        return float(np.clip(level, least, np.nextafter(alpha, 0))) if least < alpha else least
    return float(np.clip(level, alpha, 1.0))


def _corrected_level(bias: float, acceleration: float, z: float) -> float:
    moved = bias + z
    return bias + moved / (1 - acceleration * moved)


def _uncorrected_level(bias: float, acceleration: float, z: float) -> float:
    moved = (z - bias) / (1 + acceleration * (z - bias)) if np.isfinite(z) else z
    return moved - bias


def _level_of_zero(drawn: Floats) -> float:
    """The level whose percentile, by linear interpolation, is 0; infinite if all draws are above 0, or none."""
    above = drawn > 0
    n = drawn.size - int(np.count_nonzero(above))
    if n in (0, drawn.size):
        return -np.inf if n == 0 else np.inf
    last, first = np.where(above, -np.inf, drawn).max(), np.where(above, drawn, np.inf).min()
    return float((n - 1 - last / (first - last)) / (drawn.size - 1))
