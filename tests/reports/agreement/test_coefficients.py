"""Which categories scores are sorted into, and which coefficients follow."""

from __future__ import annotations

from app.reports.agreement.coefficients import (
    MOST_DISTINCT,
    CoefficientSettings,
    categorize_units,
    make_level_agreement_input,
)
from app.reports.inputs.raw_ratings import GRAVE
from app.stats.ratings import ScoreScale
from tests.stats.agreement.worlds import random_items, units

FREE = CoefficientSettings((0.0,), None, 1.0, None, None)


def values(rows: list[list[float | None]], choices: CoefficientSettings) -> list[float] | None:
    found = categorize_units(units(rows), choices)
    return None if found is None else found[0].value.tolist()


def test_a_slider_has_categories_only_where_it_is_cut_into_parts() -> None:
    rows: list[list[float | None]] = [[0.0, 19.0], [20.0, 100.0]]
    slider = CoefficientSettings((15.0,), 101, 1.0, None, ScoreScale(0, 100, 1))
    assert values(rows, slider) is None
    assert values(rows, CoefficientSettings((15.0,), 101, 1.0, 5, ScoreScale(0, 100, 1))) == [0, 0, 1, 4]


def test_few_levels_are_categories_and_a_mean_between_two_goes_to_the_lower() -> None:
    assert values([[1.0, 2.5], [3.6, 5.0]], CoefficientSettings((0.0,), 5, 1.0, None, ScoreScale(1, 5, 1))) == [
        0,
        1,
        3,
        4,
    ]


def test_counts_are_sorted_where_asked_and_the_last_category_takes_the_rest() -> None:
    rows: list[list[float | None]] = [[0.0, 1.0], [3.0, 12.0]]
    assert values(rows, FREE) is None
    assert values(rows, CoefficientSettings((0.0,), None, 1.0, 4, None)) == [0, 1, 3, 3]


def test_coefficients_of_categories_are_there_with_categories_only() -> None:
    data = units(random_items(0))
    without = {one.key for one in make_level_agreement_input("segments", data, FREE).statistics}
    cut = make_level_agreement_input("segments", data, CoefficientSettings((0.0,), None, 1.0, 4, None))
    assert {one.key for one in cut.statistics} - without == {"fleiss", "weighted_kappa", "ac1", "ac2"}
    assert cut.categories == 4


def test_nothing_rated_twice_has_no_coefficients() -> None:
    plan = make_level_agreement_input("segments", units([[1.0, None], [None, 2.0]]), FREE)
    assert (plan.statistics, plan.n_single, plan.block, plan.components) == ((), 2, None, None)


def test_ratios_take_few_values_from_zero_up_and_equal_scores_are_always_told() -> None:
    def told(rows: list[list[float | None]], *tolerances: float) -> list[tuple[str, float | None]]:
        plan = make_level_agreement_input(
            "segments", units(rows), CoefficientSettings(tolerances, None, 1.0, None, None)
        )
        return [(one.key, one.tolerance) for one in plan.statistics]

    from_zero: list[list[float | None]] = [[0.0, 1.0], [2.0, 2.0], [3.0, 1.0]]
    below: list[list[float | None]] = [[-1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]
    many: list[list[float | None]] = [[float(2 * n), float(2 * n + 1)] for n in range(MOST_DISTINCT // 2 + 1)]
    assert [any(key == "alpha_ratio" for key, _ in told(rows, 0.0)) for rows in (from_zero, below, many)] == [
        True,
        False,
        False,
    ]
    assert [t for key, t in told(from_zero, 2.0) if key == "alpha_nominal"] == [0.0, 2.0]


def test_each_severity_is_a_level_of_its_own_above_the_one_before() -> None:
    assert list(GRAVE) == ["minor", "major", "critical"]
    assert 0 < GRAVE["minor"] < GRAVE["major"] < GRAVE["critical"]
