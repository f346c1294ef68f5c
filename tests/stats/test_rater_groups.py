"""Groups of raters, against loops over all outputs and raters."""

from __future__ import annotations

from random import Random
from statistics import mean

import numpy as np
import pytest

from app.stats.rater_groups import (
    compute_rater_group_pair_statistics,
    compute_rater_group_statistics,
    merge_small_rater_groups,
)
from app.stats.ratings import Ratings

GROUP = {"r1": 0, "r2": 0, "r3": 0, "r4": 1, "r5": 1, "r6": 1, "r7": -1}


@pytest.fixture(scope="module")
def rows():
    draw = Random(5)
    return [
        (system, document, position, rater, float(draw.randrange(101)) - 9 * GROUP[rater] + 5 * "CBA".index(system))
        for system in "ABC"
        for document in ("d1", "d2", "d3")
        for position in (1, 2)
        for rater in draw.sample(sorted(GROUP), draw.randrange(6))
        for _ in range(draw.choice([1, 1, 2]))
    ]


@pytest.fixture(scope="module")
def ratings(rows):
    system, document, position, rater, score = map(list, zip(*rows, strict=True))
    return Ratings.from_columns(
        system=system, document=document, position=position, rater=rater, score=score, higher_is_better=True
    )


def group_codes(ratings):
    return np.array([GROUP[rater] for rater in ratings.labels.raters])


def by_output(rows, group):
    """Mean of each rater of a group on each output."""
    scores = {}
    for system, document, position, rater, score in rows:
        if GROUP[rater] == group:
            scores.setdefault((system, document, position), {}).setdefault(rater, []).append(score)
    return {output: [mean(own) for own in raters.values()] for output, raters in scores.items()}


def test_severity_is_the_mean_difference_to_the_other_raters_on_the_same_outputs(rows, ratings):
    first, second = by_output(rows, 0), by_output(rows, 1)
    shared = first.keys() & second.keys()
    wanted = mean(mean(first[output]) - mean(second[output]) for output in shared)
    ours, others = compute_rater_group_statistics(ratings, group_codes(ratings), 2)
    assert (ours.shared, others.shared, ours.outputs) == (len(shared), len(shared), len(first))
    assert ours.severity == pytest.approx(wanted)
    assert others.severity == pytest.approx(-wanted)
    assert (ours.raters, others.raters) == (3, 3)
    scores = [score for *_, rater, score in rows if GROUP[rater] == 0]
    assert (ours.ratings, ours.mean) == (len(scores), pytest.approx(mean(scores)))
    of_a = [score for system, *_, rater, score in rows if GROUP[rater] == 0 and system == "A"]
    assert ours.means[0] == pytest.approx(mean(of_a))


def test_a_pair_of_groups_is_compared_on_shared_outputs_and_by_rankings(rows, ratings):
    first, second = by_output(rows, 0), by_output(rows, 1)
    shared = sorted(first.keys() & second.keys())
    x, y = ([mean(of[output]) for output in shared] for of in (first, second))
    (pair,) = compute_rater_group_pair_statistics(ratings, group_codes(ratings), 2)
    assert (pair.outputs, pair.systems, pair.spa_pairs) == (len(shared), 3, 3)
    assert pair.difference == pytest.approx(mean(x) - mean(y))
    assert pair.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_groups_that_score_alike_rank_alike_and_opposite_ones_do_not():
    def of(sign):
        rows = [
            (system, f"d{d}", 1, rater, 50 + (1 if rater < "r4" else sign) * (10 * s + (3 * d + s) % 4))
            for s, system in enumerate("ABC")
            for d in range(8)
            for rater in ("r1", "r4")
        ]
        system, document, position, rater, score = map(list, zip(*rows, strict=True))
        ratings = Ratings.from_columns(
            system=system, document=document, position=position, rater=rater, score=score, higher_is_better=True
        )
        return compute_rater_group_pair_statistics(ratings, np.array([0, 1]), 2)[0]

    alike, opposite = of(1), of(-1)
    assert (alike.kendall, alike.spa, alike.pearson) == (1, 1, pytest.approx(1))
    assert opposite.kendall == -1
    assert opposite.spa < 0.1


def test_no_group_is_left_smaller_than_the_least():
    draw = Random(1)
    for _ in range(200):
        sizes = [draw.randrange(6) for _ in range(draw.randrange(1, 8))]
        folded = merge_small_rater_groups(sizes)
        assert sorted(place for places in folded for place in places) == [n for n, size in enumerate(sizes) if size]
        assert len(folded) < 2 or all(sum(sizes[place] for place in places) >= 3 for places in folded)
