"""Forecast of the end of a campaign from the times at which tasks were handed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from app.stats.ratings import Floats

DRAWS, FEWEST_DRAWS = 1000, 50
MOST_CELLS, CHUNK = 2_000_000, 500_000
"""Most gaps drawn in all (with many tasks there are fewer draws), and most gaps drawn at a time."""
INSTANT = 1e-6
"""Smallest mean gap, used when many tasks were handed in at the same moment."""
MIN_GAPS = 5
"""For a rater with fewer gaps, the gaps of all raters are drawn."""


@dataclass(frozen=True, slots=True)
class RaterHandInHistory:
    """One rater: times of hand-ins (seconds, any origin, sorted), start of work, and number of tasks still assigned."""

    handed_in: Floats
    began: float
    remaining: int

    @classmethod
    def from_times(cls, handed_in: Sequence[float], began: float | None, remaining: int) -> Self:
        """Build it from times in any order. began: None if unknown; work then began with the first hand-in."""
        times = np.sort(np.array(handed_in, dtype=np.float64))
        first = float(times[0]) if times.size else 0.0
        return cls(times, first if began is None else began, remaining)


@dataclass(frozen=True, slots=True)
class CampaignEndForecast:
    """Forecast of the end in the unit and origin of the input: median, and an interval of `level`."""

    median: float
    low: float
    high: float
    level: float


def forecast_campaign_end(
    raters: Sequence[RaterHandInHistory],
    *,
    shared: int,
    now: float,
    rng: np.random.Generator | Sequence[int],
    level: float = 0.8,
    draws: int = DRAWS,
) -> CampaignEndForecast | None:
    """Forecast when the last task will be handed in if raters go on as before, by resampling gaps between hand-ins.

    Gaps contain nights and weekends, so no working hours are assumed. The gap still open counts as one if it is longer
    than the rater's median gap. A rater's gaps above their own 95th percentile are cut to it, so that one holiday does
    not affect all weeks. Tasks of a pool go to whoever is free first. The forecast is None if nothing was handed in
    yet.

    Parameters
    ----------
    shared : tasks in the pool, not assigned to any rater yet. now : in the unit of the hand-ins. rng : a generator, or
        the seed of one.
    """
    rng = np.random.default_rng(rng)
    own = [_gaps(one, now) for one in raters]
    pooled = np.concatenate(own) if own else np.empty(0)
    if not pooled.size:
        return None
    if not shared and not any(one.remaining for one in raters):
        return CampaignEndForecast(now, now, now, level)
    chosen = [gaps if gaps.size >= MIN_GAPS else pooled for gaps in own]
    taken = _likely_tasks(chosen, shared)
    cells = sum(one.remaining + n for one, n in zip(raters, taken, strict=True))
    draws = max(FEWEST_DRAWS, min(draws, MOST_CELLS // cells))
    step = max(1, CHUNK // cells)
    parts = [
        _simulate_end_times(raters, chosen, taken, shared, now, min(step, draws - n), rng)
        for n in range(0, draws, step)
    ]
    ends = np.concatenate(parts)
    low, median, high = np.percentile(ends, [50 * (1 - level), 50, 50 * (1 + level)])
    return CampaignEndForecast(float(median), float(low), float(high), level)


def _likely_tasks(gaps: Sequence[Floats], shared: int) -> list[int]:
    """Estimate an upper bound on each rater's tasks from the pool, by their rates; more are drawn if it is exceeded."""
    if not shared:
        return [0] * len(gaps)
    rates = 1 / np.maximum([drawn.mean() for drawn in gaps], INSTANT)
    expected = shared * rates / rates.sum()
    return [min(shared, int(n)) for n in np.ceil(expected + 4 * np.sqrt(expected) + 4)]


def _simulate_end_times(
    raters: Sequence[RaterHandInHistory],
    gaps: Sequence[Floats],
    taken: Sequence[int],
    shared: int,
    now: float,
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Simulate the ends of some campaigns, shape (draws,). taken: tasks of the pool first drawn for each rater."""
    ends = np.full(draws, now)
    arrivals = []
    for workload, drawn, more in zip(raters, gaps, taken, strict=True):
        walked = now + np.cumsum(rng.choice(drawn, size=(draws, workload.remaining + more)), axis=1)
        if workload.remaining:
            ends = np.maximum(ends, walked[:, workload.remaining - 1])
        arrivals.append(walked[:, workload.remaining :])
    return np.maximum(ends, _pool_ends(arrivals, gaps, shared, rng)) if shared else ends


def _pool_ends(arrivals: list[Floats], gaps: Sequence[Floats], shared: int, rng: np.random.Generator) -> Floats:
    """Return when the last task of the pool is done, shape (draws,): tasks go to whoever is free first.

    arrivals: when each rater would finish one more task, shape (draws, number drawn). A rater who might do more tasks
    than were drawn gets further draws, so the result is that of `shared` draws for each.
    """
    while True:
        ends = np.partition(np.concatenate(arrivals, axis=1), shared - 1, axis=1)[:, shared - 1]
        short = [n for n, own in enumerate(arrivals) if own.shape[1] < shared and (own[:, -1] < ends).any()]
        if not short:
            return np.asarray(ends)
        for n in short:
            own = arrivals[n]
            more = rng.choice(gaps[n], size=(own.shape[0], min(own.shape[1], shared - own.shape[1])))
            arrivals[n] = np.concatenate([own, own[:, -1:] + np.cumsum(more, axis=1)], axis=1)


def _gaps(workload: RaterHandInHistory, now: float) -> Floats:
    if not workload.handed_in.size:
        return np.empty(0)
    gaps = np.diff(np.concatenate(([workload.began], workload.handed_in)))
    still_open = now - float(workload.handed_in[-1])
    if still_open > float(np.median(gaps)):
        gaps = np.append(gaps, still_open)
    return np.asarray(np.minimum(gaps, np.percentile(gaps, 95)), dtype=np.float64)


def compute_tasks_per_time_unit(workload: RaterHandInHistory, now: float) -> float | None:
    """Return tasks per unit of time from the mean of the same capped gaps; None if nothing was handed in."""
    gaps = _gaps(workload, now)
    return float(1 / gaps.mean()) if gaps.size and gaps.mean() > 0 else None
