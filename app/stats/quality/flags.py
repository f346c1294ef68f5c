"""Evidence beyond the limits, in words, for a person to look at. A flag decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.stats.quality.alike_raters import RaterPairSimilarity
from app.stats.quality.change_within_tasks import WithinTaskChange
from app.stats.quality.drift import SeverityDrift
from app.stats.quality.habits import ScoringHabits
from app.stats.quality.panel import RaterPanelComparison
from app.stats.quality.quality_criteria import Check, FlagThresholds
from app.stats.quality.repeats import RepeatConsistency
from app.stats.quality.speed import RaterPace
from app.stats.testing.adjust import benjamini_hochberg

Flag = tuple[Check, str]
FlagTexts = Iterator[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class FlagEvidenceByRater:
    """The evidence that is checked for flags, by rater code."""

    habits: dict[int, ScoringHabits]
    speeds: dict[int, RaterPace]
    panel: dict[int, RaterPanelComparison]
    again: dict[int, RepeatConsistency]
    drifts: dict[int, SeverityDrift]
    within: dict[int, WithinTaskChange]
    pairs: tuple[RaterPairSimilarity, ...]


def flag_raters(
    limits: FlagThresholds, evidence: FlagEvidenceByRater, rater_keys: tuple[str, ...]
) -> dict[int, tuple[Flag, ...]]:
    """Return the flags of each rater (by code) with habits: the check, and what it shows. rater_keys: by code."""
    flags: dict[int, list[Flag]] = {r: [] for r in evidence.habits}
    by_check: dict[Check, FlagTexts] = {
        "habits": _habit_flags(limits, evidence.habits),
        "speed": _speed_flags(limits, evidence.speeds),
        "panel": _panel_flags(limits, evidence.panel),
        "repeats": _repeat_flags(limits, evidence.again),
        "drift": _drift_flags(limits, evidence.drifts),
        "within_tasks": _within_task_flags(limits, evidence.within),
        "alike": _alike_pair_flags(limits, evidence.pairs, rater_keys),
    }
    for check, part in by_check.items():
        for rater, text in part:
            flags[rater].append((check, text))
    return {rater: tuple(told) for rater, told in flags.items()}


def _is_rare(limits: FlagThresholds, q: float | None) -> bool:
    return q is not None and q < limits.chance


def _habit_flags(limits: FlagThresholds, ways: dict[int, ScoringHabits]) -> FlagTexts:
    judged = {r: way for r, way in ways.items() if way.n >= limits.min_judgments}
    q_values = benjamini_hochberg(np.array([way.run_p for way in judged.values()])).tolist()
    for (r, way), q in zip(judged.items(), q_values, strict=True):
        if way.distinct == 1:
            if way.constant_p is None or way.constant_p < limits.chance:
                yield r, "one score throughout"
        elif q < limits.run_p and _is_rare(limits, way.run_q):
            yield r, f"{way.longest_run} equal scores in a row, {way.expected_run:.1f} expected"
        if way.round_share is not None and way.round_share > limits.round and _is_rare(limits, way.round_q):
            yield r, f"{way.round_share:.0%} of scores are multiples of 10"


def _speed_flags(limits: FlagThresholds, speeds: dict[int, RaterPace]) -> FlagTexts:
    for r, pace in speeds.items():
        enough = pace.n >= limits.min_timed and pace.ratio is not None and pace.ratio < limits.fast
        if enough and _is_rare(limits, pace.q_value):
            yield r, f"{pace.ratio:.0%} of the usual time"


def _panel_flags(limits: FlagThresholds, panel: dict[int, RaterPanelComparison]) -> FlagTexts:
    known = [one.correlation for one in panel.values() if one.correlation is not None]
    usual = float(np.median(known)) if known else 0.0
    for r, comparison in panel.items():
        rank = comparison.correlation
        if rank is not None and rank < limits.correlation * usual and _is_rare(limits, comparison.correlation_q):
            yield r, f"rank correlation with the others {rank:.2f}, where {usual:.2f} is usual"
        if comparison.sds is not None and comparison.sds > limits.offset and _is_rare(limits, comparison.offset_q):
            yield r, f"{'lenient' if comparison.lenient > 0 else 'severe'}: {comparison.sds:.1f} SDs from the others"


def _repeat_flags(limits: FlagThresholds, by_rater: dict[int, RepeatConsistency]) -> FlagTexts:
    for r, pairs in by_rater.items():
        if pairs.usual is not None and pairs.n >= limits.min_repeats and _is_rare(limits, pairs.q_value):
            yield r, f"repeats differ by {pairs.mean_difference:.3g} on average, where {pairs.usual:.3g} is usual"


def _drift_flags(limits: FlagThresholds, drifts: dict[int, SeverityDrift]) -> FlagTexts:
    for r, moved in drifts.items():
        if moved.either < limits.drift_chance:
            way = "lenient" if moved.direction > 0 else "severe"
            yield r, f"more {way} over the course of {moved.n} documents, p {max(moved.either, 1e-12):.2g}"


def _within_task_flags(limits: FlagThresholds, within: dict[int, WithinTaskChange]) -> FlagTexts:
    for r, effect in within.items():
        if _is_rare(limits, effect.q_value):
            times = effect.late / max(effect.early, 1e-9)
            yield (
                r,
                f"after {effect.cut:.0%} of a task scores are {times:.1f} times as far from the usual ones as before",
            )


def _alike_pair_flags(
    limits: FlagThresholds, pairs: tuple[RaterPairSimilarity, ...], names: tuple[str, ...]
) -> FlagTexts:
    for pair in pairs:
        if _is_rare(limits, pair.q_value):
            for own, other in ((pair.first, pair.second), (pair.second, pair.first)):
                yield own, f"answers like those of {names[other]}: {pair.equal:.0%} of {pair.n} equal"
