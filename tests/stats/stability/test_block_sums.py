"""Sums by item, block by block, are those of a campaign that is held at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from app.stats.ratings import Ratings
from app.stats.stability import multiply_rated_documents
from app.stats.stability.block_sums import sum_ratings_over_blocks
from app.stats.stability.chunks import StabilitySimulator
from app.stats.stability.curves import compute_stability_curves
from app.stats.stability.multiply_rated_documents import (
    MultiplyRatedDocuments,
    NoMultiplyRatedDocuments,
    extract_multiply_rated_documents,
)
from app.stats.stability.request import RaterAssignmentScheme, StabilityRequest, StudyDesign
from app.stats.stability.studies import RaterDocumentSums, sum_ratings_over_segments
from tests.stats.stability.worlds import made_up

SUMS = ("total", "square", "errors", "low", "high", "place", "n_segments")
FACTS = ("systems", "documents", "raters", "higher_is_better", "left_out")


def blocks(ratings: Ratings, documents: int) -> Iterator[Ratings]:
    codes = np.unique(ratings.document)
    for start in range(0, codes.size, documents):
        yield ratings.where(np.isin(ratings.document, codes[start : start + documents]))


def by_block(ratings: Ratings, documents: int, centre: float) -> RaterDocumentSums:
    return sum_ratings_over_blocks(
        blocks(ratings, documents),
        np.unique(ratings.system),
        centre=centre,
        labels=ratings.labels,
        higher_is_better=ratings.higher_is_better,
    )


def worlds() -> dict[str, Ratings]:
    """Several pools; with documents that cannot be used for each reason, and rated twice; without errors."""
    whole = made_up(3, documents=14, pools=((0, 1, 2), (2, 3), (1, 4)))
    holes = whole.where(
        ~((whole.document == 3) & (whole.system == 1))
        & ~((whole.document == 5) & (whole.rater != whole.rater[whole.document == 5].min()))
        & ~((whole.document == 8) & (np.arange(len(whole)) == np.flatnonzero(whole.document == 8)[0]))
    )
    unmarked = replace(whole, n_errors=np.full(len(whole), -1, dtype=np.int32))
    return {"whole": whole, "holes": holes, "unmarked": unmarked}


@pytest.mark.parametrize("name", ["whole", "holes", "unmarked"])
@pytest.mark.parametrize("documents", [1, 3, 100])
def test_sums_by_block_are_those_of_all_at_once(name: str, documents: int) -> None:
    ratings = worlds()[name]
    data = extract_multiply_rated_documents(ratings)
    held = sum_ratings_over_segments(data)
    summed = by_block(ratings, documents, held.centre)
    for fact in FACTS:
        assert getattr(summed.data, fact) == getattr(data, fact), fact
    assert np.array_equal(summed.data.bucket, data.bucket)
    assert all(np.array_equal(a, b) for a, b in zip(summed.data.pools, data.pools, strict=True))
    for array in SUMS:
        assert np.array_equal(getattr(summed, array), getattr(held, array)), array
    assert bool(data.left_out) == (name == "holes")


def test_crowded_documents_are_left_out_as_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = made_up(4, documents=12, pools=((0, 1, 2, 3), (1, 2)))
    monkeypatch.setattr(multiply_rated_documents, "MOST_PLACES", 100)
    data = extract_multiply_rated_documents(ratings)
    assert "many more raters" in data.left_out[0].reason
    summed = by_block(ratings, 2, 1.5)
    assert (summed.data.documents, summed.data.left_out) == (data.documents, data.left_out)
    assert np.array_equal(summed.total, sum_ratings_over_segments(data, 1.5).total)


def test_curves_of_sums_are_those_of_ratings() -> None:
    ratings = worlds()["holes"]
    data: MultiplyRatedDocuments | RaterDocumentSums
    designs = (StudyDesign(RaterAssignmentScheme("psxs"), "z"), StudyDesign(RaterAssignmentScheme("none"), "error"))
    request = StabilityRequest(designs, documents=(4, 8), studies=20, per_set=10, permutations=99, seed=3)
    held = extract_multiply_rated_documents(ratings)
    made = []
    for data in (held, by_block(ratings, 3, sum_ratings_over_segments(held).centre), by_block(ratings, 3, 2.0)):
        resolved = request.resolve(len(held.documents), len(held.systems))
        made.append(compute_stability_curves(StabilitySimulator(data, resolved)))
    assert made[0] == made[1]
    for held_curve, shifted in zip(made[0], made[2], strict=True):
        for point, other in zip(held_curve.points, shifted.points, strict=True):
            assert (point.srp, point.claimed) == (other.srp, other.claimed)
            assert point.pearson == pytest.approx(other.pearson, rel=1e-12)


def test_what_is_rated_once_is_refused_as_of_all_at_once() -> None:
    ratings = made_up(5, documents=6, pools=((0, 1),))
    alone = ratings.where(ratings.rater == 0)
    for given in (alone, ratings.where(ratings.system == 0), ratings.where(np.zeros(len(ratings), dtype=np.bool_))):
        told = []
        for refused in (lambda: extract_multiply_rated_documents(given), lambda: by_block(given, 2, 0.0)):  # noqa: B023
            with pytest.raises(NoMultiplyRatedDocuments) as error:
                refused()
            told.append(error.value.detail)
        assert told[0] == told[1]
