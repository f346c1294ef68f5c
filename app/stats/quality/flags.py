"""What a person should look at: evidence beyond the limits, in words. A flag decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from app.stats.adjust import bh
from app.stats.quality.drift import CHANCE, Drift
from app.stats.quality.panel import Against
from app.stats.quality.repeats import Repeats
from app.stats.quality.runs import Habits
from app.stats.quality.speed import Speed

Check = Literal["controls", "habits", "speed", "panel", "repeats", "drift"]
CHECKS: tuple[Check, ...] = get_args(Check)
"""What a rater can be looked at by; the first is a test with a verdict, the others have limits."""
Flag = tuple[Check, str]
Told = Iterator[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Limits:
    """From where evidence is flagged; a flag is for a person to look at and decides nothing.

    run_p: chance of the longest run, BH over the raters. drift_chance: of a CUSUM or slope as large without drift.
    fast: seconds a word as a share of the panel's median, with at least `min_timed` timed judgments. round: share of
    round scores. correlation: with the panel, below. offset: in robust SDs of the panel's offsets, with at least
    `min_raters` raters. repeats: share within tolerance, below, with at least `min_repeats`. min_judgments: below it
    habits are not judged.
    """

    run_p: float = 0.001
    fast: float = 1 / 3
    min_timed: int = 20
    round: float = 0.95
    correlation: float = 0.1
    offset: float = 3.0
    min_raters: int = 5
    repeats: float = 0.5
    min_repeats: int = 5
    min_judgments: int = 20
    drift_chance: float = CHANCE


def flagged(
    limits: Limits,
    ways: dict[int, Habits],
    speeds: dict[int, Speed],
    panel: dict[int, Against],
    again: dict[int, Repeats],
    drifts: dict[int, Drift],
) -> dict[int, tuple[Flag, ...]]:
    """The flags of each rater (by code) who has habits: by which check, and what is to be seen."""
    found: dict[int, list[Flag]] = {r: [] for r in ways}
    told: dict[Check, Told] = {
        "habits": _of_habits(limits, ways),
        "speed": _of_speed(limits, speeds),
        "panel": _of_panel(limits, panel),
        "repeats": _of_repeats(limits, again),
        "drift": _of_drift(limits, drifts),
    }
    for check, part in told.items():
        for rater, text in part:
            found[rater].append((check, text))
    return {rater: tuple(flags) for rater, flags in found.items()}


def _of_habits(limits: Limits, ways: dict[int, Habits]) -> Told:
    judged = {r: way for r, way in ways.items() if way.n >= limits.min_judgments}
    q_values = bh(np.array([way.run_p for way in judged.values()])).tolist()
    for (r, way), q in zip(judged.items(), q_values, strict=True):
        if way.distinct == 1:
            yield r, "one score throughout"
        elif q < limits.run_p:
            yield r, f"{way.longest_run} equal scores in a row, {way.expected_run:.1f} expected"
        if way.round_share is not None and way.round_share > limits.round:
            yield r, f"{way.round_share:.0%} of scores are multiples of 10"


def _of_speed(limits: Limits, speeds: dict[int, Speed]) -> Told:
    for r, pace in speeds.items():
        if pace.n >= limits.min_timed and pace.ratio is not None and pace.ratio < limits.fast:
            yield r, f"{pace.ratio:.0%} of the usual time"


def _of_panel(limits: Limits, panel: dict[int, Against]) -> Told:
    for r, one in panel.items():
        if one.correlation is not None and one.correlation < limits.correlation:
            yield r, f"rank correlation with the others {one.correlation:.2f}"
    for r, size in _outlying(panel, limits).items():
        yield r, f"{'lenient' if panel[r].lenient > 0 else 'severe'}: {size:.1f} SDs from the others"


def _of_repeats(limits: Limits, again: dict[int, Repeats]) -> Told:
    for r, pairs in again.items():
        if pairs.n >= limits.min_repeats and pairs.within < limits.repeats:
            yield r, f"{pairs.within:.0%} of repeats within {pairs.tolerance:g}"


def _of_drift(limits: Limits, drifts: dict[int, Drift]) -> Told:
    for r, moved in drifts.items():
        if moved.either < limits.drift_chance:
            way = "lenient" if moved.way > 0 else "severe"
            yield r, f"more {way} in the course of {moved.n} documents, chance {moved.either:.2g}"


def _outlying(panel: dict[int, Against], limits: Limits) -> dict[int, float]:
    """Raters whose offset lies far out, in robust SDs (1.4826 × the median distance from the median)."""
    if len(panel) < limits.min_raters:
        return {}
    offsets = np.array([one.lenient for one in panel.values()])
    distance = np.abs(offsets - np.median(offsets))
    usual = 1.4826 * float(np.median(distance))
    sizes = dict(zip(panel, (distance / usual).tolist() if usual > 0 else [0.0] * len(panel), strict=True))
    return {r: size for r, size in sizes.items() if size > limits.offset}
