"""Learning and fatigue: how the time per word changes over a rater's work, and within a task.

The measure is specific to this program: the slope of log time on position (docs/reports/arms.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.intervals import t_quantile
from app.stats.plain_values import Interval, interval_or_none
from app.stats.rating_metadata import Micros
from app.stats.ratings import Codes, Floats

HUNDRED = 100.0
FEWEST = 5
"""Fewest judgments of a rater in a condition for which a slope is fitted."""


@dataclass(frozen=True, slots=True)
class JudgmentPaces:
    """Timed segment judgments of all conditions, in any order.

    rater, task, condition: codes. at: time of submission. pace: log seconds per word. All have shape (n,).
    """

    rater: Codes
    task: Codes
    condition: Codes
    at: Micros
    pace: Floats


@dataclass(frozen=True, slots=True)
class PaceSlope:
    """Change of log seconds per word over a hundred judgments, averaged over raters; negative means faster.

    interval: Student's t over raters, None below two raters. raters: number of raters with a slope.
    """

    mean: float
    interval: Interval | None
    raters: int


def estimate_learning_slope(judgments: JudgmentPaces, condition: int, *, level: float = 0.95) -> PaceSlope | None:
    """Slope over all of a rater's work; positions count earlier judgments of all conditions. None without a slope."""
    return _mean([_slope(x, y) for x, y in _paces_by_rater(judgments, condition)], level)


def estimate_fatigue_slope(judgments: JudgmentPaces, condition: int, *, level: float = 0.95) -> PaceSlope | None:
    """Slope over the judgments of a task, with a separate level for each task; None if no rater has a slope.

    condition : code of `judgments.condition`. level : confidence level of the interval over raters.
    """
    order = np.lexsort((judgments.at, judgments.task, judgments.rater))
    place = np.empty(order.size)
    place[order] = _ranks(judgments.rater[order], judgments.task[order]) / HUNDRED
    slopes = []
    for rater in np.unique(judgments.rater[judgments.condition == condition]).tolist():
        mine = (judgments.rater == rater) & (judgments.condition == condition)
        code = np.unique(judgments.task[mine], return_inverse=True)[1]
        slopes.append(_slope(_deviations(place[mine], code), _deviations(judgments.pace[mine], code)))
    return _mean(slopes, level)


def _paces_by_rater(judgments: JudgmentPaces, condition: int) -> list[tuple[Floats, Floats]]:
    """Rank (in hundreds, among all the rater's judgments) and pace of each rater's judgments in the condition."""
    order = np.lexsort((judgments.at, judgments.rater))
    rater, there = judgments.rater[order], judgments.condition[order] == condition
    place = _ranks(rater, np.zeros_like(rater)) / HUNDRED
    pace = judgments.pace[order]
    bounds = np.searchsorted(rater, np.arange(int(rater.max(initial=-1)) + 2))
    parts = [slice(a, b) for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True) if b > a]
    return [(place[part][there[part]], pace[part][there[part]]) for part in parts if there[part].any()]


def _ranks(*sorted_by: Codes) -> Floats:
    """0, 1, 2 … within each run of equal codes."""
    n = sorted_by[0].size
    new = np.ones(n, dtype=np.bool_)
    if n:
        new[1:] = np.logical_or.reduce([codes[1:] != codes[:-1] for codes in sorted_by])
    starts = np.flatnonzero(new)
    return np.asarray(np.arange(n) - np.repeat(starts, np.diff(np.append(starts, n))), dtype=np.float64)


def _deviations(values: Floats, code: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    mean = np.bincount(code, weights=values) / np.bincount(code)
    centred: Floats = values - mean[code]
    return centred


def _slope(x: Floats, y: Floats) -> float | None:
    if x.size < FEWEST:
        return None
    off = x - x.mean()
    spread = float(off @ off)
    return float(off @ (y - y.mean())) / spread if spread > 1e-12 else None


def _mean(slopes: list[float | None], level: float) -> PaceSlope | None:
    known = np.array([slope for slope in slopes if slope is not None])
    if not known.size:
        return None
    mean = float(known.mean())
    if known.size < 2:
        return PaceSlope(mean, None, known.size)
    reach = float(t_quantile((1 + level) / 2, np.array([known.size - 1]))[0]) * float(known.std(ddof=1))
    reach /= known.size**0.5
    return PaceSlope(mean, interval_or_none(mean - reach, mean + reach), known.size)
