"""How well a metric separates the pairs of systems that humans separate: areas under the ROC curve.

Two questions (Krasula et al. 2016, *On the accuracy of objective image and video quality models*, §3; for translation
metrics Kocmi et al. 2021, *To Ship or Not to Ship*, §5). Is the metric's difference larger if humans find a significant
difference? And for such pairs, does the sign of the metric's difference show which system is better?
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.metrics.system_pair_p_values import SystemPairPValues
from app.stats.ratings import Bools, Floats

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class MetricSeparation:
    """Areas under the ROC curve; NaN without pairs of both kinds, or without pairs that humans separate.

    different: probability that the metric's |difference| is larger for a pair that humans separate than for one that
    they do not. better: probability that a metric difference towards the system that humans prefer is larger than one
    in the opposite direction. n, n_apart: number of pairs, and of pairs that humans separate.
    """

    different: float
    better: float
    n: int
    n_apart: int


def roc_auc(positive: Floats, negative: Floats) -> float:
    """P(a positive is larger than a negative), where a tie counts half; NaN without either.

    The area under the ROC curve is the rank-sum statistic divided by the number of pairs (Bamber 1975). Values are
    compared to 10 decimals.

    >>> roc_auc(np.array([0.9, 0.4]), np.array([0.4, 0.1]))
    0.875
    """
    if not positive.size or not negative.size:
        return float("nan")
    below = np.sort(np.round(negative, 10))
    x = np.round(positive, 10)
    twice = np.searchsorted(below, x, side="left").sum() + np.searchsorted(below, x, side="right").sum()
    return float(twice / (2 * x.size * below.size))


def mask_pairs_separated_by_humans(human: SystemPairPValues, alpha: float = ALPHA) -> Bools:
    """Mask of pairs with a significant human difference: min(1, 2·min(p, p reverse)) ≤ α, without adjustment."""
    smaller = np.fmin(human.p, human.p_reverse)
    return np.asarray(np.nan_to_num(2 * smaller, nan=1.0) <= alpha, dtype=np.bool_)


def compute_metric_separation_from_pairs(
    human: SystemPairPValues, metric: Floats, *, alpha: float = ALPHA
) -> MetricSeparation:
    """Compute both areas for one metric.

    Parameters
    ----------
    human : p-values of all pairs for human scores, see `compute_system_pair_p_values`.
    metric : differences of the metric's scores for the same pairs, higher is better, NaN if one is missing; shape
        (pairs,).
    Pairs without a human test or a metric difference are left out. `better` uses every pair in both directions, so it
    does not depend on which system of a pair comes first.
    """
    known = np.isfinite(human.p) & np.isfinite(metric)
    is_separated = mask_pairs_separated_by_humans(human, alpha) & known
    size = np.abs(metric)
    towards = np.where(human.difference[is_separated] >= 0, metric[is_separated], -metric[is_separated])
    return MetricSeparation(
        different=roc_auc(size[is_separated], size[known & ~is_separated]),
        better=roc_auc(towards, -towards),
        n=int(known.sum()),
        n_apart=int(is_separated.sum()),
    )
