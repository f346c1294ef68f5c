"""Outlying raters: the chance that a rater of a homogeneous panel lies so far from the usual one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from app.stats.ratings import Floats

MIN_RATERS = 5
MOST_RATERS = 60
"""Larger panels are treated as of this size, because the reference hardly changes."""
DRAWN = 300_000
SEED = 1981
TINY = 1e-18
NORMAL = 1.4826
"""Factor from the median distance from the median to the SD of normal values."""


def compute_outlier_p_values(values: Floats, *, floor: float, error: Floats | None = None) -> Floats:
    """Chance, by rater, of a value as far above the median if all raters had one normal distribution; one-sided.

    Median and median distance are robust to up to half bad raters. The reference is the same statistic of as many
    simulated normal values, so few raters need a larger distance. With fewer than five raters the spread cannot be
    estimated and is taken to be the floor.

    Parameters
    ----------
    values : one per rater, shape (raters,).
    floor : smallest SD of raters, in the unit of the values.
    error : standard error of each value; one with a larger error than usual may lie correspondingly farther out.

    Source: Iglewicz & Hoaglin 1993 (the statistic); chances by simulation.

    >>> import numpy as np
    >>> compute_outlier_p_values(np.array([0.0, 0.1, -0.2, 0.3, -0.1, 0.2, 9.0]), floor=0.1).round(3).tolist()[-2:]
    [0.351, 0.0]
    """
    distance = values - np.median(values) if values.size else values
    spread = NORMAL * float(np.median(np.abs(distance))) if values.size >= MIN_RATERS else 0.0
    variance = np.full(values.size, max(spread, floor) ** 2)
    if error is not None and error.size:
        variance += np.maximum(error**2 - float(np.median(error**2)), 0.0)
    z = distance / np.sqrt(np.maximum(variance, TINY))
    if values.size < MIN_RATERS:
        return np.asarray(scipy.special.ndtr(-z / np.sqrt(1.5)))
    reference = _reference(min(values.size, MOST_RATERS))
    beyond = reference.size - np.searchsorted(reference, z, "left")
    return np.asarray((beyond + 1) / (reference.size + 1))


@lru_cache(maxsize=MOST_RATERS)
def _reference(n: int) -> Floats:
    """Sorted values of the statistic for n raters from one distribution."""
    drawn = np.random.default_rng((SEED, n)).standard_normal((DRAWN // n, n)).astype(np.float32)
    drawn -= np.median(drawn, axis=1, keepdims=True)
    drawn /= NORMAL * np.median(np.abs(drawn), axis=1, keepdims=True)
    return np.sort(drawn.ravel()).astype(np.float64)
