"""Bounds that no answer can keep: beyond the scale of a measure, or against other rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from app.domain.errors import Place
from app.protocols.base import JudgmentMeasure
from app.services.people.answer_rule import AnswerRule
from app.stats.ratings import ScoreScale

NEAR = 1e-9
Interval = tuple[float, float]
ANY: Interval = (-math.inf, math.inf)


def list_impossible_bounds(measures: Sequence[JudgmentMeasure], rules: Sequence[AnswerRule]) -> Iterator[Place]:
    """The rules that nothing can keep, by their number. measures: those of the protocol, the one that ranks first."""
    scales = {one.name: one.scale for one in measures}
    within: dict[tuple[int, str], Interval] = {}
    for n, rule in enumerate(rules):
        if rule.measure is None:
            continue
        fault = _find_scale_fault(rule, scales[rule.measure])
        if fault is not None:
            yield Place((n, fault[0]), fault[1])
            continue
        low, high = within.get((rule.column, rule.measure), ANY)
        low, high = max(low, _least(rule)), min(high, _most(rule))
        if low > high or not _has_value(low, high, scales[rule.measure]):
            yield Place((n, "most" if high == rule.most else "least"), "contradicts another rule for this column")
            continue
        within[rule.column, rule.measure] = low, high
    yield from _list_order_faults(measures[0], rules, within)


def _least(rule: AnswerRule) -> float:
    return -math.inf if rule.least is None else rule.least


def _most(rule: AnswerRule) -> float:
    return math.inf if rule.most is None else rule.most


def _find_scale_fault(rule: AnswerRule, scale: ScoreScale | None) -> tuple[str, str] | None:
    """The field that no value of the scale can keep, and why."""
    if scale is None:
        return None
    if _least(rule) > scale.maximum:
        return "least", f"{rule.measure} is at most {scale.maximum:g}"
    if _most(rule) < scale.minimum:
        return "most", f"{rule.measure} is at least {scale.minimum:g}"
    if not _has_value(_least(rule), _most(rule), scale):
        return "least", f"{rule.measure} has no value within these bounds: it goes in steps of {scale.step:g}"
    return None


def _has_value(low: float, high: float, scale: ScoreScale | None) -> bool:
    """Whether a step of the scale lies within bounds; without steps, any bounds have a value."""
    if scale is None or scale.step is None:
        return True
    lowest = math.ceil((max(low, scale.minimum) - scale.minimum) / scale.step - NEAR)
    highest = math.floor((min(high, scale.maximum) - scale.minimum) / scale.step + NEAR)
    return lowest <= highest


def _list_order_faults(
    ranking: JudgmentMeasure, rules: Sequence[AnswerRule], within: dict[tuple[int, str], Interval]
) -> Iterator[Place]:
    """Columns that would have to be above themselves, or above what is the best already."""
    below: dict[int, set[int]] = {}
    for n, rule in enumerate(rules):
        if rule.above is None:
            continue
        best = _bounds(ranking, within.get((rule.column, ranking.name), ANY))[1]
        worst = _bounds(ranking, within.get((rule.above, ranking.name), ANY))[0]
        if rule.column in {rule.above, *_reach(below, rule.above)}:
            yield Place((n, "above"), "contradicts another rule about these columns")
        elif best <= worst:
            yield Place((n, "above"), "contradicts the bounds of these columns")
        else:
            below.setdefault(rule.column, set()).add(rule.above)


def _bounds(ranking: JudgmentMeasure, within: Interval) -> Interval:
    """Bounds from bad to good."""
    low, high = within
    if ranking.scale is not None:
        low, high = max(low, ranking.scale.minimum), min(high, ranking.scale.maximum)
    return (low, high) if ranking.higher_is_better else (-high, -low)


def _reach(below: dict[int, set[int]], start: int) -> set[int]:
    """The columns that are below one, at any number of steps."""
    reached: set[int] = set()
    waiting = [start]
    while waiting:
        new = below.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached
