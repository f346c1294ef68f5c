"""Rules that no answer can follow, because of the scale of a measure or because of other rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from app.domain.errors import Place
from app.protocols.base import JudgmentMeasure
from app.services.people.expected_answer_rule import ExpectedAnswerRule
from app.stats.ratings import ScoreScale

NEAR = 1e-9
Interval = tuple[float, float]
ANY: Interval = (-math.inf, math.inf)


def list_unsatisfiable_rules(
    measures: Sequence[JudgmentMeasure], rules: Sequence[ExpectedAnswerRule]
) -> Iterator[Place]:
    """Yield the rules that no answer can follow, by number.

    measures: those of the protocol, with the ranking one first.
    """
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


def _least(rule: ExpectedAnswerRule) -> float:
    return -math.inf if rule.least is None else rule.least


def _most(rule: ExpectedAnswerRule) -> float:
    return math.inf if rule.most is None else rule.most


def _find_scale_fault(rule: ExpectedAnswerRule, scale: ScoreScale | None) -> tuple[str, str] | None:
    """Return the field that no value of the scale satisfies, and why."""
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
    """Return whether a step of the scale lies within the bounds; without steps, any bounds contain a value."""
    if scale is None or scale.step is None:
        return True
    lowest = math.ceil((max(low, scale.minimum) - scale.minimum) / scale.step - NEAR)
    highest = math.floor((min(high, scale.maximum) - scale.minimum) / scale.step + NEAR)
    return lowest <= highest


def _list_order_faults(
    ranking: JudgmentMeasure, rules: Sequence[ExpectedAnswerRule], within: dict[tuple[int, str], Interval]
) -> Iterator[Place]:
    """Yield columns that would have to be above themselves, or above others that leave no value for them.

    The check covers chains of any length: a column with a bound may be above others that have bounds of their own.
    """
    step = ranking.scale.step if ranking.scale is not None else None
    columns = {column for rule in rules for column in (rule.column, rule.above) if column is not None}
    own = {column: _bounds(ranking, within.get((column, ranking.name), ANY)) for column in columns}
    below: dict[int, set[int]] = {}
    for n, rule in enumerate(rules):
        if rule.above is None or rule.above in below.get(rule.column, ()):
            continue
        if rule.column in {rule.above, *_reach(below, rule.above)}:
            yield Place((n, "above"), "contradicts another rule about these columns")
            continue
        below.setdefault(rule.column, set()).add(rule.above)
        if not _leaves_values(own, below, step=step is not None):
            yield Place((n, "above"), "contradicts the bounds of these columns and of those above or below them")
            below[rule.column].remove(rule.above)


def _bounds(ranking: JudgmentMeasure, within: Interval) -> Interval:
    """Return bounds from bad to good, counted in the scale's steps if it has any.

    Being above means at least one step.
    """
    low, high = within
    scale = ranking.scale
    if scale is not None:
        low, high = max(low, scale.minimum), min(high, scale.maximum)
        if scale.step is not None:
            low = math.ceil((low - scale.minimum) / scale.step - NEAR)
            high = math.floor((high - scale.minimum) / scale.step + NEAR)
    return (low, high) if ranking.higher_is_better else (-high, -low)


def _leaves_values(own: dict[int, Interval], below: dict[int, set[int]], *, step: bool) -> bool:
    """Return whether each column can be above all that it must be above. step: whether values are whole numbers.

    own: bounds of each column by its own rules. below: the columns directly below each column, without cycles.
    """
    least: dict[int, tuple[float, bool]] = {}  # a value, and whether the column must be strictly above it

    def find_least(column: int) -> tuple[float, bool]:
        if column not in least:
            low, beyond = own[column][0], False
            for other in below.get(column, ()):
                reached = find_least(other)[0] + step
                if reached > low or (reached == low and not step):
                    low, beyond = reached, not step
            least[column] = low, beyond
        return least[column]

    return all(
        low < own[column][1] or (low == own[column][1] and not beyond)
        for column, (low, beyond) in ((column, find_least(column)) for column in own)
    )


def _reach(below: dict[int, set[int]], start: int) -> set[int]:
    """Return the columns below one, over any number of steps."""
    reached: set[int] = set()
    waiting = [start]
    while waiting:
        new = below.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached
