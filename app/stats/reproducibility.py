"""How similar a score is when a study is repeated: the coefficient of variation of repeated measurements.

Source: Belz 2022, *A Metrological Perspective on Reproducibility in NLP* (CV* for small samples); Belz 2025 (QRA++).
"""

from __future__ import annotations

from math import exp, lgamma, sqrt

from app.stats.ratings import Floats


def compute_cv_star(values: Floats, *, minimum: float = 0.0) -> float:
    """CV* = (1 + 1/(4n))·s*/|x̄|·100, in percent; 0 is perfect repetition.

    s* is the standard deviation without its bias in small samples, s/c₄(n). NaN below two values, or if their mean is
    at the lower end of the scale.

    Parameters
    ----------
    values : the same score measured in n studies, shape (n,).
    minimum : lower end of the scale, which is shifted to 0 so that a scale from 1 to 7 and one from 0 to 6 are equal.

    >>> import numpy as np
    >>> round(compute_cv_star(np.array([5.64, 6.30]), minimum=1.0), 3)
    13.24
    """
    n = values.size
    if n < 2:
        return float("nan")
    mean = float(values.mean()) - minimum
    if round(mean, 10) == 0:
        return float("nan")
    return (1 + 1 / (4 * n)) * float(values.std(ddof=1)) / compute_c4_correction(n) / abs(mean) * 100


def compute_c4_correction(n: int) -> float:
    """E(s)/σ of n independent normal values: √(2/(n − 1))·Γ(n/2)/Γ((n − 1)/2).

    >>> round(compute_c4_correction(2), 6), round(compute_c4_correction(10), 6)
    (0.797885, 0.972659)
    """
    return sqrt(2 / (n - 1)) * exp(lgamma(n / 2) - lgamma((n - 1) / 2))
