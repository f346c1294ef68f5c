"""Soft pairwise accuracy: how far two scorings agree on every pair of systems, given the certainty of each.

Source: Thompson, Mathur, Deutsch & Khayrallah 2024 (SPA); Kocmi et al. 2021 (pairwise accuracy).
"""

from __future__ import annotations

import numpy as np

from app.stats.ratings import Floats


def soft_pairwise_accuracy(human: Floats, metric: Floats) -> float:
    """1 minus the mean absolute difference of the one-sided p-values over pairs; NaN without a pair.

    Parameters
    ----------
    human, metric : one-sided p of each pair of systems, in the same direction; shape (m,).

    >>> p_human, p_metric = np.array([0.02, 0.40, 0.90]), np.array([0.10, 0.55, 0.70])
    >>> round(soft_pairwise_accuracy(p_human, p_metric), 6)
    0.856667
    """
    return float(1 - np.abs(human - metric).mean()) if human.size else float("nan")


def pairwise_accuracy_from_p_values(human: Floats, metric: Floats) -> float:
    """Share of pairs that both order the same way: one-sided p-values below, at or above one half.

    >>> p_human, p_metric = np.array([0.02, 0.40, 0.90]), np.array([0.10, 0.55, 0.70])
    >>> round(pairwise_accuracy_from_p_values(p_human, p_metric), 6)
    0.666667
    """
    return float((np.sign(human - 0.5) == np.sign(metric - 0.5)).mean()) if human.size else float("nan")
