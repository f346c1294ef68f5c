"""Raters against the consensus, language pairs on one scale, and the slow twin of both."""

from __future__ import annotations

from statistics import mean, median

import numpy as np
import pytest

from app.stats.agreement.units import ValuesByUnit
from app.stats.calibration.calibration_lines import METHODS, explain_unavailable_method
from app.stats.calibration.language_pairs import (
    CalibrationPairRatings,
    LanguagePairRatings,
    calibrate_by_rater,
    calibrate_systems,
    compute_default_calibration_target,
    compute_language_pair_fixed_points,
    compute_mean_of_medians,
    draw_language_pair_bootstrap,
)
from app.stats.calibration.raters import (
    compute_median_consensus_by_unit,
    compute_rater_offsets,
    standardize_raters_by_calibration,
)
from tests.stats.agreement.worlds import random_items, units


def of(items: list[list[float | None]]) -> ValuesByUnit:
    return units(items)


def judged(seed: int = 0, *, lenient: float = 0.0) -> LanguagePairRatings:
    def moved(s: int, up: float, missing: float = 0.1) -> ValuesByUnit:
        found = of(random_items(s, n=30, raters=3, missing=missing))
        return found.with_replaced_values(found.value + up + lenient)

    anchors = moved(seed + 2, 0.5, 0.0)
    agreed = np.linspace(1, 5, anchors.n_units)
    pairs = CalibrationPairRatings(anchors, np.arange(anchors.n_units), agreed)
    return LanguagePairRatings("x", moved(seed, 1.0), moved(seed + 1, 3.0), pairs)


def test_the_shift_of_a_rater_is_consensus_minus_mean() -> None:
    found = of([[3.2, 3.0], [3.2, 3.0]])
    one, other = compute_rater_offsets(found, np.full(2, 3.0))
    assert (one.shift, other.shift) == (pytest.approx(-0.2), 0.0)  # Licht et al. 2022, §4


def test_offsets_against_a_slow_twin() -> None:
    items = random_items(5)
    found = compute_rater_offsets(of(items), compute_median_consensus_by_unit(of(items)))
    middle = [median(v for v in row if v is not None) if any(v is not None for v in row) else None for row in items]
    for r, one in enumerate(found):
        mine = [(row[r], m) for row, m in zip(items, middle, strict=True) if row[r] is not None]
        own, theirs = [float(v) for v, _ in mine if v is not None], [float(m) for _, m in mine if m is not None]
        assert one.n == len(own)
        assert one.mean == pytest.approx(mean(own))
        assert one.shift == pytest.approx(mean(theirs) - mean(own))
        apart = np.array(theirs) - own
        assert one.error == pytest.approx(apart.std(ddof=1) / np.sqrt(len(own)))
        assert one.interval is not None
        assert one.interval[0] < one.shift < one.interval[1]


def test_z_by_other_items_brings_those_items_to_mean_0_and_sd_1() -> None:
    by = of(random_items(2, missing=0.0))
    found, lost = standardize_raters_by_calibration(by, by)
    assert lost == ()
    for r in range(4):
        own = found.value[found.rater == r]
        assert (own.mean(), own.std(ddof=1)) == (pytest.approx(0), pytest.approx(1))


def test_who_gave_one_score_to_the_calibration_items_has_no_z() -> None:
    _, lost = standardize_raters_by_calibration(of([[1, 2], [2, 3]]), of([[3, 1], [3, 2]]))
    assert lost == ("r0",)


def test_medians_over_raters_then_means_over_pairs() -> None:
    assert compute_mean_of_medians(of([[1, 2], [5, 5], [1, None]])) == pytest.approx((1.5 + 5 + 1) / 3)
    assert np.isnan(compute_mean_of_medians(of([[None]])))


def test_a_language_of_lenient_raters_comes_back_to_the_scale() -> None:
    plain, lenient = judged(), judged(lenient=0.7)
    target = compute_default_calibration_target([plain])
    assert target == pytest.approx(compute_mean_of_medians(plain.humans))
    values = []
    for one in (plain, lenient):
        here = compute_language_pair_fixed_points(one, target)
        whys = {m: explain_unavailable_method(m, here) for m in METHODS}
        (found,) = calibrate_systems(
            one, target, whys, draw_language_pair_bootstrap(one, 30, draws=200, seed=1, number=0)
        )
        values.append({m: v.value for m, v in found.moved.items()})
        for moved in found.moved.values():
            assert moved.value is not None
            assert moved.interval is not None
            assert moved.interval[0] <= moved.value <= moved.interval[1]
    assert values[1]["raw"] == pytest.approx(values[0]["raw"] + 0.7)
    for method in ("cs", "ht", "cs_ht"):
        assert values[1][method] == pytest.approx(values[0][method])


def test_by_rater_every_rater_comes_to_the_consensus_of_what_they_judged() -> None:
    moved, known, left = calibrate_by_rater(judged(), "cs", None)
    assert (left, set(known)) == ((), {"r0", "r1", "r2"})
    for r in range(3):
        mine = moved.anchors.units.rater == r
        unit = moved.anchors.units.unit[mine]
        assert moved.anchors.units.value[mine].mean() == pytest.approx(moved.anchors.consensus[unit].mean())


def test_a_rater_without_calibration_items_stays_and_is_listed() -> None:
    one = judged()
    kept = one.anchors.units.rater != 1
    fewer = CalibrationPairRatings(one.anchors.units.where(kept), one.anchors.pair, one.anchors.consensus)
    assert fewer.units.n_units == one.anchors.units.n_units
    moved, _, left = calibrate_by_rater(LanguagePairRatings("x", one.systems, one.humans, fewer), "cs", None)
    assert left == ("r1",)
    own = one.systems.rater == 1
    assert (moved.systems.value[own] == one.systems.value[own]).all()
