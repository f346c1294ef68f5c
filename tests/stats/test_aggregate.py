"""Aggregation: segment scores and the panel, each beside its slow twin."""

from __future__ import annotations

from itertools import product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stats.aggregate import average_ratings_per_segment, make_score_matrix, round_scores
from app.stats.ratings import Ratings

Row = tuple[str, str, int, str, int, float]

ROWS = st.lists(
    st.tuples(
        st.sampled_from("AB"),
        st.sampled_from(["d1", "d2"]),
        st.integers(1, 2),
        st.sampled_from("rs"),
        st.integers(1, 3),
        st.integers(0, 100).map(float),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda row: row[:5],
)


def ratings_of(rows: list[Row]) -> Ratings:
    system, document, position, rater, nth, score = zip(*rows, strict=True)
    return Ratings.from_columns(
        system=system,
        document=document,
        position=position,
        rater=rater,
        nth=nth,
        score=score,
        higher_is_better=True,
    )


def _one_rater(ratings: list[tuple[int, float]], repeats: str) -> float:
    ordered = [score for _, score in sorted(ratings)]
    return {"average": fmean(ordered), "latest": ordered[-1], "first": ordered[0]}[repeats]


def _twin(rows: list[Row], repeats: str) -> dict[tuple[str, str, int], float]:
    result = {}
    for key in {row[:3] for row in rows}:
        here = [row for row in rows if row[:3] == key]
        if repeats == "pool":
            result[key] = fmean(row[5] for row in here)
            continue
        raters = sorted({row[3] for row in here})
        result[key] = fmean(_one_rater([(r[4], r[5]) for r in here if r[3] == rater], repeats) for rater in raters)
    return result


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(["average", "pool", "latest", "first"]))
def test_segment_scores_agree_with_their_slow_twin(rows: list[Row], repeats: str) -> None:
    ratings = ratings_of(rows)
    scores = average_ratings_per_segment(ratings, repeats=repeats)
    labels = ratings.labels
    found = {
        (
            labels.systems[system],
            labels.documents[labels.segment_document[segment]],
            int(labels.segment_position[segment]),
        ): score
        for system, segment, score in zip(scores.system, scores.segment, scores.score, strict=True)
    }
    assert found == pytest.approx(_twin(rows, repeats))


def test_a_repeat_counts_within_its_rater_first_and_alike_in_a_pool() -> None:
    ratings = ratings_of([("A", "d", 1, "r", 1, 80.0), ("A", "d", 1, "r", 2, 70.0), ("A", "d", 1, "s", 1, 40.0)])
    assert average_ratings_per_segment(ratings, repeats="average").score.tolist() == [57.5]
    assert average_ratings_per_segment(ratings, repeats="pool").score == pytest.approx([190 / 3])
    assert average_ratings_per_segment(ratings, repeats="latest").score.tolist() == [55.0]
    assert average_ratings_per_segment(ratings, repeats="first").score.tolist() == [60.0]


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_the_panel_holds_every_segment_score_in_its_place(rows: list[Row]) -> None:
    ratings = ratings_of(rows)
    scores = average_ratings_per_segment(ratings)
    laid = make_score_matrix(scores, ratings.labels)
    for system, segment, score in zip(scores.system, scores.segment, scores.score, strict=True):
        i, j = laid.systems.tolist().index(system), laid.segments.tolist().index(segment)
        assert laid.present[i, j]
        assert laid.score[i, j] == score
    assert laid.present.sum() == scores.score.size
    assert laid.n.tolist() == [sum(scores.n[scores.system == s]) for s in laid.systems]


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_document_sums_agree_with_their_slow_twin(rows: list[Row]) -> None:
    ratings = ratings_of(rows)
    laid = make_score_matrix(average_ratings_per_segment(ratings), ratings.labels)
    for i in range(len(laid.systems)):
        for document in range(laid.n_documents):
            here = [j for j in range(laid.segments.size) if laid.document[j] == document and laid.present[i, j]]
            assert laid.document_sums()[i, document] == pytest.approx(sum(laid.score[i, j] for j in here))
            assert laid.n_segments_by_document()[i, document] == len(here)
        assert laid.system_means()[i] == pytest.approx(laid.score[i][laid.present[i]].mean())


def test_scores_are_compared_to_ten_decimals() -> None:
    assert round_scores(np.array([0.1 + 0.1 + 0.1, 0.3])).tolist() == [0.3, 0.3]
    assert np.signbit(round_scores(np.array([-1e-12]))).tolist() == [False]


def test_rows_are_in_canonical_order_where_the_first_column_that_differs_grows() -> None:
    """Any two neighbours that change places are noticed, whichever column tells them apart."""
    rows = list(product("AB", ["d1", "d2"], (1, 2), "rs", (1, 2)))
    system, document, position, rater, nth = (list(column) for column in zip(*rows, strict=True))
    made = Ratings.from_columns(
        system=system,
        document=document,
        position=position,
        rater=rater,
        nth=nth,
        score=[float(n) for n in range(len(rows))],
        higher_is_better=True,
    ).in_canonical_order()
    assert made.is_in_canonical_order
    for n in range(len(rows) - 1):
        order = np.arange(len(rows))
        order[[n, n + 1]] = n + 1, n
        assert not made.take(order).is_in_canonical_order, rows[n : n + 2]
