"""The mixed model of time: planted effects, intervals that hold, and what is said where nothing can be fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.stats.arms.time_model import JudgmentTimeModel, TimeModelObservations, fit_time_model


def work(
    seed: int,
    *,
    raters: int = 8,
    documents: int = 16,
    arm: float = 0.4,
    own: float = 0.2,
    cross: bool = True,
) -> TimeModelObservations:
    """Every document by two raters, its six segments each; arms crossed with documents or with raters.

    arm: log of how many times as long condition 1 takes. own: SD of how raters differ in that.
    """
    rng = np.random.default_rng(seed)
    d, k, g = (x.ravel() for x in np.meshgrid(np.arange(documents), np.arange(2), np.arange(6), indexing="ij"))
    rater = (d + k * 3) % raters
    condition = (d // raters + k) % 2 if cross else rater % 2
    words, errors = rng.integers(5, 60, documents)[d].astype(float), rng.poisson(1.0, d.size).astype(float)
    at = np.lexsort((g, k, d)).argsort()
    before = np.zeros(d.size)
    for r in range(raters):
        mine = np.flatnonzero(rater == r)
        before[mine[np.argsort(at[mine])]] = np.arange(mine.size)
    log = 1.0 + arm * condition + 0.7 * np.log(words) + 0.3 * errors - 0.5 * g / 10 - 0.8 * before / 100
    log += rng.normal(0, 0.3, raters)[rater] + rng.normal(0, own, (raters, 2))[rater, condition]
    log += rng.normal(0, 0.2, documents)[d] + rng.normal(0, 0.5, d.size)
    codes = [x.astype(np.int32) for x in (rater, d, condition, g + 1)]
    return TimeModelObservations(
        np.exp(log), codes[0], codes[1], codes[2], words, errors, codes[3], at.astype(np.int64)
    )


def fitted(given: TimeModelObservations) -> JudgmentTimeModel:
    found = fit_time_model(given)
    assert isinstance(found, JudgmentTimeModel)
    return found


def test_planted_effects_are_found_again() -> None:
    found = fitted(work(1, raters=12, documents=96))
    effects = {one.what: one for one in found.effects}
    planted = {"condition": 0.4, "words": 0.7, "errors": 0.3, "position": -0.5, "practice": -0.8}
    assert effects.keys() == planted.keys()
    for what, value in planted.items():
        one = effects[what]
        assert abs(one.estimate - value) < 3.5 * one.error, what
        assert one.factor == pytest.approx(np.exp(one.estimate))
        assert one.interval is not None
        inside = one.estimate if what == "words" else one.factor
        assert one.interval[0] < inside < one.interval[1]
    assert effects["condition"].degrees == 11
    assert effects["words"].degrees == 94
    assert effects["errors"].p_value is not None
    assert effects["errors"].p_value < 1e-6
    assert found.sd["residual"] == pytest.approx(0.5, abs=0.05)
    assert found.left_out == ()


def test_raters_who_work_in_one_arm_each_leave_their_interaction_out() -> None:
    found = fitted(work(2, cross=False))
    assert dict(found.left_out) == {"rater_condition": "no rater worked under two conditions"}
    condition = next(one for one in found.effects if one.what == "condition")
    assert condition.degrees == 6


def test_what_is_unknown_or_constant_is_left_out_and_said() -> None:
    given = work(3)
    some = given.words.copy()
    some[4] = np.nan
    lacking = replace(given, words=some, errors=np.zeros(some.size), condition=np.zeros_like(given.condition))
    found = fitted(lacking)
    assert dict(found.left_out) == {
        "words": "unknown for some judgments",
        "errors": "constant, or determined by the others",
        "rater_condition": "no rater worked under two conditions",
    }
    assert {one.what for one in found.effects} == {"position", "practice"}


def test_the_order_of_the_rows_and_the_names_of_raters_do_not_matter() -> None:
    given = work(4)
    order = np.random.default_rng(1).permutation(given.seconds.size)
    turned = TimeModelObservations(*(getattr(given, name)[order] for name in TimeModelObservations.__slots__))
    named = replace(turned, rater=(17 - 2 * turned.rater).astype(np.int32))
    one, other = fitted(given), fitted(named)
    for a, b in zip(one.effects, other.effects, strict=True):
        assert (b.estimate, b.error) == pytest.approx((a.estimate, a.error), rel=1e-5)


def test_little_or_nothing_to_fit_is_said_in_words() -> None:
    given = work(5)
    few = TimeModelObservations(*(getattr(given, name)[:20] for name in TimeModelObservations.__slots__))
    assert fit_time_model(few) == "fewer than 30 timed judgments"
    assert (
        fit_time_model(replace(given, seconds=np.full(given.seconds.size, 8.0))) == "every judgment took the same time"
    )
    alone = fitted(replace(given, rater=np.zeros_like(given.rater)))
    assert dict(alone.left_out)["rater"] == "fewer than two levels"
    condition = next(one for one in alone.effects if one.what == "condition")
    assert (condition.interval, condition.p_value, condition.degrees) == (None, None, 0)


@pytest.mark.soak
def test_intervals_of_conditions_hold_and_would_not_without_the_raters_own_difference() -> None:
    """Nominal 95 %; the control takes every judgment of a rater as independent of how they take to an arm."""
    held = without = 0
    runs = 300
    for seed in range(runs):
        given = work(seed, arm=0.0, own=0.4)
        condition = next(one for one in fitted(given).effects if one.what == "condition")
        assert condition.interval is not None
        held += condition.interval[0] <= 1.0 <= condition.interval[1]
        log, rows = np.log(given.seconds), given.seconds.size
        apart = log[given.condition == 1].mean() - log[given.condition == 0].mean()
        without += abs(apart) <= 1.96 * log.std() * np.sqrt(4 / rows)
    assert 0.90 <= held / runs <= 0.985, f"coverage {held / runs:.3f}"
    assert without / runs < 0.85, f"coverage of independent judgments {without / runs:.3f}"


def test_documents_that_each_have_a_rater_of_their_own_are_left_out_and_as_many_crossed_ones_are_not() -> None:
    given = work(5, raters=8, documents=8)
    assert "document" not in dict(fitted(given).left_out)
    told = dict(fitted(replace(given, document=given.rater)).left_out)
    assert told["document"].startswith("confounded with raters")
