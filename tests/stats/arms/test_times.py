"""Durations by kind of unit: a slow twin, published percentages of means, ratios over raters, slopes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from app.stats.arms.pace import JudgmentPaces, estimate_fatigue_slope, estimate_learning_slope
from app.stats.arms.times import (
    TimedJudgments,
    UnitDurations,
    compare_durations,
    measure_durations_by_unit_kind,
)
from app.stats.document_lengths import LENGTHS, format_segment_count_range
from app.stats.ratings import RatingLevel, Ratings
from app.stats.timing.work_time import compute_mean_duration_percent_change, summarize_trimmed_durations


def drawn(seed: int) -> TimedJudgments:
    """Whole documents of 1 to 24 segments, some with a score of their own, some judgments without a time."""
    rng = np.random.default_rng(seed)
    columns = defaultdict(list)
    for rater in range(3):
        for document in range(6):
            length = int(rng.integers(1, 25))
            for position in [*range(1, length + 1), *([0] if rng.random() < 0.5 else [])]:
                columns["system"].append(f"S{rng.integers(2)}" if rater == 2 else "S0")
                columns["document"].append(f"d{document}")
                columns["position"].append(max(position, 1))
                columns["rater"].append(f"r{rater}")
                columns["task"].append(f"t{rater}{document % 2}")
                columns["whole"].append(position == 0)
    n, whole = len(columns["whole"]), np.array(columns.pop("whole"))
    rows = Ratings.from_columns(**columns, score=np.zeros(n), higher_is_better=True)
    kind = np.where(whole, RatingLevel.DOCUMENT, RatingLevel.SEGMENT).astype(np.int8)
    rows = replace(rows, kind=kind, segment=np.where(whole, -1, rows.segment).astype(np.int32))
    seconds = np.where(rng.random(n) < 0.05, np.nan, rng.integers(1, 60, size=n).astype(float))
    words = np.where(rng.random(n) < 0.1, np.nan, rng.integers(1, 30, size=n).astype(float))
    started = np.where(rng.random(n) < 0.1, -1, rng.integers(0, 900, size=n) * 1_000_000)
    return TimedJudgments(rows, seconds, words, np.array(rows.task != 0), started)


def by_hand(work: TimedJudgments) -> dict[tuple[str, str], list[float]]:
    """The same, one judgment at a time."""
    rows, found = work.rows, defaultdict(list)
    units: dict[tuple[int, ...], list[int]] = defaultdict(list)
    tasks: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i in range(len(rows)):
        units[int(rows.rater[i]), int(rows.task[i]), int(rows.document[i]), int(rows.system[i])].append(i)
        tasks[int(rows.rater[i]), int(rows.task[i])].append(i)
    names = {format_segment_count_range(*one): one for one in LENGTHS} | {"short": (1, 10), "long": (20, None)}
    for unit in units.values():
        segments = sorted((i for i in unit if rows.kind[i] == RatingLevel.SEGMENT), key=lambda i: int(rows.segment[i]))
        length = len(segments)
        fitting = [name for name, (low, high) in names.items() if low <= length <= (high or 10**9)]
        for rank, i in enumerate(segments):
            third = {0: "first_third", 2: "last_third"}.get(3 * rank // length) if length >= 3 else None
            for key in [
                ("segment", "all"),
                *(("segment", one) for one in fitting),
                *([(third, "all")] if third else []),
            ]:
                found[key].append(work.seconds[i])
            found["per_word", "all"].append(work.seconds[i] / work.words[i])
        found["document_score", "all"] += [work.seconds[i] for i in unit if rows.kind[i] == RatingLevel.DOCUMENT]
        if length:
            for name in ["all", *fitting]:
                found["document", name].append(sum(work.seconds[i] for i in unit))
    for (_, task), judged in tasks.items():
        begun = sorted(int(work.started[i]) for i in judged if work.started[i] >= 0)
        gaps = [(b - a) / 1e6 for a, b in pairwise(begun)]
        found["between_starts", "all"] += [gap for gap in gaps if 0 < gap < 600]
        if task != 0:
            found["task", "all"].append(sum(work.seconds[i] for i in judged))
    known = {key: sorted(v for v in values if v == v) for key, values in found.items()}
    return {key: values for key, values in known.items() if values}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_durations_are_those_of_adding_up_by_hand(seed: int) -> None:
    work = drawn(seed)
    found = measure_durations_by_unit_kind(work)
    expected = by_hand(work)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert np.sort(found[key].seconds) == pytest.approx(values)


def test_every_length_of_a_document_is_in_one_of_the_published_classes() -> None:
    names = [format_segment_count_range(*one) for one in LENGTHS]
    assert names == ["1–5", "6–10", "11–15", "16–20", "21–25", "26 and more"]
    for length in range(1, 40):
        assert sum(low <= length <= (high or length) for low, high in LENGTHS) == 1, length


def test_a_change_is_that_of_unrounded_means() -> None:
    """Table 2 of Grundkiewicz et al. 2021: 00:16 to 00:24 is 47.4 %, not the 50 % of the rounded figures."""
    before, after = summarize_trimmed_durations(np.full(9, 16.2)), summarize_trimmed_durations(np.full(9, 23.88))
    assert compute_mean_duration_percent_change(before, after) == pytest.approx(47.4, abs=0.05)


def test_raters_of_both_conditions_are_compared_with_themselves() -> None:
    """By scipy's paired t-test of mean log durations."""
    rng = np.random.default_rng(3)
    rater = np.repeat(np.arange(6, dtype=np.int32), 20)
    level = rng.normal(2, 1, size=6)[rater]
    before = UnitDurations(np.exp(level + rng.normal(0, 0.3, 120)), rater)
    after = UnitDurations(np.exp(level + log(1.4) + rng.normal(0, 0.3, 120)), rater)
    found = compare_durations(before, after)
    logs = [np.array([np.log(one.seconds[rater == r]).mean() for r in range(6)]) for one in (before, after)]
    test = stats.ttest_rel(logs[1], logs[0])
    interval = np.exp(test.confidence_interval(0.95))
    assert found is not None
    assert (found.design, found.raters) == ("within", 6)
    assert found.ratio == pytest.approx(exp(float((logs[1] - logs[0]).mean())))
    assert found.interval == pytest.approx(tuple(interval))


