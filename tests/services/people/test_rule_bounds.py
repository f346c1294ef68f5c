"""Rules that no answers can keep together are named; those that some answers keep are not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import pytest

from app.protocols.base import JudgmentMeasure
from app.services.people.expected_answer_rule import ExpectedAnswerRule
from app.services.people.rule_bounds import list_unsatisfiable_rules
from app.stats.ratings import ScoreScale

STEPS = JudgmentMeasure("score", higher_is_better=True, scale=ScoreScale(1.0, 5.0, 1.0))
PENALTY = JudgmentMeasure("score", higher_is_better=False, scale=ScoreScale(0.0, 4.0, 1.0))
SMOOTH = JudgmentMeasure("score", higher_is_better=True, scale=ScoreScale(0.0, 100.0))
FREE = JudgmentMeasure("score", higher_is_better=False)


def above(column: int, other: int) -> ExpectedAnswerRule:
    return ExpectedAnswerRule(column=column, above=other)


def bound(column: int, least: float | None = None, most: float | None = None) -> ExpectedAnswerRule:
    return ExpectedAnswerRule(column=column, measure="score", least=least, most=most)


def faults(measure: JudgmentMeasure, *rules: ExpectedAnswerRule) -> list[tuple[str | int, ...]]:
    return [place.loc for place in list_unsatisfiable_rules([measure], rules)]


@pytest.mark.parametrize("measure", [STEPS, PENALTY, SMOOTH, FREE])
def test_a_circle_is_refused_at_the_rule_that_closes_it(measure):
    assert faults(measure, above(1, 2), above(2, 3), above(3, 1)) == [(2, "above")]
    assert faults(measure, above(1, 2), above(2, 3), above(1, 3), above(1, 2)) == []


def test_bounds_hold_over_a_chain():
    chain = [above(1, 2), above(2, 3)]
    assert faults(SMOOTH, bound(1, most=50), bound(3, least=50), *chain) == [(3, "above")]
    assert faults(SMOOTH, bound(1, most=50), bound(3, least=49), *chain) == []
    assert faults(STEPS, bound(1, most=4), bound(3, least=3), *chain) == [(3, "above")]
    assert faults(STEPS, bound(1, most=5), bound(3, least=3), *chain) == []
    assert faults(PENALTY, bound(1, least=1), bound(3, most=2), *chain) == [(3, "above")]
    assert faults(FREE, bound(1, least=1), bound(3, most=1), *chain) == [(3, "above")]


def test_a_scale_has_no_more_places_than_steps():
    assert faults(STEPS, *[above(n, n + 1) for n in range(1, 5)]) == []
    assert faults(STEPS, *[above(n, n + 1) for n in range(1, 6)]) == [(4, "above")]


@pytest.mark.parametrize(
    ("measure", "values"),
    [
        (STEPS, [1, 2, 3, 4, 5]),
        (PENALTY, [0, 1, 2, 3, 4]),
        # Bounds are multiples of 25: four values between two of them and at each are as good as all.
        (SMOOTH, [25 * n + part for n in range(4) for part in (0, 5, 10, 15, 20)] + [100]),
    ],
)
def test_rules_are_refused_exactly_where_no_answers_keep_them(measure, values):
    rng = random.Random(20)
    refused = 0
    for _ in range(120):
        rules = _draw_rules(rng, [value for value in values if measure is not SMOOTH or value % 25 == 0])
        wrong = bool(faults(measure, *rules))
        refused += wrong
        assert wrong != _some_answers_keep(measure, rules, values), rules
    assert 20 < refused < 100


def _draw_rules(rng: random.Random, values: Sequence[float]) -> list[ExpectedAnswerRule]:
    rules = []
    for _ in range(rng.randint(2, 5)):
        first, second = rng.sample([1, 2, 3], 2)
        if rng.random() < 0.5:
            rules.append(above(first, second))
        else:
            low, high = sorted(rng.sample(values, 2))
            rules.append(rng.choice([bound(first, least=low), bound(first, most=high), bound(first, low, high)]))
    return rules


def _some_answers_keep(measure: JudgmentMeasure, rules: Sequence[ExpectedAnswerRule], values: Sequence[float]) -> bool:
    sign = 1 if measure.higher_is_better else -1

    def keeps(scores: tuple[float, ...]) -> bool:
        return all(
            sign * scores[rule.column - 1] > sign * scores[rule.above - 1]
            if rule.above is not None
            else (rule.least is None or rule.least <= scores[rule.column - 1])
            and (rule.most is None or scores[rule.column - 1] <= rule.most)
            for rule in rules
        )

    return any(keeps(scores) for scores in product(values, repeat=3))
