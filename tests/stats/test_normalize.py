"""Rater normalization: worked examples, and a slow twin."""

from __future__ import annotations

from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.stats.normalize import NormalizedRatings, compute_moments_per_rater, normalize_ratings
from app.stats.ratings import RatingRole, Ratings, ScoreScale

# (rater, score, number of errors); the expected values were computed with independent code.
F3 = [("a", 1, 1), ("a", 3, 3), ("a", 8, 4), ("b", 0, 0), ("b", 2, 2), ("b", 1, 1), ("b", 1, 1)]


def ratings_of(rows: list[tuple[str, float, int]], *, higher: bool = False, scale: ScoreScale | None = None) -> Ratings:
    return Ratings.from_columns(
        system=["A"] * len(rows),
        document=["d"] * len(rows),
        position=range(1, len(rows) + 1),
        rater=[rater for rater, _, _ in rows],
        score=[float(score) for _, score, _ in rows],
        n_errors=[errors for _, _, errors in rows],
        higher_is_better=higher,
        scale=scale,
    )


def normalized(rows: list[tuple[str, float, int]], method: str, **options: str) -> NormalizedRatings:
    ratings = ratings_of(rows)
    return normalize_ratings(ratings, method, moments=compute_moments_per_rater(ratings), **options)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("mean", [0.571429, 1.714286, 4.571429, 0, 4.571429, 2.285714, 2.285714]),
        ("error", [0.8, 2.4, 6.4, 0, 3.2, 1.6, 1.6]),
        ("z", [-0.832050, -0.277350, 1.109400, -1.224745, 1.224745, 0, 0]),
        ("none", [1, 3, 8, 0, 2, 1, 1]),
    ],
)
def test_the_worked_example_f3_is_met(method: str, expected: list[float]) -> None:
    assert normalized(F3, method).scored.score == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize("method", ["mean", "center", "error", "error_rate"])
def test_rescaling_keeps_the_mean_of_the_study(method: str) -> None:
    assert normalized(F3, method).scored.score.mean() == pytest.approx(16 / 7)


def test_error_rate_weighs_each_rater_by_errors_per_rating() -> None:
    rows = [("a", 2.0, 4), ("a", 2.0, 2), ("b", 2.0, 1)]
    # E_r/n_r is 3 and 1; c·2·(3 + 3 + 1) must be 6.
    assert normalized(rows, "error_rate").scored.score == pytest.approx([18 / 7, 18 / 7, 6 / 7])


@pytest.mark.parametrize(
    ("scores", "z"),
    # Knowles 2021, §5: raw 50 among these scores. 0.39 fixes ddof = 1.
    [([25, 50, 50, 75], 0.0), ([0, 25, 50, 75], 0.3873), ([25, 50, 75, 100], -0.3873)],
)
def test_the_same_raw_score_gets_the_z_of_its_company(scores: list[float], z: float) -> None:
    result = normalized([("w", score, 0) for score in scores], "z")
    assert result.scored.score[scores.index(50)] == pytest.approx(z, abs=5e-5)


CONSTANT = [("a", 10.0, 0), ("a", 20.0, 0), ("b", 0.1, 0), ("b", 0.1, 0), ("b", 0.1, 0), ("c", 7.0, 0)]


def test_constant_raters_are_dropped_from_raw_and_z_alike() -> None:
    result = normalized(CONSTANT, "z")
    assert (len(result.scored), len(result.raw), result.dropped, result.missing) == (2, 2, 4, 0)
    assert result.warnings[0] == (
        "raters who always gave the same score have no z, so their ratings are dropped; check "
        "their work: rater:b, rater:c"
    )


def test_constant_raters_get_z_zero_and_keep_their_raw_scores() -> None:
    result = normalized(CONSTANT, "z", sd0="zero")
    assert result.scored.score[2:].tolist() == [0, 0, 0, 0]
    assert result.raw.score.tolist() == [10, 20, 0.1, 0.1, 0.1, 7]


