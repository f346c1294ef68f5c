"""Paid time, trimmed durations, revisions and the forecast of the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.stats.rating_metadata import RatingEventTable
from app.stats.timing import work_time
from app.stats.timing.campaign_end_forecast import (
    RaterHandInHistory,
    _gaps,
    compute_tasks_per_time_unit,
    forecast_campaign_end,
)
from app.stats.timing.work_time import RaterActionLog, WorkStretches

SECOND = 1_000_000


def actions(
    at: list[float], *, words: float = 50.0, visible: list[bool] | None = None, session: int = 0
) -> RaterActionLog:
    n = len(at)
    return RaterActionLog(
        rater=np.zeros(n, dtype=np.int32),
        session=np.full(n, session, dtype=np.int32),
        at=np.array([round(t * SECOND) for t in at], dtype=np.int64),
        visible=np.array(visible or [True] * n, dtype=np.bool_),
        words=np.full(n, words),
    )


def together(*parts: RaterActionLog) -> RaterActionLog:
    names = ("rater", "session", "at", "visible", "words")
    return RaterActionLog(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def test_a_gap_is_capped_by_the_words_on_the_screen() -> None:
    """30 s + 0.8 s × words."""
    assert work_time.compute_work_stretches(actions([0, 25, 1000], words=100)).seconds.tolist() == [25.0, 110.0]
    assert work_time.compute_work_stretches(actions([0, 25, 1000], words=0)).seconds.tolist() == [25.0, 30.0]


def test_time_while_the_page_is_hidden_does_not_count() -> None:
    assert work_time.compute_work_stretches(
        actions([0, 10, 20, 30], visible=[True, False, True, True])
    ).seconds.tolist() == [10, 10]


def test_two_sessions_at_once_are_paid_once() -> None:
    both = together(actions([0, 20, 40]), actions([10, 30, 50], session=1))
    assert work_time.sum_payable_seconds_by_day(both) == {(0, 0): 50.0}


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), min_size=1, max_size=12))
def test_without_overlaps_every_second_counts_once(spans: list[tuple[int, int]]) -> None:
    starts = np.array([start * SECOND for start, _ in spans], dtype=np.int64)
    seconds = np.array([float(length) for _, length in spans])
    found = work_time.trim_overlapping_stretches(WorkStretches(np.zeros(len(spans), dtype=np.int32), starts, seconds))
    worked = {t for start, length in spans for t in range(start, start + length)}
    assert found.seconds.sum() == pytest.approx(len(worked))
    shares = work_time.divide_time_among_concurrent_tasks(starts, starts + np.rint(seconds * SECOND).astype(np.int64))
    assert shares.sum() == pytest.approx(len(worked))
    assert (shares <= seconds + 1e-9).all()


def test_days_begin_where_the_payment_says_and_adjustments_never_go_below_nothing() -> None:
    late = actions([86_390, 86_400 + 5])
    assert work_time.sum_payable_seconds_by_day(late) == {(0, 0): 15.0}
    assert work_time.sum_payable_seconds_by_day(late, offset=3600) == {(0, 1): 15.0}
    assert work_time.sum_payable_seconds_by_day(late, {(0, 0): -100.0, (4, 2): 60.0}) == {(0, 0): 0.0, (4, 2): 60.0}


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(Invalid):
        work_time.divide_time_among_concurrent_tasks(np.array([5]), np.array([4]))


def test_trimming_keeps_both_percentiles() -> None:
    """Grundkiewicz et al. 2021, §5.1: values below the 10th or above the 90th percentile go."""
    found = work_time.summarize_trimmed_durations(np.arange(1.0, 12.0))
    assert found is not None
    assert (found.low, found.high, found.n, found.kept, found.mean) == (2.0, 10.0, 11, 9, 6.0)
    assert work_time.summarize_trimmed_durations(np.empty(0)) is None


def test_the_change_is_of_unrounded_means() -> None:
    """Grundkiewicz et al. 2021, Table 2: 16 s → 24 s is +47.4 % in the paper, not +50 %."""
    before, after = (
        work_time.summarize_trimmed_durations(np.full(9, 16.2)),
        work_time.summarize_trimmed_durations(np.full(9, 23.88)),
    )
    assert work_time.compute_mean_duration_percent_change(before, after) == pytest.approx(47.4, abs=0.01)
    assert work_time.compute_mean_duration_percent_change(None, after) is None


def test_a_revision_counts_where_the_score_changed() -> None:
    """Grundkiewicz et al. 2021, §5.1: answers sent again with the same score are no revision of it."""
    events = RatingEventTable(
        started=np.zeros(4, dtype=np.int64),
        submitted=np.zeros(4, dtype=np.int64),
        position=np.ones(4, dtype=np.int32),
        revisions=np.array([1, 2, 2, 1], dtype=np.int32),
        first_score=np.array([10.0, 20, 30, 40]),
    )
    found = work_time.count_changed_scores(events, np.array([10.0, 25, 30, 40]), np.array([0, 0, 1, 1], dtype=np.int32))
    assert (found.segment_rate, found.document_rate, found.changed_segments) == (0.25, 0.5, 1)


def test_speeding_up_is_a_negative_slope() -> None:
    words = np.full(100, 20.0)
    found = work_time.estimate_rater_pace_slope(20 * np.exp(-0.5 * np.arange(100) / 100), words)
    assert found is not None
    assert found[0] == pytest.approx(-0.5)
    assert work_time.compute_words_per_hour(words, np.full(100, 10.0)) == pytest.approx(7200)
    assert work_time.compute_words_per_hour(words, np.full(100, np.nan)) is None


def test_even_work_ends_when_reckoned() -> None:
    steady = RaterHandInHistory(np.arange(1.0, 21.0), began=0.0, remaining=10)
    found = forecast_campaign_end([steady], shared=0, now=20.0, rng=np.random.default_rng(1))
    assert found is not None
    assert (found.low, found.median, found.high) == (30.0, 30.0, 30.0)
    assert compute_tasks_per_time_unit(steady, 20.0) == 1.0


def test_a_pool_is_shared_by_those_who_are_free() -> None:
    raters = [RaterHandInHistory(np.arange(1.0, 21.0), 0.0, 0), RaterHandInHistory(np.arange(1.0, 21.0), 0.0, 0)]
    found = forecast_campaign_end(raters, shared=10, now=20.0, rng=np.random.default_rng(1))
    assert found is not None
    assert found.median == 25.0


def test_the_interval_holds_the_end_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(200):
        gaps = rng.exponential(1.0, 60)
        done = np.cumsum(gaps[:40])
        found = forecast_campaign_end(
            [RaterHandInHistory(done, 0.0, 20)], shared=0, now=float(done[-1]), rng=rng, draws=200
        )
        assert found is not None
        held += found.low <= gaps.sum() <= found.high
    assert 0.6 <= held / 200 <= 0.9


def test_nothing_handed_in_is_no_forecast_and_nothing_left_is_over() -> None:
    rng = np.random.default_rng(1)
    assert forecast_campaign_end([RaterHandInHistory(np.empty(0), 0.0, 5)], shared=0, now=9.0, rng=rng) is None
    over = forecast_campaign_end([RaterHandInHistory(np.array([1.0, 2.0]), 0.0, 0)], shared=0, now=9.0, rng=rng)
    assert over is not None
    assert over.high == 9.0


@pytest.mark.parametrize("shared", [1, 7, 60])
def test_a_pool_is_shared_as_if_every_rater_could_take_all_of_it(shared: int) -> None:
    """Only gaps that a rater is likely to need are drawn at first; the plain way draws all of them for everybody."""
    rng = np.random.default_rng(5)
    gaps = [rng.pareto(1.1, 30) + 0.01, rng.exponential(5.0, 30), np.full(30, 40.0)]  # the first is very uneven
    raters = [RaterHandInHistory(np.cumsum(one), 0.0, n) for n, one in enumerate(gaps)]
    now = max(float(one.handed_in[-1]) for one in raters)
    drawn = [_gaps(one, now) for one in raters]

    def plainly() -> float:
        ends, pool = [now], []
        for one, own in zip(raters, drawn, strict=True):
            walked = now + np.cumsum(rng.choice(own, one.remaining + shared))
            ends += [float(at) for at in walked[: one.remaining]]
            pool += [float(at) for at in walked[one.remaining :]]
        return max(*ends, sorted(pool)[shared - 1])

    plain = np.percentile([plainly() for _ in range(4000)], [10, 50, 90]) - now
    found = forecast_campaign_end(raters, shared=shared, now=now, rng=rng, draws=4000)
    assert found is not None
    assert [found.low - now, found.median - now, found.high - now] == pytest.approx(list(plain), rel=0.08)


def test_raters_who_take_no_time_leave_nothing_to_others() -> None:
    raters = [RaterHandInHistory(np.full(9, 9.0), 9.0, 0), RaterHandInHistory(np.arange(1.0, 10.0), 0.0, 2)]
    found = forecast_campaign_end(raters, shared=1000, now=9.0, rng=np.random.default_rng(1))
    assert found is not None
    assert (found.low, found.high) == (11.0, 11.0)
