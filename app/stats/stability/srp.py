"""Stable Ranking Probability of a group of studies, and the figures that must accompany it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.aggregate import round_scores
from app.stats.ratings import Floats
from app.stats.stability.study_significance import Claims

_ROWS = 512  # rows of the study × study matrices in memory at once
Order = npt.NDArray[np.int8]


def find_better_of_pairs(means: Floats, better_sign: int) -> Order:
    """Return which system of each pair has the better mean: 1 the first, −1 the second, 0 if equal to 10 decimals.

    means : shape (…, S). Returns shape (…, S(S−1)/2).
    """
    first, second = np.triu_indices(means.shape[-1], k=1)
    scores = round_scores(means)
    return np.asarray(better_sign * np.sign(scores[..., first] - scores[..., second]), dtype=np.int8)


def mark_stable_study_pairs(claims: Claims, order: Order) -> npt.NDArray[np.bool_]:
    """SR(e1, e2): every claim of e1 has the better mean in e2. Shape (n, n), including the diagonal.

    claims : shape (n, pairs). order : shape (n, pairs), the result of `find_better_of_pairs` for the means.

    Source: Riley et al. 2024, §5.

    Examples
    --------
    >>> means = np.array([[1.0, 2, 3], [1, 3, 2], [1, 2, 2]])
    >>> claims = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0]], dtype=np.int8)
    >>> mark_stable_study_pairs(claims, find_better_of_pairs(means, -1)).astype(int).tolist()
    [[1, 0, 0], [1, 1, 1], [1, 1, 1]]
    """
    return np.asarray(_broken(_both_ways(claims), _both_ways(order)) == 0)


def _both_ways(signed: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """Return one column per ordered pair: 1 if its first system is better."""
    return np.concatenate([signed > 0, signed < 0], axis=1).astype(np.float32)


def _broken(held: npt.NDArray[np.float32], kept: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return held @ (1.0 - kept).T


@dataclass(frozen=True, slots=True, eq=False)
class SumsOverStudyPairs:
    """Sums over the ordered pairs of different studies of one group.

    n: studies. n_pairs: n(n−1). stable: pairs with SR = 1. both: pairs in which every claim of the first study is
    significant in the second. each: for each study, number of pairs with SR = 1 that it belongs to, shape (n,).
    retained: Σ |SB_e1 ∩ B_e2|. tau, pearson: sums over the unordered pairs where they are defined, and the number of
    those.
    """

    n: int
    stable: int
    both: int
    each: npt.NDArray[np.int64]
    retained: float
    tau: tuple[float, int]
    pearson: tuple[float, int]

    @property
    def n_pairs(self) -> int:
        """Ordered pairs of different studies."""
        return self.n * (self.n - 1)


def compare_studies(means: Floats, claims: Claims, order: Order) -> SumsOverStudyPairs:
    """Compare every study of a group with every other one.

    Parameters
    ----------
    means : shape (n, S). claims, order : shape (n, S(S−1)/2).
    """
    n = len(means)
    held, better = _both_ways(claims), _both_ways(order)
    stable_of, stable_to, both = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), 0
    for start in range(0, n, _ROWS):
        rows = slice(start, start + _ROWS)
        own = np.arange(n)[rows]
        kept = _broken(held[rows], better) == 0
        kept[np.arange(own.size), own] = False
        stable_of[rows] = kept.sum(axis=1)
        stable_to += kept.sum(axis=0)
        both_significant = _broken(held[rows], held) == 0
        both_significant[np.arange(own.size), own] = False
        both += int(both_significant.sum())
    retained = float(held.sum(axis=0, dtype=np.float64) @ better.sum(axis=0, dtype=np.float64) - (held * better).sum())
    unit = _unit_rows(order.astype(np.float64))
    return SumsOverStudyPairs(
        n,
        int(stable_of.sum()),
        both,
        stable_of + stable_to,
        retained,
        _pairwise(unit),
        _pairwise(_unit_deviations(means)),
    )


def _unit_deviations(means: Floats) -> Floats:
    return _unit_rows(means - means.mean(axis=1, keepdims=True))


def _unit_rows(rows: Floats) -> Floats:
    """Scale rows to length 1; rows of length 0 become NaN."""
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(rows, length, out=np.full(rows.shape, np.nan), where=length > 1e-9), dtype=np.float64)


def _pairwise(unit: Floats) -> tuple[float, int]:
    """Return the sum of the products of all unordered pairs of defined rows, and their number.

    Kendall's τ-b is such a product: of the signs of all pairs of systems, over the root of the numbers of untied ones.
    """
    known = unit[~np.isnan(unit).any(axis=1)]
    whole = known.sum(axis=0)
    return float(whole @ whole - (known * known).sum()) / 2.0, len(known) * (len(known) - 1) // 2


def compute_pooled_srp(groups: list[SumsOverStudyPairs]) -> float:
    """Return SRP pooled over all groups: stable ordered pairs of studies / all ordered pairs, at least one."""
    return sum(group.stable for group in groups) / sum(group.n_pairs for group in groups)


ENOUGH_SETS = 10


def estimate_srp_monte_carlo_error(groups: list[SumsOverStudyPairs]) -> float:
    """Standard error of SRP due to the finite number of simulated studies.

    One group: jackknife over studies, SE² = (n−1)/n · Σ_b (SRP₋b − mean)². Ten groups or more: SD of the groups' SRP
    over √(number of groups). Fewer: the larger of that and the jackknife over all studies.

    Source: Efron & Tibshirani 1993, ch. 11 (jackknife). Pairs of studies share studies, so √(p(1 − p)/pairs) would be
    far too small.
    """
    between = 0.0
    if len(groups) > 1:
        of_each = np.array([group.stable / group.n_pairs for group in groups])
        between = float(of_each.std(ddof=1) / np.sqrt(len(groups)))
    return between if len(groups) >= ENOUGH_SETS else max(between, _jackknife(groups))


def _jackknife(groups: list[SumsOverStudyPairs]) -> float:
    total, pairs = sum(group.stable for group in groups), sum(group.n_pairs for group in groups)
    without = [(total - group.each) / (pairs - 2 * (group.n - 1)) for group in groups if pairs > 2 * (group.n - 1)]
    if not without:
        return float("nan")
    left = np.concatenate(without)
    return float(np.sqrt((left.size - 1) / left.size * ((left - left.mean()) ** 2).sum()))