def test_constant_raters_may_keep_raw_scores_without_a_z() -> None:
    result = normalized(CONSTANT, "z", sd0="drop_z")
    assert (len(result.scored), len(result.raw), result.dropped, result.missing) == (2, 6, 0, 4)


def test_raters_with_few_ratings_are_named() -> None:
    rows = [("a", float(i), 0) for i in range(20)] + [("b", float(i), 0) for i in range(19)]
    assert normalized(rows, "z").warnings == (
        "raters with fewer than 20 ratings, so their z-scores are imprecise; let them judge more: rater:b",
    )


def test_a_rater_with_mean_zero_is_left_unchanged_and_named() -> None:
    result = normalized([("a", 0.0, 0), ("a", 0.0, 0), ("b", 4.0, 2)], "mean")
    assert result.scored.score[:2].tolist() == [0, 0]
    assert result.warnings == (
        (
            "raters with mean 0 cannot be scaled, so their scores stay unchanged; center the "
            "scores by rater instead: rater:a"
        ),
    )


@pytest.mark.parametrize("method", ["mean", "error", "error_rate"])
def test_dividing_by_the_mean_is_refused_on_bounded_scores_with_the_hint_to_center(method: str) -> None:
    ratings = ratings_of(F3, higher=True, scale=ScoreScale(0, 100))
    with pytest.raises(Invalid, match="use center") as caught:
        normalize_ratings(ratings, method, moments=compute_moments_per_rater(ratings))
    assert caught.value.places[0].loc == ("query", "normalize")


def test_dividing_by_the_mean_is_refused_on_negative_scores() -> None:
    with pytest.raises(Invalid, match="use center"):
        normalized([("a", -1.0, 1), ("a", 2.0, 1)], "mean")


@pytest.mark.parametrize("errors", [0, -1])
def test_error_normalization_is_refused_without_marked_errors(errors: int) -> None:
    with pytest.raises(Invalid, match="needs marked errors"):
        normalized([("a", 1.0, errors), ("b", 2.0, errors)], "error")


def test_moments_can_rest_on_rows_that_are_not_ranked() -> None:
    rows = [("w", 80.0, 0), ("w", 60.0, 0), ("w", 10.0, 0)]
    everything = ratings_of(rows)
    ranked = everything.where(np.array([True, True, False]))
    z = normalize_ratings(ranked, "z", moments=compute_moments_per_rater(everything)).scored.score
    assert z == pytest.approx([(80 - 50) / stdev([80, 60, 10]), (60 - 50) / stdev([80, 60, 10])])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 25), st.integers(0, 5)), min_size=1, max_size=25),
    st.sampled_from(["mean", "center", "z"]),
)
def test_normalization_agrees_with_its_slow_twin(rows: list[tuple[str, float, int]], method: str) -> None:
    assert normalized(rows, method).scored.score == pytest.approx(_twin(rows, method), abs=1e-9)


def _twin(rows: list[tuple[str, float, int]], method: str) -> list[float]:
    overall = fmean(score for _, score, _ in rows)
    result = []
    for rater, score, _ in rows:
        own = [s for r, s, _ in rows if r == rater]
        if method == "mean":
            result.append(score * overall / fmean(own) if fmean(own) else score)
        elif method == "center":
            result.append(score - fmean(own) + overall)
        elif len(set(own)) > 1:
            result.append((score - fmean(own)) / stdev(own))
    return result


def test_moments_count_only_the_rows_they_are_given() -> None:
    ratings = Ratings.from_columns(
        system=["A", "A", "A"],
        document=["d"] * 3,
        position=[1, 2, 3],
        rater=["w"] * 3,
        score=[1.0, 3.0, 50.0],
        role=[RatingRole.RATING, RatingRole.REPEAT, RatingRole.DEGRADED],
        higher_is_better=True,
    )
    moments = compute_moments_per_rater(ratings, ratings.role < RatingRole.REFERENCE)
    assert (moments.n[0], moments.mean[0], moments.overall) == (2, 2.0, 2.0)
