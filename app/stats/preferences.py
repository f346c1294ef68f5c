"""Preferences between outputs shown side by side: wins, losses and ties of each pair of systems.

A comparison is one rater's answer about two columns of one screen. Its outcome is 1, 0 or −1. The mean of a pair is its
net preference, (wins − losses)/n, a ratio of document sums; its interval treats documents as the sampled units. The
test swaps the two systems on whole documents (Riley et al. 2024, §5), because comparisons of one document are not
independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from app.domain.recipe import DEFAULT_SEED, Adjust
from app.stats import intervals
from app.stats.inference.by_document import estimate_ratio_precision
from app.stats.ratings import Codes, Floats
from app.stats.testing.adjust import adjust_p_values
from app.stats.testing.permutation import (
    PairsWithSameSegments,
    cap_number_of_permutations,
    count_extreme_permuted_sums,
)


@dataclass(frozen=True, slots=True)
class PairwiseComparisons:
    """Parallel columns, one row per comparison. outcome: 1 the first is better, −1 the second, 0 neither."""

    first: Codes
    second: Codes
    outcome: Codes
    document: Codes


@dataclass(frozen=True, slots=True)
class PairPreference:
    """Preference between two systems.

    preference: (wins − losses)/n of the first. p_value: of the sign permutation of whole documents, two-sided.
    interval: of the preference; None with fewer than two documents, or if all documents agree exactly.
    """

    first: int
    second: int
    wins: int
    losses: int
    ties: int
    n_documents: int
    preference: float
    interval: tuple[float, float] | None
    p_value: float
    p_adjusted: float


def compute_pair_preferences(
    compared: PairwiseComparisons, *, n_systems: int, alpha: float, method: Adjust
) -> tuple[PairPreference, ...]:
    """Return all pairs of systems that were compared, by code; the first won more often, or has the smaller code.

    Parameters
    ----------
    alpha : intervals cover 1 − alpha, and the number of permutations depends on it.
    method : how the p-values of all pairs are adjusted; none, holm or bh.

    Source: sign permutation of whole documents, Riley et al. 2024, §5.
    """
    low, high = np.minimum(compared.first, compared.second), np.maximum(compared.first, compared.second)
    signed = np.where(compared.first == low, compared.outcome, -compared.outcome)
    systems, outcomes, sums = [], [], []
    size = int(compared.document.max(initial=-1)) + 1
    for a, b in combinations(range(n_systems), 2):
        here = (low == a) & (high == b)
        if here.any():
            document = compared.document[here]
            counts = np.bincount(document, minlength=size).astype(np.float64)
            systems.append((a, b))
            outcomes.append(signed[here])
            total = np.bincount(document, weights=signed[here].astype(np.float64), minlength=size)
            sums.append((total.astype(np.float64), counts))
    p_values = _permutation_p_values(sums, alpha)
    adjusted = adjust_p_values(p_values, method)
    return tuple(
        _pair(both, outcome, by_document, alpha, p=(float(p), float(p_all)))
        for both, outcome, by_document, p, p_all in zip(systems, outcomes, sums, p_values, adjusted, strict=True)
    )


def compute_smallest_possible_p(n_documents: int) -> float:
    """Return the smallest p of the permutation of `n_documents` documents: 2^(1 − D), and 1 without any."""
    return float(min(1.0, 2.0 ** (1 - n_documents)))


def _permutation_p_values(sums: Sequence[tuple[Floats, Floats]], alpha: float) -> Floats:
    """Return p of every pair: share of permutations of whole documents with a sum of outcomes as far from 0."""
    blocks = [
        PairsWithSameSegments(
            np.stack((total, np.zeros_like(total))),
            first=np.array([0]),
            second=np.array([1]),
            pair=np.array([pair]),
            units=np.flatnonzero(counts),
        )
        for pair, (total, counts) in enumerate(sums)
    ]
    if not blocks:
        return np.empty(0)
    draws = cap_number_of_permutations(len(blocks), alpha)
    size = sums[0][0].size
    counted = count_extreme_permuted_sums(
        blocks, len(blocks), size, permutations=draws, seed=DEFAULT_SEED, two_sided=True
    )
    return counted.p_values(plus_one=True)


def _pair(
    systems: tuple[int, int], outcome: Codes, by_document: tuple[Floats, Floats], alpha: float, p: tuple[float, float]
) -> PairPreference:
    (a, b), (sums, counts) = systems, by_document
    wins, losses = int((outcome > 0).sum()), int((outcome < 0).sum())
    if losses > wins:
        a, b, wins, losses, sums = b, a, losses, wins, -sums
    mean = (wins - losses) / outcome.size
    held = counts > 0
    interval = _interval(mean, sums[held], counts[held], alpha)
    return PairPreference(a, b, wins, losses, outcome.size - wins - losses, int(held.sum()), mean, interval, *p)


def _interval(mean: float, sums: npt.NDArray[Any], counts: Floats, alpha: float) -> tuple[float, float] | None:
    if counts.size < 2:
        return None
    known = estimate_ratio_precision(sums, counts)
    if not known.error > 0:  # all documents agree, which is no proof that the next one will
        return None
    width = float(intervals.compute_interval_half_widths(known, alpha))
    return max(-1.0, mean - width), min(1.0, mean + width)


@dataclass(frozen=True, slots=True)
class PreferenceStanding:
    """One system over all its comparisons. share: points per comparison; a win is 1 point, a tie ½."""

    system: int
    wins: int
    losses: int
    ties: int
    share: float


def compute_preference_standings(comparisons: PairwiseComparisons, *, n_systems: int) -> tuple[PreferenceStanding, ...]:
    """Return the systems that were compared, by share of points, then by code."""
    rows = []
    for system in range(n_systems):
        own = np.concatenate(
            (comparisons.outcome[comparisons.first == system], -comparisons.outcome[comparisons.second == system])
        )
        if own.size:
            wins, losses = int((own > 0).sum()), int((own < 0).sum())
            rows.append(PreferenceStanding(system, wins, losses, own.size - wins - losses, float((own.mean() + 1) / 2)))
    return tuple(sorted(rows, key=lambda one: (-round(one.share, 10), one.system)))
