"""The largest disagreements, against a loop over all outputs."""

from __future__ import annotations

from itertools import combinations
from random import Random
from statistics import mean

import pytest

from app.stats.disagreements import find_rater_differences_on_outputs, find_system_differences_on_segments
from app.stats.ratings import Ratings


def ratings(rows):
    system, document, position, rater, score = zip(*rows, strict=True)
    return Ratings.from_columns(
        system=list(system),
        document=list(document),
        position=list(position),
        rater=list(rater),
        score=list(score),
        higher_is_better=True,
    )


@pytest.fixture(scope="module")
def rows():
    draw = Random(7)
    return [
        (system, document, position, rater, float(draw.randrange(101)))
        for system in "ABC"
        for document in ("d1", "d2")
        for position in range(1, 6)
        for rater in draw.sample(["r1", "r2", "r3"], draw.randrange(4))
        for _ in range(draw.choice([1, 1, 2]))
    ]


def by_output(rows):
    outputs = {}
    for system, document, position, rater, score in rows:
        outputs.setdefault((document, position), {}).setdefault(system, {}).setdefault(rater, []).append(score)
    return outputs


def test_raters_of_an_output_against_a_loop(rows):
    table = ratings(rows)
    spreads = []
    for systems in by_output(rows).values():
        for raters in systems.values():
            if len(raters) > 1:
                means = [mean(scores) for scores in raters.values()]
                spreads.append(max(abs(a - b) for a, b in combinations(means, 2)))
    worst, compared = find_rater_differences_on_outputs(table, 1000)
    assert [each.spread for each in worst] == pytest.approx(sorted(spreads, reverse=True))
    assert compared == len(spreads)
    assert [each.spread for each in find_rater_differences_on_outputs(table, 3)[0]] == [
        each.spread for each in worst[:3]
    ]


def test_two_systems_against_a_loop(rows):
    table = ratings(rows)
    expected = {}
    for (document, position), systems in by_output(rows).items():
        if {"A", "C"} <= set(systems):
            first, second = (
                mean(score for scores in systems[name].values() for score in scores) for name in ("A", "C")
            )
            expected[document, position] = (first, second)
    worst, compared = find_system_differences_on_segments(table, 0, 2, 1000)
    labels = table.labels
    got = {
        (labels.documents[labels.segment_document[each.segment]], int(labels.segment_position[each.segment])): (
            each.first,
            each.second,
        )
        for each in worst
    }
    assert got == {place: pytest.approx(pair) for place, pair in expected.items()}
    assert compared == len(expected)
    assert [each.spread for each in worst] == sorted((each.spread for each in worst), reverse=True)


def test_nothing_in_common_is_no_disagreement():
    table = ratings([("A", "d1", 1, "r1", 3.0), ("B", "d1", 2, "r1", 4.0)])
    assert find_system_differences_on_segments(table, 0, 1, 10) == ([], 0)
    assert find_rater_differences_on_outputs(table, 10) == ([], 0)
    nothing = table.where(table.score > 10)
    assert find_rater_differences_on_outputs(nothing, 10) == ([], 0)
    assert find_system_differences_on_segments(nothing, 0, 1, 10) == ([], 0)
