"""Raters compared by group: severity of each group, agreement of groups, and similarity of their rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from app.stats.agreement.pairs import kendall_tau, pearson
from app.stats.agreement.soft_pairwise import soft_pairwise_accuracy
from app.stats.metrics.system_pair_p_values import PERMUTATIONS, SystemPairPValues, compute_system_pair_p_values
from app.stats.plain_values import number_or_none
from app.stats.ratings import Bools, Floats, Ratings

Indices = npt.NDArray[np.intp]
SMALLEST_GROUP = 3
"""Smallest number of raters of a group.

The figures of one rater are that person's, and either of two raters can subtract their own to learn the other's. Three
is the usual minimum of statistical disclosure control.
"""


@dataclass(frozen=True, slots=True)
class RaterGroupStatistics:
    """Figures of one group.

    ratings: their number. outputs: number of different ones. mean, sd: of the ratings, NaN and None if undefined.
    shared: number of outputs that raters of other groups scored, too. severity: mean over these of the group's mean
    score minus the mean of the other raters, so below 0 if the group scores lower; None without any. means: by system;
    None where fewer than `SMALLEST_GROUP` raters of the group scored it.
    """

    raters: int
    ratings: int
    outputs: int
    mean: float
    sd: float | None
    shared: int
    severity: float | None
    means: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class RaterGroupPairStatistics:
    """Figures of two groups, given as indices. Figures are None if they are not defined.

    outputs: number scored by both. difference: mean over these of the first group's mean score minus the second's.
    pearson: of the two mean scores over these. systems: number rated by both. kendall: τ-b of the mean scores of these.
    spa: soft pairwise accuracy over `spa_pairs` pairs of systems.
    """

    first: int
    second: int
    outputs: int
    difference: float | None
    pearson: float | None
    systems: int
    kendall: float | None
    spa: float | None
    spa_pairs: int


def merge_small_rater_groups(sizes: Sequence[int], smallest: int = SMALLEST_GROUP) -> list[list[int]]:
    """Return which groups to merge so that each has `smallest` members or more: indices of `sizes`, by group.

    The smallest group joins the next smallest, the earlier one of equal ones, until all are large enough or one is
    left. Therefore no small group can be computed as a difference from the whole. Groups without members are left out.

    >>> merge_small_rater_groups([5, 1, 4, 2])
    [[0], [1, 3], [2]]
    >>> merge_small_rater_groups([6, 1, 4])
    [[0], [1, 2]]
    """
    folded = [[n] for n, size in enumerate(sizes) if size]

    def members(group: list[int]) -> tuple[int, int]:
        return sum(sizes[n] for n in group), group[0]

    while len(folded) > 1 and members(min(folded, key=members))[0] < smallest:
        first, second, *rest = sorted(folded, key=members)
        folded = [sorted(first + second), *rest]
    return sorted(folded)


def compute_rater_group_statistics(rows: Ratings, group: Indices, n_groups: int) -> list[RaterGroupStatistics]:
    """Compute the figures of each group.

    Parameters
    ----------
    rows : ratings of segments.
    group : 0 … n_groups−1, of each rater code; −1 for raters without a group; shape (raters,).
    """
    means = _MeansByGroup.of(rows, group, n_groups)
    return [_figures(rows, group[rows.rater] == n, means, n) for n in range(n_groups)]


def compute_rater_group_pair_statistics(
    rows: Ratings, group: Indices, n_groups: int, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> list[RaterGroupPairStatistics]:
    """Compute the figures of every pair of groups; parameters as in `compute_rater_group_statistics`.

    Signs are flipped by document, with the same signs for all groups. Source of SPA: Thompson et al. 2024, §3.
    """
    means = _MeansByGroup.of(rows, group, n_groups)
    tests = [means.test_systems(rows, n, permutations, seed) for n in range(n_groups)]
    systems = [_system_means(rows, group[rows.rater] == n) for n in range(n_groups)]
    pairs = []
    for i, j in combinations(range(n_groups), 2):
        shared = (means.n[i] > 0) & (means.n[j] > 0)
        x, y = means.mean[i][shared], means.mean[j][shared]
        both = np.isfinite(systems[i]) & np.isfinite(systems[j])
        known = np.isfinite(tests[i].p) & np.isfinite(tests[j].p)
        pairs.append(
            RaterGroupPairStatistics(
                first=i,
                second=j,
                outputs=int(shared.sum()),
                difference=float((x - y).mean()) if x.size else None,
                pearson=number_or_none(pearson(x, y)),
                systems=int(both.sum()),
                kendall=number_or_none(kendall_tau(systems[i][both], systems[j][both])),
                spa=number_or_none(soft_pairwise_accuracy(tests[i].p[known], tests[j].p[known])),
                spa_pairs=int(known.sum()),
            )
        )
    return pairs


@dataclass(frozen=True, slots=True)
class _MeansByGroup:
    """Rated outputs and their mean score in each group.

    system, segment: of each output, shape (O,). mean, n: over the raters of a group, 0 without any, shape (groups, O).
    """

    system: Indices
    segment: Indices
    mean: Floats
    n: Indices

    @classmethod
    def of(cls, rows: Ratings, group: Indices, n_groups: int) -> _MeansByGroup:
        """Compute means over raters; several ratings of one output by one rater count as their mean."""
        keep = group[rows.rater] >= 0
        system, segment, rater = (codes[keep].astype(np.intp) for codes in (rows.system, rows.segment, rows.rater))
        output, inverse = np.unique(np.stack((system, segment)), axis=1, return_inverse=True)
        by_rater, place = np.unique(np.stack((inverse.ravel(), rater)), axis=1, return_inverse=True)
        place = place.ravel()
        own = np.bincount(place, rows.score[keep]) / np.maximum(np.bincount(place), 1)
        n_outputs = output.shape[1]
        at = group[by_rater[1]] * n_outputs + by_rater[0]
        n = np.bincount(at, minlength=n_groups * n_outputs).reshape(n_groups, n_outputs)
        sums = np.bincount(at, own, minlength=n_groups * n_outputs).reshape(n_groups, n_outputs)
        return cls(output[0], output[1], sums / np.maximum(n, 1), n)

    def test_systems(self, rows: Ratings, group: int, permutations: int, seed: int) -> SystemPairPValues:
        """Return the one-sided p of every pair of systems on the segments for which the group rated both."""
        shape = (rows.n_systems, len(rows.labels.segment_document))
        score, present = np.zeros(shape), np.zeros(shape, dtype=np.bool_)
        rated = self.n[group] > 0
        at = (self.system[rated], self.segment[rated])
        score[at], present[at] = self.mean[group][rated] * rows.better_sign, True
        unit = rows.labels.segment_document.astype(np.intp)
        return compute_system_pair_p_values(score, present, unit, permutations=permutations, seed=seed)


def _figures(rows: Ratings, here: Bools, means: _MeansByGroup, group: int) -> RaterGroupStatistics:
    score = rows.score[here]
    others = means.n.sum(axis=0) - means.n[group]
    shared = (means.n[group] > 0) & (others > 0)
    rest = (means.mean * means.n).sum(axis=0) - means.mean[group] * means.n[group]
    apart = means.mean[group][shared] - rest[shared] / others[shared]
    return RaterGroupStatistics(
        raters=int(np.unique(rows.rater[here]).size),
        ratings=int(score.size),
        outputs=int((means.n[group] > 0).sum()),
        mean=float(score.mean()) if score.size else float("nan"),
        sd=float(score.std(ddof=1)) if score.size > 1 else None,
        shared=int(shared.sum()),
        severity=float(apart.mean()) if apart.size else None,
        means=tuple(number_or_none(mean) for mean in _hide_few(_system_means(rows, here), rows, here).tolist()),
    )


def _hide_few(means: Floats, rows: Ratings, here: Bools) -> Floats:
    """Hide the means of systems that fewer than `SMALLEST_GROUP` raters scored."""
    scored = np.unique(np.stack((rows.system[here], rows.rater[here])), axis=1)[0]
    return np.where(np.bincount(scored, minlength=rows.n_systems) >= SMALLEST_GROUP, means, np.nan)


def _system_means(rows: Ratings, here: Bools) -> Floats:
    """Return the mean score of each system over some rows; NaN if there are none."""
    n = np.bincount(rows.system[here], minlength=rows.n_systems)
    sums = np.bincount(rows.system[here], rows.score[here], minlength=rows.n_systems)
    return np.where(n > 0, sums / np.maximum(n, 1), np.nan)
