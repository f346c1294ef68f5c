"""Accuracy over pairs of outputs that counts ties, and the threshold ε below which two metric scores are tied.

Source: Deutsch, Foster & Freitag 2023, *Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie
Calibration*, §4 (acc with ties), §5 (calibration of ε).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.ratings import Bools, Floats


@dataclass(frozen=True, slots=True)
class TieCalibratedAccuracy:
    """accuracy: share of pairs ordered or tied alike, averaged over items, with the ε that maximizes it.

    epsilon: metric scores are tied if they are at most this far apart. plain: accuracy with ε = 0. n_items: segments
    with at least two scored outputs. n_pairs, n_ties: pairs of outputs of one segment, and those with equal human
    scores.
    """

    accuracy: float
    epsilon: float
    plain: float
    n_items: int
    n_pairs: int
    n_ties: int


def tie_calibrated_accuracy(human: Floats, metric: Floats, present: Bools) -> TieCalibratedAccuracy | None:
    """Compute acc*eq of a metric, grouped by item; None without a pair.

    Parameters
    ----------
    human, metric : scores, higher is better, shape (systems, segments).
    present : whether both are known, shape (systems, segments).

    A pair of systems on one segment is correct if both scores order it alike, or if both find a tie. Every segment's
    accuracy has the same weight. ε is the smallest optimum among 0 and all distances in the data.

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
    # Without ties (ε < 0) every pair is ordered; when ε reaches a pair's distance, the pair becomes a tie.
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
    """Compare two systems on each segment that both have.

    Returns the distance of the metric's scores, the gain in accuracy if the metric ties the pair instead of ordering
    it, and whether humans find no tie and the metric orders the pair as they do.
    """
    shared = present[first] & present[second]
    apart_human = _round_differences(human[first] - human[second])[shared]
    apart_metric = _round_differences(metric[first] - metric[second])[shared]
    tied, own = apart_human == 0, weight[shared]
    ordered = np.sign(apart_human) == np.sign(apart_metric)
    return np.abs(apart_metric), np.where(tied, own, np.where(ordered, -own, 0.0)), ordered & ~tied


def _round_differences(values: Floats) -> Floats:
    """Round differences to 10 decimals, because sums of 0.1 are not exact."""
    return np.asarray(np.round(values, 10) + 0.0, dtype=np.float64)
