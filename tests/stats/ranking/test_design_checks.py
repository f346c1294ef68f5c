"""What a design supports: comparable and connected raters, beside slow twins."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stats.aggregate import average_ratings_per_segment, make_score_matrix
from app.stats.ranking.design_checks import (
    group_systems_linked_by_raters,
    has_no_common_segments,
    share_of_documents_with_same_raters,
)
from app.stats.ratings import Ratings

Row = tuple[str, str, int, str]

ROWS = st.lists(
    st.tuples(st.sampled_from("ABC"), st.sampled_from("de"), st.integers(1, 2), st.sampled_from("rst")),
    min_size=1,
    max_size=25,
    unique=True,
)


def ratings_of(rows: list[Row]) -> Ratings:
    system, document, position, rater = zip(*rows, strict=True)
    return Ratings.from_columns(
        system=system,
        document=document,
        position=position,
        rater=rater,
        score=[1.0] * len(rows),
        higher_is_better=True,
    )


@settings(max_examples=80, deadline=None)
@given(ROWS)
def test_the_share_with_the_same_raters_agrees_with_its_slow_twin(rows: list[Row]) -> None:
    systems = {row[0] for row in rows}
    documents = {row[1] for row in rows}
    same = 0
    for document in documents:
        raters = {s: {row[3] for row in rows if row[:2] == (s, document)} for s in systems}
        same += len({frozenset(r) for r in raters.values()}) == 1
    assert share_of_documents_with_same_raters(ratings_of(rows)) == pytest.approx(same / len(documents))


@settings(max_examples=80, deadline=None)
@given(ROWS)
def test_groups_of_connected_systems_agree_with_their_slow_twin(rows: list[Row]) -> None:
    groups = [{s} for s in sorted({row[0] for row in rows})]
    for rater in "rst":
        linked = [g for g in groups if any(row[0] in g and row[3] == rater for row in rows)]
        if linked:
            groups = [g for g in groups if g not in linked] + [set().union(*linked)]
    assert sorted(map(sorted, group_systems_linked_by_raters(ratings_of(rows)))) == sorted(map(sorted, groups))


@settings(max_examples=80, deadline=None)
@given(ROWS)
def test_a_design_is_unpaired_where_no_segment_has_two_systems(rows: list[Row]) -> None:
    ratings = ratings_of(rows)
    shared = any(a[0] != b[0] and a[1:3] == b[1:3] for a in rows for b in rows)
    several = len({row[0] for row in rows}) > 1
    assert has_no_common_segments(make_score_matrix(average_ratings_per_segment(ratings), ratings.labels)) == (
        several and not shared
    )
