"""Which rows a rater's moments rest on under a recipe; calibration items (Licht et al. 2022, §4; Knowles & Lo 2024)."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, stdev

import pytest

from app.domain.errors import Invalid
from app.domain.recipe import NAMED
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.ratings import RatingRole, Ratings
from app.stats.robustness.reranking import select_and_normalize_rows

BASE = replace(NAMED["recommended"], normalize="center", moments="calibration", test="none", clusters="none")
# Each rater rates a system of their own, so that a system's score is that rater's.
RATED = {"a": [60.0, 80.0], "b": [20.0, 40.0], "new": [33.0, 35.0]}
CALIBRATION = {"a": [90.0, 70.0, 80.0], "b": [50.0, 40.0, 60.0]}
REPEATED = {"a": 99.0, "b": 1.0}
M = fmean([90, 70, 80, 50, 40, 60])


def ratings(calibration: dict[str, list[float]] = CALIBRATION, *, errors: int = -1, accepted: bool = True) -> Ratings:
    """Ratings, repeats and control items of three raters, and what they gave to calibration items."""
    rows = [
        (r, r.upper(), RatingRole.RATING, f"d{n}", 1, score)
        for r, given in RATED.items()
        for n, score in enumerate(given)
    ]
    rows += [(r, r.upper(), RatingRole.REPEAT, "d0", 2, score) for r, score in REPEATED.items()]
    rows += [(r, r.upper(), RatingRole.DEGRADED, "d1", 1, 0.0) for r in RATED]
    rows += [
        (r, "C", RatingRole.CALIBRATION, f"c{n}", 1, score)
        for r, all_ in calibration.items()
        for n, score in enumerate(all_)
    ]
    return Ratings.from_columns(
        rater=[row[0] for row in rows],
        system=[row[1] for row in rows],
        role=[row[2] for row in rows],
        document=[row[3] for row in rows],
        position=[1] * len(rows),
        nth=[row[4] for row in rows],
        score=[row[5] for row in rows],
        n_errors=[errors] * len(rows),
        accepted=[accepted or row[2] != RatingRole.CALIBRATION for row in rows],
        higher_is_better=True,
    )


def scores(ranking: Ranking) -> dict[str, float]:
    return {row.system: row.score for row in ranking.systems}


def test_centre_by_calibration_items_shifts_each_rater_by_what_they_gave_there() -> None:
    recipe = replace(BASE, roles=("rating",))
    ranking = rank_systems(ratings(), recipe)
    expected = {"A": 70 - 80 + M, "B": 30 - 50 + M, "NEW": 34.0}
    assert scores(ranking) == pytest.approx(expected, abs=1e-9)
    assert (
        "raters without calibration items, so left as they are; let them judge the calibration items: rater:new"
        in ranking.warnings
    )
    # Control: what the other values of the choice make of the same rows.
    for other in ("ratings", "all"):
        assert scores(rank_systems(ratings(), replace(recipe, moments=other))) != pytest.approx(expected, abs=1e-3)


def test_z_by_calibration_items_takes_mean_and_deviation_from_them_alone() -> None:
    ranking = rank_systems(ratings(), replace(BASE, normalize="z", roles=("rating",)))
    deviation = stdev([90, 70, 80])
    assert scores(ranking) == pytest.approx({"A": (70 - 80) / deviation, "B": (30 - 50) / deviation}, abs=1e-9)
    assert (
        "raters without calibration items, so treated as constant raters; let them judge the "
        "calibration items: rater:new"
    ) in ranking.warnings
    assert ("constant rater", 2) in [(one.reason, one.n) for one in ranking.dropped]


def test_errors_by_calibration_items_leave_raters_without_any_as_they_are() -> None:
    ranking = rank_systems(ratings(errors=1), replace(BASE, normalize="error_rate", roles=("rating",)))
    expected = {"A": 70 * M / 80, "B": 30 * M / 50, "NEW": 34.0}
    assert scores(ranking) == pytest.approx(expected, abs=1e-9)


def test_a_rating_outside_calibration_does_not_move_the_moments() -> None:
    raised = replace(ratings(), score=ratings().score + 10 * (ratings().role == RatingRole.REPEAT))
    recipe = replace(BASE, roles=("rating",))
    assert scores(rank_systems(raised, recipe)) == scores(rank_systems(ratings(), recipe))


@pytest.mark.parametrize("rows", [ratings({}), ratings(accepted=False)], ids=["none", "rejected"])
def test_moments_by_calibration_are_refused_where_nobody_has_any(rows: Ratings) -> None:
    with pytest.raises(Invalid, match="no calibration item was rated"):
        rank_systems(rows, BASE)


def test_robustness_normalizes_as_the_ranking_does() -> None:
    recipe = replace(BASE, roles=("rating",))
    found, _ = select_and_normalize_rows(ratings().in_canonical_order(), recipe)
    by_system = {found.labels.systems[code]: found.score[found.system == code].mean() for code in set(found.system)}
    assert by_system == pytest.approx(scores(rank_systems(ratings(), recipe)), abs=1e-9)
