"""When a campaign will end, from when tasks were handed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from app.stats.ratings import Floats

DRAWS, FEWEST_DRAWS = 1000, 50
MOST_CELLS, CHUNK = 2_000_000, 500_000
"""Gaps drawn in all, by fewer draws where there are many tasks, and at a time."""
INSTANT = 1e-6
"""A mean gap that counts as none, where many tasks were handed in at the same moment."""
MIN_GAPS = 5
"""Gaps of a rater below which the gaps of all raters are drawn for them."""


@dataclass(frozen=True, slots=True)
class RaterHandInHistory:
    """One rater: when tasks were handed in (seconds, any origin, sorted), when work began, and tasks still theirs."""

    handed_in: Floats
    began: float
    remaining: int

    @classmethod
    def from_times(cls, handed_in: Sequence[float], began: float | None, remaining: int) -> Self:
        """From times in any order. began: None where unknown; then work began with the first task handed in."""
        times = np.sort(np.array(handed_in, dtype=np.float64))
        first = float(times[0]) if times.size else 0.0
        return cls(times, first if began is None else began, remaining)


@dataclass(frozen=True, slots=True)
class CampaignEndForecast:
    """Forecast of the end in the unit and origin of the input: median, and an interval of `level`.

    None where nothing was handed in yet.
    """

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
    """When the last task will be handed in if raters go on as before: gaps between hand-ins are drawn anew.

    Gaps hold nights and week-ends, so no working hours are assumed; the gap still open counts as one where it is longer
    than the rater's usual. Gaps above the 95th percentile of a rater's own count as that, so that one holiday does not
    speak for all weeks. Tasks of a pool go to whoever is free first.

    Parameters
    ----------
    shared : tasks of no rater yet. now : in the same unit as the hand-ins. rng : a generator, or the seed of one.
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
    """Tasks of the pool that each rater hardly exceeds, by their rates; more are drawn where somebody does."""
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
    """Ends of some simulated campaigns, shape (draws,). taken: tasks of the pool drawn for each rater at first."""
    ends = np.full(draws, now)
    arrivals = []
    for workload, drawn, more in zip(raters, gaps, taken, strict=True):
        walked = now + np.cumsum(rng.choice(drawn, size=(draws, workload.remaining + more)), axis=1)
        if workload.remaining:
            ends = np.maximum(ends, walked[:, workload.remaining - 1])
        arrivals.append(walked[:, workload.remaining :])
    return np.maximum(ends, _pool_ends(arrivals, gaps, shared, rng)) if shared else ends


def _pool_ends(arrivals: list[Floats], gaps: Sequence[Floats], shared: int, rng: np.random.Generator) -> Floats:
    """When the last task of the pool is done, shape (draws,): tasks go to whoever is free first.

    arrivals: when each rater would be done with one more, shape (draws, as many as were drawn). Whoever might do more
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


def tasks_per_time_unit(workload: RaterHandInHistory, now: float) -> float | None:
    """Tasks a unit of time, from the mean of the same capped gaps; None where nothing was handed in."""
    gaps = _gaps(workload, now)
    return float(1 / gaps.mean()) if gaps.size and gaps.mean() > 0 else None
