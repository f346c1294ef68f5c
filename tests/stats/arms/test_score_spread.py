"""How scores lie under a condition, and which documents are left out for a control item."""

from __future__ import annotations

from collections import defaultdict
from statistics import stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.reports.presentations.matching import ConditionRowsWithTexts, match_rows_across_conditions
from app.stats.arms.score_spread import compute_score_spreads_by_document_length, mask_ratings_compared_between_arms
from app.stats.ratings import RatingRole, Ratings


def drawn(seed: int, n: int = 80) -> Ratings:
    rng = np.random.default_rng(seed)
    return Ratings.from_columns(
        system=[f"S{i}" for i in rng.integers(2, size=n)],
        document=[f"d{i}" for i in rng.integers(4, size=n)],
        position=rng.integers(1, 12, size=n).tolist(),
        rater=[f"r{i}" for i in rng.integers(3, size=n)],
        role=[RatingRole(int(i)) for i in rng.choice([0, 0, 0, 0, 0, 0, 0, 0, 1, 3], size=n)],
        score=rng.integers(0, 101, size=n).astype(float),
        higher_is_better=True,
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_spreads_are_those_of_adding_up_by_hand(seed: int) -> None:
    rows = drawn(seed)
    units = defaultdict(list)
    for key in range(len(rows)):
        units[int(rows.rater[key]), int(rows.document[key]), int(rows.system[key])].append(float(rows.score[key]))
    for one in compute_score_spreads_by_document_length(rows):
        named = {"all": (1, 999), "short": (1, 10), "long": (20, 999), "26 and more": (26, 999)}
        low, high = named.get(one.documents) or map(int, one.documents.split("–"))
        parts = [scores for scores in units.values() if low <= len(scores) <= high]
        every = [score for scores in parts for score in scores]
        assert (one.n, one.shown) == (len(every), sum(len(scores) > 1 for scores in parts))
        assert one.mean == pytest.approx(np.mean(every))
        assert one.sd is None if len(every) < 2 else one.sd == pytest.approx(stdev(every))
        squares = sum(np.var(scores) * len(scores) for scores in parts)
        degrees = sum(len(scores) - 1 for scores in parts)
        assert one.within is None if not degrees else one.within == pytest.approx((squares / degrees) ** 0.5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_a_document_with_a_control_item_goes_whole_and_only_for_its_rater(seed: int) -> None:
    rows = drawn(seed)
    met = {(int(rows.rater[k]), int(rows.document[k])) for k in range(len(rows)) if rows.role[k] != RatingRole.RATING}
    kept, every = (
        mask_ratings_compared_between_arms(rows, with_controls=False),
        mask_ratings_compared_between_arms(rows, with_controls=True),
    )
    for k in range(len(rows)):
        assert every[k] == (rows.role[k] == RatingRole.RATING)
        assert kept[k] == (every[k] and (int(rows.rater[k]), int(rows.document[k])) not in met)


def test_nothing_judged_and_equal_scores_have_no_spread_to_speak_of() -> None:
    rows = drawn(1)
    assert list(compute_score_spreads_by_document_length(rows.where(np.zeros(len(rows), dtype=bool)))) == []
    (equal, *_) = compute_score_spreads_by_document_length(rows.with_scores(np.full(len(rows), 50.0)))
    assert (equal.sd, equal.within) == (0.0, 0.0)


def of(documents: str, systems: str = "A") -> Ratings:
    shown = [(d, s) for d in documents for s in systems]
    return Ratings.from_columns(
        system=[s for _, s in shown],
        document=[d for d, _ in shown],
        position=[1] * len(shown),
        rater=["r"] * len(shown),
        score=[1.0] * len(shown),
        higher_is_better=True,
    )


def test_documents_are_matched_by_key_and_source() -> None:
    sides = [
        ConditionRowsWithTexts(of("abc"), {("a", 1): "x", ("b", 1): "y", ("c", 1): "z"}, {}),
        ConditionRowsWithTexts(of("bcd"), {("b", 1): "y", ("c", 1): "other"}, {}),
    ]
    found = match_rows_across_conditions(sides, "documents")
    assert [one.tolist() for one in found.keep] == [[False, True, False], [True, False, False]]
    assert found.differing == 1
    assert all(one.all() for one in match_rows_across_conditions(sides, "none").keep)


def test_outputs_are_matched_by_system_and_text_too() -> None:
    sides = [
        ConditionRowsWithTexts(of("ab", "AB"), {}, {("a", 1, "A"): "x", ("b", 1, "A"): "y"}),
        ConditionRowsWithTexts(of("ab", "A"), {}, {("a", 1, "A"): "x", ("b", 1, "A"): "other"}),
    ]
    found = match_rows_across_conditions(sides, "outputs")
    assert [int(one.sum()) for one in found.keep] == [1, 1]
    assert found.differing == 1
