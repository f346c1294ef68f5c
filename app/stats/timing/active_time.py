"""A rater's recorded actions on the server's clock: when each happened, and how much there was to read.

A browser's clock is used only for the order and the spacing of the events of one page, because it may be wrong by
years, jump, or be faked. Therefore no action is later than its arrival, none is earlier than the lease of its task, and
no two are further apart than the time that counts between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from app.stats.rating_metadata import Micros
from app.stats.ratings import Bools, Codes, Floats
from app.stats.timing.work_time import PAUSE, PER_WORD, RaterActionLog

MOST = (1 << 20) - 1
"""Largest item and segment number; larger ones are treated as this."""


class PageVisibilityChange(IntEnum):
    """What an event says about the page: nothing, that it is visible, or that it is hidden."""

    NOTHING = 0
    SEEN = 1
    HIDDEN = 2


@dataclass(frozen=True, slots=True)
class ActivityLog:
    """Recorded events, one entry each, in any order.

    rater, task, session: codes; a page is a session on a task. seq: order within a page. at_ms: by the browser's clock.
    received, since: microseconds by the server's clock, of arrival and of the lease. sign: of `PageVisibilityChange`.
    item, segment: from 1, −1 if the event names none.
    """

    rater: Codes
    task: Codes
    session: Codes
    seq: Codes
    at_ms: Micros
    received: Micros
    since: Micros
    sign: Codes
    item: Codes
    segment: Codes


@dataclass(frozen=True, slots=True)
class ScreenWordCounts:
    """Words of source and outputs shown with an item (segment 0), or with one of its segments."""

    task: Codes
    item: Codes
    segment: Codes
    words: Floats


@dataclass(frozen=True, slots=True)
class TimeSpentTable:
    """Seconds by rater, task, item and segment (0: of the item as a whole), one entry each."""

    rater: Codes
    task: Codes
    item: Codes
    segment: Codes
    seconds: Floats


def derive_actions_from_log(log: ActivityLog, screens: ScreenWordCounts) -> RaterActionLog:
    """Convert events to the input of `compute_work_stretches`: on the server's clock, with visibility and words.

    An event without an item belongs to the item before it. The first events of a page belong to the first item named
    there, or to item 1 if none is.

    >>> import numpy as np
    >>> def codes(*n): return np.array(n, dtype=np.int32)
    >>> three, nothing = codes(0, 0, 0), codes(-1, -1, -1)
    >>> arrived = np.full(3, 100_000_000, dtype=np.int64)
    >>> log = ActivityLog(three, three, three, codes(1, 2, 3), np.array([7_000, 9_000, 60_000]), arrived, arrived * 0,
    ...           three + 1, codes(1, -1, -1), nothing)
    >>> found = derive_actions_from_log(log, ScreenWordCounts(codes(0), codes(1), codes(0), np.array([10.0])))
    >>> (found.at / 1e6).tolist(), found.words.tolist()
    ([60.0, 62.0, 100.0], [10.0, 10.0, 10.0])
    """
    return _read(log, screens).actions


def compute_time_spent(log: ActivityLog, screens: ScreenWordCounts) -> TimeSpentTable:
    """Seconds that count for each item and segment, from each action that names it to the next action.

    Time in two windows at once counts for both, because these times are not used for pay but tell how long an answer
    took.

    >>> import numpy as np
    >>> def codes(*n): return np.array(n, dtype=np.int32)
    >>> three, arrived = codes(0, 0, 0), np.full(3, 100_000_000, dtype=np.int64)
    >>> log = ActivityLog(three, three, three, codes(1, 2, 3), np.array([7_000, 9_000, 14_000]), arrived, arrived * 0,
    ...           three + 1, codes(1, 1, 1), codes(1, 2, 2))
    >>> found = compute_time_spent(log, ScreenWordCounts(codes(0), codes(1), codes(0), np.array([10.0])))
    >>> found.segment.tolist(), found.seconds.tolist()
    ([1, 2], [2.0, 5.0])
    """
    read = _read(log, screens)
    done, page = read.actions, read.actions.session
    most = PAUSE + PER_WORD * done.words[:-1]
    seconds = np.minimum(np.diff(done.at) / 1e6, most)
    counts = (page[1:] == page[:-1]) & done.visible[:-1]
    address = np.stack([one[:-1][counts] for one in (done.rater, read.task, read.item, read.segment)])
    addresses, code = np.unique(address, axis=1, return_inverse=True)
    total = np.bincount(code.ravel(), weights=seconds[counts], minlength=addresses.shape[1])
    rater, task, item, segment = (row.astype(np.int32) for row in addresses)
    return TimeSpentTable(rater, task, item, segment, np.asarray(total, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class _Read:
    """Actions in order, with the task, item and segment of each."""

    actions: RaterActionLog
    task: Codes
    item: Codes
    segment: Codes


def _read(log: ActivityLog, screens: ScreenWordCounts) -> _Read:
    order = np.lexsort((log.seq, log.session, log.task, log.rater))
    page = _pages(log, order)
    item, segment = _item_and_segment(log, order, page)
    words = _words(screens, log.task[order], item, segment)
    seen = _is_visible(log.sign[order], page)
    at = _server_times(log, order, page, PAUSE + PER_WORD * words)
    return _Read(RaterActionLog(log.rater[order], page, at, seen, words), log.task[order], item, segment)


def _pages(log: ActivityLog, order: npt.NDArray[np.intp]) -> Codes:
    """Number the pages of the events, in order."""
    changed = np.zeros(order.size, dtype=np.bool_)
    for codes in (log.rater, log.task, log.session):
        changed[1:] |= codes[order][1:] != codes[order][:-1]
    return np.cumsum(changed).astype(np.int32)


def _stretches_of(page: Codes) -> Iterator[slice]:
    """Yield the range of events of each page."""
    edges = np.flatnonzero(np.diff(page, prepend=-1, append=-1))
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield slice(start, end)


def _server_times(log: ActivityLog, order: npt.NDArray[np.intp], page: Codes, most: Floats) -> Micros:
    """Place each event as late as its own and later arrivals allow; browser gaps are kept as far as they count."""
    gap = np.zeros(order.size, dtype=np.int64)
    ahead = np.diff(log.at_ms[order])
    gap[:-1] = np.minimum(np.clip(ahead, 0, 86_400_000) * 1000, np.rint(most[:-1] * 1e6)).astype(np.int64)
    walked = np.concatenate(([0], np.cumsum(gap)))[: order.size]
    slack = log.received[order] - walked
    latest = np.empty_like(slack)
    for here in _stretches_of(page):
        latest[here] = np.minimum.accumulate(slack[here][::-1])[::-1]
    return np.asarray(np.maximum(latest + walked, log.since[order]), dtype=np.int64)


def _last_where(mask: Bools, page: Codes) -> npt.NDArray[np.intp]:
    """Index of the last event of the same page, including itself, where `mask` is true, else of the next one.

    Events of a page without such an event get their own index.
    """
    at = np.arange(mask.size)
    last = at.copy()
    for here in _stretches_of(page):
        telling = at[here][mask[here]]
        if telling.size:
            last[here] = telling[np.maximum(np.searchsorted(telling, at[here], side="right") - 1, 0)]
    return last


def _item_and_segment(log: ActivityLog, order: npt.NDArray[np.intp], page: Codes) -> tuple[Codes, Codes]:
    item, segment = log.item[order], log.segment[order]
    from_ = _last_where(item > 0, page)
    named = item[from_]
    return np.where(named > 0, named, 1).astype(np.int32), np.maximum(segment[from_], 0).astype(np.int32)


def _is_visible(sign: Codes, page: Codes) -> Bools:
    """Return whether the page is visible from each event on; a page is visible until an event says otherwise."""
    has_sign = sign != PageVisibilityChange.NOTHING
    from_ = _last_where(has_sign, page)
    before_any = from_ > np.arange(sign.size)
    return np.asarray(before_any | (sign[from_] != PageVisibilityChange.HIDDEN), dtype=np.bool_)


def _words(screens: ScreenWordCounts, task: Codes, item: Codes, segment: Codes) -> Floats:
    """Return the words of the segment if they are known by segment, else of the item, else 0."""
    known = _address(screens.task, screens.item, screens.segment)
    order = np.argsort(known)
    known, words = known[order], screens.words[order]
    counts = np.zeros(task.size)
    for places in (np.zeros_like(segment), segment):
        wanted = _address(task, item, places)
        at = np.minimum(np.searchsorted(known, wanted), max(known.size - 1, 0))
        if known.size:
            counts = np.where(known[at] == wanted, words[at], counts)
    return counts


def _address(task: Codes, item: Codes, segment: Codes) -> npt.NDArray[np.int64]:
    places = task.astype(np.int64) << 40
    return places | (np.minimum(item, MOST).astype(np.int64) << 20) | np.minimum(segment, MOST).astype(np.int64)
