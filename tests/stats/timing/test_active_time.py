"""Activity on the server's clock: hand-computed cases of the rule for payable time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.stats.timing.active_time import ActivityLog, PageVisibilityChange, ScreenWordCounts, derive_actions_from_log
from app.stats.timing.work_time import compute_work_stretches, sum_payable_seconds_by_day, trim_overlapping_stretches

SECOND = 1_000_000
WORDS = 50.0
CAP = 30 + 0.8 * WORDS  # 70 s
ONE_SCREEN = ScreenWordCounts(*(np.array([n], dtype=np.int32) for n in (0, 1, 0)), np.array([WORDS]))


def page(
    at: Sequence[float],
    received: Sequence[float] | float,
    *,
    since: float = 0,
    rater: int = 0,
    task: int = 0,
    session: int = 0,
    signs: Sequence[PageVisibilityChange] | None = None,
    items: Sequence[int] | None = None,
    segments: Sequence[int] | None = None,
) -> ActivityLog:
    """Events of one page, in seconds; at: by the browser, received: by the server."""
    n = len(at)
    arrived = [received] * n if isinstance(received, int | float) else received

    def codes(values: Sequence[int] | int) -> np.ndarray:
        return np.array([values] * n if isinstance(values, int) else values, dtype=np.int32)

    return ActivityLog(
        rater=codes(rater),
        task=codes(task),
        session=codes(session),
        seq=codes(list(range(n))),
        at_ms=np.array([round(t * 1000) for t in at], dtype=np.int64),
        received=np.array([round(t * SECOND) for t in arrived], dtype=np.int64),
        since=np.full(n, round(since * SECOND), dtype=np.int64),
        sign=codes([int(one) for one in signs] if signs else int(PageVisibilityChange.SEEN)),
        item=codes(list(items) if items else 1),
        segment=codes(list(segments) if segments else -1),
    )


def together(*logs: ActivityLog) -> ActivityLog:
    return ActivityLog(*(np.concatenate([getattr(log, one.name) for log in logs]) for one in fields(ActivityLog)))


def counted(log: ActivityLog, screens: ScreenWordCounts = ONE_SCREEN) -> list[float]:
    return [round(one, 3) for one in compute_work_stretches(derive_actions_from_log(log, screens)).seconds.tolist()]


def test_gaps_count_as_the_browser_spaced_them_up_to_the_cap() -> None:
    assert counted(page([0, 20, 500, 510], 1000)) == [20.0, CAP, 10.0]


def test_a_browser_whose_clock_is_years_off_is_paid_the_same() -> None:
    for off in (0, 86_400 * 3650):
        log = page([off + 0, off + 20, off + 60], [10, 70, 70])
        assert counted(log) == [20.0, 40.0]
        placed = derive_actions_from_log(log, ONE_SCREEN).at / SECOND
        assert placed.tolist() == [10.0, 30.0, 70.0]


def test_a_clock_that_jumps_back_loses_one_gap_and_nothing_else() -> None:
    """Ten seconds apart, an hour back after the second; the server's clock bounds what the lost gap counts."""
    log = page([0, 10, -3580, -3570], [12, 12, 32, 32])
    assert sum(counted(log)) == pytest.approx(30.0)


def test_a_clock_that_jumps_ahead_gains_no_more_than_one_cap() -> None:
    log = page([0, 10, 3630, 3640], [12, 12, 32, 32])
    assert sum(counted(log)) <= 32.0
    assert sum(counted(log)) >= 30.0


def test_no_more_is_paid_than_the_server_saw_pass_since_the_lease() -> None:
    """Made-up events over ten hours, a minute after the lease."""
    made_up = page([60.0 * n for n in range(600)], 1060, since=1000)
    assert sum(counted(made_up)) == pytest.approx(60.0)


def test_work_while_the_network_was_away_counts_when_it_arrives_in_several_parts() -> None:
    at = [30.0 * n for n in range(120)]
    log = page(at, [3600.0] * 60 + [3600.2] * 60)
    assert sum(counted(log)) == pytest.approx(119 * 30)


