"""What is usual on a panel, and how far a rater's habits, pace, level and order of scores differ from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.stats.quality.habits import ScoringHabits
from app.stats.quality.levels import RaterLevelsAndResiduals
from app.stats.quality.outliers import MIN_RATERS, NORMAL, TINY, compute_outlier_p_values
from app.stats.quality.panel import MIN_ITEMS, RaterItemMeans, RaterPanelComparison, compute_spearman_correlation
from app.stats.quality.speed import RaterPace
from app.stats.ratings import Bools, Floats, Ratings
from app.stats.testing.adjust import benjamini_hochberg

RUN_SPREAD = 0.35
ROUND_SPREAD = 0.5
PACE_SPREAD = 0.35
RANK_SPREAD = 0.15
"""Smallest SDs of raters.

Of the log of a run over its expectation, of the logit of a share, of log pace, and of a correlation by Fisher's
transformation. Paces of WMT's raters have .3 to .5.
"""
SAME = 1e-9
Ints = np.ndarray[tuple[int], np.dtype[np.integer]]
Orders = dict[int, np.ndarray[tuple[int], np.dtype[np.intp]]]


def add_habit_q_values(
    habits: dict[int, ScoringHabits], rows: Ratings, order: Orders, least: int
) -> dict[int, ScoringHabits]:
    """Add the chances of habits among the raters with at least `least` judgments."""
    judged = {r: way for r, way in habits.items() if way.n >= least and way.distinct > 1}
    runs = {r: float(np.log(way.longest_run / way.expected_run)) for r, way in judged.items()}
    round_share = {r: _logit(way.round_share, way.n) for r, way in judged.items() if way.round_share is not None}
    run_q, round_q = _q_values(runs, floor=RUN_SPREAD), _q_values(round_share, floor=ROUND_SPREAD)
    by_rater = {}
    for r, way in habits.items():
        constant = _constant(rows, order, r) if way.distinct == 1 and len(habits) > 1 else None
        by_rater[r] = replace(way, run_q=run_q.get(r), round_q=round_q.get(r), constant_p=constant)
    return by_rater


def add_pace_q_values(speeds: dict[int, RaterPace], least: int) -> dict[int, RaterPace]:
    """Add the chances of paces among the raters with at least `least` timed judgments, even if there are few raters."""
    logs = {r: -float(np.log(one.ratio)) for r, one in speeds.items() if one.n >= least and one.ratio}
    q_values = _q_values(logs, floor=PACE_SPREAD, few=True)
    return {r: replace(one, q_value=q_values.get(r)) for r, one in speeds.items()}


def add_level_and_correlation_q_values(
    panel: dict[int, RaterPanelComparison], cells: RaterItemMeans, rater_levels: RaterLevelsAndResiduals
) -> dict[int, RaterPanelComparison]:
    """Add the chances of each rater's level and correlation; comparisons do not include untrusted raters."""
    ranks: dict[int, float] = {}
    level: dict[int, float] = {}
    errors: dict[int, float] = {}
    rank_errors: dict[int, float] = {}
    for r in panel:
        mine = (cells.rater == r) & ~np.isnan(rater_levels.residual)
        n = int(mine.sum())
        if n < MIN_ITEMS:
            continue
        level[r], errors[r] = (
            float(rater_levels.of_rater[r]),
            float(rater_levels.residual[mine].std(ddof=1) / np.sqrt(n)),
        )
        rank = compute_spearman_correlation(cells.score[mine], rater_levels.others[mine])
        if np.isfinite(rank):
            ranks[r], rank_errors[r] = -float(np.arctanh(np.clip(rank, -0.99, 0.99))), float(1 / np.sqrt(n - 3))
    floor = float(np.median(list(errors.values()))) if errors else 1.0
    low, high = (
        _q_values({r: way * v for r, v in level.items()}, floor=floor, errors=errors, tests=2) for way in (-1, 1)
    )
    rank_q = _q_values(ranks, floor=RANK_SPREAD, errors=rank_errors)
    sds = dict(zip(level, _sds(np.array(list(level.values())), floor).tolist(), strict=True))
    return {
        r: replace(
            one,
            sds=sds.get(r),
            offset_q=min(low[r], high[r]) if r in low else None,
            correlation_q=rank_q.get(r),
        )
        for r, one in panel.items()
    }


def _sds(values: Floats, floor: float) -> Floats:
    distance = np.abs(values - np.median(values)) if values.size else values
    return np.asarray(distance / max(NORMAL * float(np.median(distance)), floor, TINY)) if values.size else values


def _q_values(
    values: dict[int, float],
    *,
    floor: float,
    errors: dict[int, float] | None = None,
    few: bool = False,
    tests: int = 1,
) -> dict[int, float]:
    if len(values) < (2 if few else MIN_RATERS):
        return {}
    error = None if errors is None else np.array([errors[r] for r in values])
    p_values = compute_outlier_p_values(np.array(list(values.values())), floor=floor, error=error)
    return dict(zip(values, benjamini_hochberg(np.minimum(1.0, tests * p_values)).tolist(), strict=True))


def _logit(share: float, n: int) -> float:
    held = (share * n + 0.5) / (n + 1)
    return float(np.log(held / (1 - held)))


def _constant(rows: Ratings, order: Orders, rater: int) -> float:
    """Chance that this rater gives only one score.

    It is the chance that others give this score to the first judgment of a document, and of their repeating it on the
    next one, because judgments of one document resemble each other.
    """
    value, n = rows.score[order[rater][0]], order[rater].size
    documents = np.unique(rows.document[order[rater]]).size
    given = met = stayed = followed = 0
    for r, at in order.items():
        if r != rater:
            same, inside = np.abs(rows.score[at] - value) < SAME, rows.document[at][1:] == rows.document[at][:-1]
            given, met = given + int(same.sum()), met + at.size
            before = same[:-1] & inside
            stayed, followed = stayed + int((before & same[1:]).sum()), followed + int(before.sum())
    return float(((given + 1) / (met + 2)) ** documents * ((stayed + 1) / (followed + 2)) ** (n - documents))


def compute_relative_deviation_in_group(score: Floats, group: Ints, trusted: Bools) -> Floats:
    """Distance of each score above the mean of its group, relative to the average distance of the group's scores.

    Other scores of the same output are not used, because a rater who stops reading would affect their partners.

    Parameters
    ----------
    group : codes by row. trusted : rows from which mean and distance are computed; a group without such rows uses all
        of its own.

    Returns
    -------
    By row; 0 if the scores of the group do not differ.
    """
    n = int(group.max(initial=0)) + 1
    kept = trusted | (np.bincount(group[trusted], minlength=n) == 0)[group]
    deviation = score - _group_means(score, group, kept, n)[group]
    average = _group_means(np.abs(deviation), group, kept, n)[group]
    return np.asarray(np.where(average > 0, deviation / np.where(average > 0, average, 1.0), 0.0))


def _group_means(value: Floats, code: Ints, kept: Bools, n: int) -> Floats:
    size = np.bincount(code[kept], minlength=n)
    return np.asarray(np.bincount(code[kept], weights=value[kept], minlength=n) / np.maximum(size, 1))
