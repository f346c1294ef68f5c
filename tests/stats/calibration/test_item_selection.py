"""Choosing calibration items: the most agreed about, by level."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.calibration.item_selection import (
    choose_calibration_items,
    compute_unit_median_and_deviation,
    divide_scale_into_strata,
)
from app.stats.ratings import ScoreScale
from tests.stats.agreement.worlds import units

XSTS = ScoreScale(1, 5, 1)


def test_the_most_agreed_about_of_each_level_come_first() -> None:
    given = units([[1, 1, 1], [1, 1, 2], [3, 3, 3], [2, 3, 4], [5, 5, 5], [5, None, None]])
    found = {one.stratum: one for one in choose_calibration_items(given, XSTS, per_stratum=1)}
    assert {name: one.unit.tolist() for name, one in found.items()} == {"1": [0], "2": [], "3": [2], "4": [], "5": [4]}
    assert [found[name].available for name in "135"] == [2, 2, 1]
    within = {
        one.stratum: one.available for one in choose_calibration_items(given, XSTS, per_stratum=9, max_spread=0.1)
    }
    assert within == {"1": 1, "2": 0, "3": 1, "4": 0, "5": 1}


def test_spread_is_around_the_median() -> None:
    middle, spread = compute_unit_median_and_deviation(units([[2, 3, 4]]))
    assert (middle[0], spread[0]) == (3, pytest.approx(np.sqrt(2 / 3)))


def test_every_score_of_a_scale_is_in_one_stratum() -> None:
    for scale in (XSTS, ScoreScale(0, 100, 1), ScoreScale(0, 6, 1), ScoreScale(0, 1)):
        values = np.linspace(scale.minimum, scale.maximum, 41)
        given = units([[v, v] for v in values.tolist()])
        chosen = [u for one in choose_calibration_items(given, scale, per_stratum=99) for u in one.unit.tolist()]
        assert sorted(chosen) == list(range(41)), divide_scale_into_strata(scale)
