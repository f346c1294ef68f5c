"""Tests of two systems that share no segments: the rank-sum test and Welch's t."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from app.stats.aggregate import round_scores
from app.stats.ratings import Floats


@dataclass(frozen=True, slots=True)
class UnpairedTestResult:
    """One-sided p-values of both directions and the two-sided p; `lean` is +1 if the first tends to be larger."""

    greater: float
    less: float
    two_sided: float
    lean: int


def wilcoxon_rank_sum(first: Floats, second: Floats, *, correction: bool = True) -> UnpairedTestResult:
    """Wilcoxon rank-sum (Mann–Whitney U) test by the normal approximation, with tie correction.

    Scores are rounded to 10 decimals before they are ranked. Two samples without any variation give p = 1.

    Parameters
    ----------
    first, second : scores of two systems, shapes (n,) and (m,), larger is better; neither empty.
    correction : continuity correction of one half.

    Sources: Mann & Whitney 1947; Lehmann 1975, §1.4 (ties); used by WMT since 2016 (Bojar et al. 2016, §3).
    """
    x, y = np.sort(round_scores(first)), np.sort(round_scores(second))
    below = int(np.searchsorted(y, x, side="left").sum())
    not_above = int(np.searchsorted(y, x, side="right").sum())
    twice_u = below + not_above
    n, m = x.size, y.size
    spread = np.sqrt(n * m / 12 * (n + m + 1 - _tie_term(x, y) / max((n + m) * (n + m - 1), 1)))
    distance = twice_u / 2 - n * m / 2
    step = 0.5 if correction else 0.0
    if spread <= 0:
        return UnpairedTestResult(1.0, 1.0, 1.0, 0)
    return UnpairedTestResult(
        greater=float(scipy.special.ndtr(-(distance - step) / spread)),
        less=float(scipy.special.ndtr((distance + step) / spread)),
        two_sided=min(1.0, 2 * float(scipy.special.ndtr(-(abs(distance) - step) / spread))),
        lean=int(np.sign(distance)),
    )


def _tie_term(x: Floats, y: Floats) -> int:
    """Σ(t³ − t) over the tied groups of both samples together; exact in integers."""
    both = np.sort(np.concatenate((x, y)), kind="stable")
    edges = np.flatnonzero(np.concatenate(([True], both[1:] != both[:-1], [True])))
    ties = np.diff(edges)
    ties = ties[ties > 1].astype(object) if both.size > 2_000_000 else ties[ties > 1].astype(np.int64)
    return int((ties**3 - ties).sum())


def welch_t_test(first: Floats, second: Floats) -> UnpairedTestResult | None:
    """Welch's t test of two independent samples with unequal variances (Welch 1947).

    None if it is undefined: fewer than two values on a side, or no variation at all.

    >>> import numpy as np
    >>> result = welch_t_test(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 4.0, 6.0, 9.0]))
    >>> round(result.two_sided, 6)
    0.164702
    """
    if min(first.size, second.size) < 2:
        return None
    parts = [float(np.var(sample, ddof=1)) / sample.size for sample in (first, second)]
    variance = parts[0] + parts[1]
    if np.round(np.sqrt(variance), 10) == 0:
        return None
    t = (float(first.mean()) - float(second.mean())) / np.sqrt(variance)
    degrees = variance**2 / (parts[0] ** 2 / (first.size - 1) + parts[1] ** 2 / (second.size - 1))
    return UnpairedTestResult(
        greater=float(scipy.special.stdtr(degrees, -t)),
        less=float(scipy.special.stdtr(degrees, t)),
        two_sided=min(1.0, 2 * float(scipy.special.stdtr(degrees, -abs(t)))),
        lean=int(np.sign(np.round(t, 10))),
    )