def test_events_that_arrive_out_of_order_are_taken_in_the_order_of_the_page() -> None:
    assert counted(page([0, 10, 20, 30], [40, 40, 35, 35])) == [10.0, 10.0, 10.0]


def test_a_hidden_page_counts_nothing_until_it_is_seen_again() -> None:
    signs = [
        PageVisibilityChange.SEEN,
        PageVisibilityChange.HIDDEN,
        PageVisibilityChange.NOTHING,
        PageVisibilityChange.SEEN,
        PageVisibilityChange.SEEN,
    ]
    assert counted(page([0, 10, 20, 30, 40], 100, signs=signs)) == [10.0, 10.0]


def test_reading_is_capped_by_the_words_of_the_segment_where_screens_show_one() -> None:
    screens = ScreenWordCounts(
        *(np.array(n, dtype=np.int32) for n in ([0, 0, 0], [1, 1, 1], [0, 1, 2])), np.array([100.0, 10.0, 90.0])
    )
    log = page([0, 1000, 2000], 3000, segments=[1, 2, 2])
    assert counted(log, screens) == [38.0, 102.0]


def test_an_event_that_names_no_item_belongs_to_the_one_before() -> None:
    screens = ScreenWordCounts(
        *(np.array(n, dtype=np.int32) for n in ([0, 0], [1, 2], [0, 0])), np.array([10.0, 100.0])
    )
    log = page([0, 1000, 2000, 3000], 4000, items=[-1, 2, -1, 1])
    assert counted(log, screens) == [110.0, 110.0, 110.0]


def test_two_windows_at_once_are_paid_once_and_so_are_two_accounts_of_one_person() -> None:
    windows = together(page([0, 20, 40], 40), page([10, 30, 50], 50, session=1))
    assert sum_payable_seconds_by_day(derive_actions_from_log(windows, ONE_SCREEN)) == {(0, 0): 50.0}
    accounts = together(page([0, 20, 40], 40), page([10, 30, 50], 50, rater=1, task=1))
    apart = sum_payable_seconds_by_day(derive_actions_from_log(accounts, ONE_SCREEN))
    assert sum(apart.values()) == 80.0
    one_person = sum_payable_seconds_by_day(
        derive_actions_from_log(accounts, ONE_SCREEN), person=np.zeros(2, dtype=np.int32)
    )
    assert sum(one_person.values()) == 50.0


def test_days_are_those_of_the_place_of_payment() -> None:
    late = 86_400 - 30.0
    log = page([late, late + 20, late + 40], late + 40)
    assert sum_payable_seconds_by_day(derive_actions_from_log(log, ONE_SCREEN)) == {(0, 0): 40.0}
    assert sum_payable_seconds_by_day(derive_actions_from_log(log, ONE_SCREEN), offset=3600) == {(0, 1): 40.0}


def test_nothing_recorded_is_nothing_paid() -> None:
    assert sum_payable_seconds_by_day(derive_actions_from_log(page([], []), ONE_SCREEN)) == {}


@given(
    st.lists(
        st.tuples(
            st.integers(-4000, 4000),
            st.integers(0, 400),
            st.integers(0, 1),
            st.sampled_from(list(PageVisibilityChange)),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_whatever_pages_say_nobody_is_paid_more_than_the_time_between_lease_and_last_arrival(
    events: list[tuple[int, int, int, PageVisibilityChange]],
) -> None:
    logs = []
    for session in (0, 1):
        mine = [one for one in events if one[2] == session]
        if mine:
            arrived = np.cumsum([one[1] for one in mine]) + 500.0
            logs.append(
                page(
                    [one[0] for one in mine],
                    arrived.tolist(),
                    since=500,
                    session=session,
                    signs=[one[3] for one in mine],
                )
            )
    log = together(*logs)
    found = trim_overlapping_stretches(compute_work_stretches(derive_actions_from_log(log, ONE_SCREEN)))
    assert (found.seconds > 0).all()
    assert found.seconds.sum() <= (log.received.max() - 500 * SECOND) / SECOND + 1e-6
    assert (found.start + found.seconds * SECOND <= log.received.max() + 1).all()
