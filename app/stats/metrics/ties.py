"""Accuracy over pairs of outputs where ties count, and how near two metric scores must be to be a tie.

Source: Deutsch, Foster & Freitag 2023, *Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie
Calibration*, §4 (acc with ties), §5 (calibration of ε).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.ratings import Bools, Floats


@dataclass(frozen=True, slots=True)
class TieCalibratedAccuracy:
    """accuracy: of pairs ordered or tied alike, items counting alike, under the ε that makes it largest.

    epsilon: metric scores at most so far apart are a tie. plain: the same with ε = 0. n_items: segments with at least
    two scored outputs. n_pairs, n_ties: pairs of outputs of one segment, and those with equal human scores.
    """

    accuracy: float
    epsilon: float
    plain: float
    n_items: int
    n_pairs: int
    n_ties: int


def tie_calibrated_accuracy(human: Floats, metric: Floats, present: Bools) -> TieCalibratedAccuracy | None:
    """acc*eq of a metric, grouped by item; None without a pair.

    Parameters
    ----------
    human, metric : scores, higher is better, shape (systems, segments).
    present : where both are known, shape (systems, segments).

    Every pair of systems of one segment is right where both order it alike, or where both find a tie. The accuracy of
    each segment counts alike. ε is the smallest that does best, among 0 and all distances that there are.

    >>> h, m = np.array([[1.0], [1.0], [3.0]]), np.array([[0.50], [0.52], [0.90]])
    >>> found = tie_calibrated_accuracy(h, m, np.ones((3, 1), dtype=bool))
    >>> found.accuracy, round(found.epsilon, 2), round(found.plain, 4)
    (1.0, 0.02, 0.6667)
    """
    first, second = np.triu_indices(human.shape[0], 1)
    n_present = present.sum(axis=0)
    held = n_present * (n_present - 1) // 2
    if not held.any():
        return None
    weight = 1.0 / np.maximum(held, 1) / (held > 0).sum()
    parts = [
        _compare_systems(i, j, human, metric, present, weight)
        for i, j in zip(first.tolist(), second.tolist(), strict=True)
    ]
    distance, gain, ordered = (np.concatenate(one) for one in zip(*parts, strict=True))
    n_ties = int((gain > 0).sum())
    # At ε = −1 nothing is a tie; as ε grows past a distance, that pair turns from an order into a tie.
    right = 0.0 - float(gain[ordered].sum())
    del parts, ordered
    order = np.argsort(distance, kind="stable")
    steps = distance[order]
    last = np.append(steps[1:] != steps[:-1], True)
    del distance
    totals = right + np.cumsum(gain[order])
    epsilons, accuracies = steps[last], totals[last]
    if epsilons[0] > 0:
        epsilons, accuracies = np.append(0.0, epsilons), np.append(right, accuracies)
    best = int(np.argmax(np.round(accuracies, 12)))
    return TieCalibratedAccuracy(
        accuracy=float(accuracies[best]),
        epsilon=float(epsilons[best]),
        plain=float(accuracies[0]),
        n_items=int((held > 0).sum()),
        n_pairs=int(held.sum()),
        n_ties=n_ties,
    )


def _compare_systems(
    first: int, second: int, human: Floats, metric: Floats, present: Bools, weight: Floats
) -> tuple[Floats, Floats, Bools]:
    """Of each segment that both systems have: how far the metric's scores are apart, what a tie of the metric gains
    over an order, and whether it is ordered as by humans, who find no tie."""
    shared = present[first] & present[second]
    apart_human = _round_differences(human[first] - human[second])[shared]
    apart_metric = _round_differences(metric[first] - metric[second])[shared]
    tied, own = apart_human == 0, weight[shared]
    ordered = np.sign(apart_human) == np.sign(apart_metric)
    return np.abs(apart_metric), np.where(tied, own, np.where(ordered, -own, 0.0)), ordered & ~tied


def _round_differences(values: Floats) -> Floats:
    """Differences to 10 decimals: sums of 0.1 are not exact."""
    return np.asarray(np.round(values, 10) + 0.0, dtype=np.float64)