def test_raters_of_one_condition_each_are_compared_by_welch() -> None:
    rng = np.random.default_rng(4)
    sides = [rng.lognormal(2, 0.5, size=5), rng.lognormal(2.4, 0.7, size=7)]
    found = compare_durations(
        UnitDurations(sides[0], np.arange(5, dtype=np.int32)), UnitDurations(sides[1], np.arange(5, 12, dtype=np.int32))
    )
    test = stats.ttest_ind(np.log(sides[1]), np.log(sides[0]), equal_var=False)
    assert found is not None
    assert (found.design, found.raters) == ("between", 12)
    assert found.interval == pytest.approx(tuple(np.exp(test.confidence_interval(0.95))))


def test_one_rater_on_either_side_has_a_ratio_without_an_interval_and_no_time_has_none() -> None:
    one, other = (UnitDurations(np.array([10.0 * n]), np.array([n], dtype=np.int32)) for n in (1, 2))
    found = compare_durations(one, other)
    assert found is not None
    assert (found.ratio, found.interval) == (pytest.approx(2.0), None)
    assert compare_durations(one, UnitDurations(np.zeros(3), np.zeros(3, dtype=np.int32))) is None


def paced(*, slope: float, tired: float, raters: int = 4) -> JudgmentPaces:
    """Raters with five tasks of twenty judgments in two conditions by turns, and planted slopes."""
    n = 100
    rater = np.repeat(np.arange(raters), n).astype(np.int32)
    place = np.tile(np.arange(n), raters)
    task = (place // 20).astype(np.int32)
    pace = 0.5 * rater + slope * place / 100 + tired * (place % 20) / 100
    order = np.random.default_rng(0).permutation(rater.size)
    columns = (rater, task + 5 * rater, task % 2, place.astype(np.int64), pace)
    return JudgmentPaces(*(column[order] for column in columns))


def test_planted_learning_and_fatigue_are_found_in_each_condition() -> None:
    for condition in (0, 1):
        learnt = estimate_learning_slope(paced(slope=-0.3, tired=0.0), condition)
        tired = estimate_fatigue_slope(paced(slope=0.0, tired=0.7), condition)
        assert learnt is not None
        assert tired is not None
        assert (learnt.mean, learnt.raters) == (pytest.approx(-0.3), 4)
        assert (tired.mean, tired.raters) == (pytest.approx(0.7), 4)
        assert learnt.interval == (pytest.approx(-0.3), pytest.approx(-0.3))


def test_one_rater_has_a_slope_without_interval_and_nobody_none() -> None:
    alone = estimate_learning_slope(paced(slope=-0.3, tired=0.0, raters=1), 0)
    assert alone is not None
    assert alone.interval is None
    assert estimate_learning_slope(paced(slope=0.1, tired=0.0), 7) is None
    assert estimate_fatigue_slope(paced(slope=0.1, tired=0.0), 7) is None
