"""How well a metric tells apart the pairs of systems that humans tell apart: areas under the ROC curve.

Two questions (Krasula et al. 2016, *On the accuracy of objective image and video quality models*, §3; for metrics of
translation Kocmi et al. 2021, *To Ship or Not to Ship*, §5): do larger differences of the metric stand where humans
find a significant one, and of the pairs where they do, does the sign of the metric's difference say who is better?
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.metrics.pairs import PairPValues
from app.stats.ratings import Bools, Floats

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class MetricSeparation:
    """NaN where not defined: without pairs of both sorts, or without pairs that humans tell apart.

    different: chance that a pair that humans tell apart has the larger |difference| of the metric than one they do
    not. better: chance that the difference of the metric, taken towards the system that humans find better, is larger
    than one taken the other way. n, n_apart: pairs, and those that humans tell apart.
    """

    different: float
    better: float
    n: int
    n_apart: int


def roc_auc(positive: Floats, negative: Floats) -> float:
    """P(a positive is larger than a negative), a tie counting half; NaN without either.

    The area under the ROC curve is the rank-sum statistic over the number of pairs (Bamber 1975); values are compared
    to 10 decimals.

    >>> roc_auc(np.array([0.9, 0.4]), np.array([0.4, 0.1]))
    0.875
    """
    if not positive.size or not negative.size:
        return float("nan")
    below = np.sort(np.round(negative, 10))
    x = np.round(positive, 10)
    twice = np.searchsorted(below, x, side="left").sum() + np.searchsorted(below, x, side="right").sum()
    return float(twice / (2 * x.size * below.size))


def find_pairs_separated_by_humans(human: PairPValues, alpha: float = ALPHA) -> Bools:
    """Pairs whose human difference is significant: min(1, 2·min(p, p reverse)) ≤ α, not adjusted for their number."""
    smaller = np.fmin(human.p, human.p_reverse)
    return np.asarray(np.nan_to_num(2 * smaller, nan=1.0) <= alpha, dtype=np.bool_)


def compute_metric_separation_from_pairs(
    human: PairPValues, metric: Floats, *, alpha: float = ALPHA
) -> MetricSeparation:
    """Both areas for one metric.

    Parameters
    ----------
    human : every pair under human scores, see `compute_pair_p_values`.
    metric : difference of the metric's scores of the same pairs, higher is better, NaN where one is missing; shape
        (pairs,).
    Pairs without a human test or a difference of the metric are left out. `better` takes every pair from either side,
    so it does not depend on which system of a pair is named first.
    """
    known = np.isfinite(human.p) & np.isfinite(metric)
    is_separated = find_pairs_separated_by_humans(human, alpha) & known
    size = np.abs(metric)
    towards = np.where(human.difference[is_separated] >= 0, metric[is_separated], -metric[is_separated])
    return MetricSeparation(
        different=roc_auc(size[is_separated], size[known & ~is_separated]),
        better=roc_auc(towards, -towards),
        n=int(known.sum()),
        n_apart=int(is_separated.sum()),
    )
