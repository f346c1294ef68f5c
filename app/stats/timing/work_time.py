"""Time: paid time, duration of judgments, speeding up or tiring, and how often answers are revised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.errors import Invalid
from app.stats.plain_values import number_or_none
from app.stats.quality.drift import fit_least_squares_trend
from app.stats.rating_metadata import Micros, RatingEventTable
from app.stats.ratings import Bools, Codes, Floats

PAUSE = 30.0
"""Seconds of a gap that count whatever is on the screen; our own choice (docs/hours-and-progress.md)."""
PER_WORD = 0.8
"""Seconds of a gap that count per word on the screen, because reading is work: the planning constant of WMT25."""
DAY = 86_400_000_000
LOW, HIGH = 10.0, 90.0


@dataclass(frozen=True, slots=True)
class RaterActionLog:
    """Recorded actions, one entry each, in any order.

    rater, session: codes; gaps lie between actions of one session. at: microseconds. visible: whether the page is
    visible from this action on. words: of source and outputs on the screen from this action on.
    """

    rater: Codes
    session: Codes
    at: Micros
    visible: Bools
    words: Floats


@dataclass(frozen=True, slots=True)
class WorkStretches:
    """Counted stretches of work: rater, start (microseconds), and seconds that count."""

    rater: Codes
    start: Micros
    seconds: Floats


@dataclass(frozen=True, slots=True)
class TrimmedDurationStatistics:
    """Durations of one kind. n: before, kept: after trimming. mean, sd (ddof 1): of the kept, in seconds.

    low, high: the 10th and 90th percentile, and median, of all of them; the median is unknown in old reports.
    """

    n: int
    kept: int
    low: float
    high: float
    mean: float
    sd: float | None
    median: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerRevisionCounts:
    """How often answers changed. segments, documents: answers and documents with one. changed_segments: whose last
    score differs from the first; changed_documents: with one such. Rates are shares, None where there is nothing."""

    segments: int
    changed_segments: int
    documents: int
    changed_documents: int
    segment_rate: float | None
    document_rate: float | None


def compute_work_stretches(actions: RaterActionLog) -> WorkStretches:
    """Time that counts of each gap: min(gap, 30 s + 0.8 s × words on the screen), while the page is visible.

    Source: WMT25 (time per word); the rest is our own (docs/hours-and-progress.md).

    >>> import numpy as np
    >>> two = np.zeros(3, dtype=np.int32)
    >>> at = np.array([0, 20, 500], dtype=np.int64) * 1_000_000
    >>> compute_work_stretches(RaterActionLog(two, two, at, np.ones(3, dtype=bool), np.full(3, 50.0))).seconds.tolist()
    [20.0, 70.0]
    """
    order = np.lexsort((actions.at, actions.session, actions.rater))
    rater, session, at = actions.rater[order], actions.session[order], actions.at[order]
    follows = (rater[1:] == rater[:-1]) & (session[1:] == session[:-1]) & actions.visible[order][:-1]
    most = PAUSE + PER_WORD * np.maximum(actions.words[order][:-1], 0)
    seconds = np.minimum(np.diff(at) / 1e6, most)
    counts = follows & (seconds > 0)
    return WorkStretches(rater[:-1][counts], at[:-1][counts], np.asarray(seconds[counts], dtype=np.float64))


def trim_overlapping_stretches(work: WorkStretches, person: Codes | Sequence[int] | None = None) -> WorkStretches:
    """Trim overlapping stretches of one rater, so that each moment counts once.

    A stretch that begins within earlier ones keeps only what lies beyond them.

    Parameters
    ----------
    person : a number for the person of each rater code, if several accounts belong to one person. A moment then counts
        once for all of them, for the account whose stretch began first.

    Source: WMT21 `ad-corrected-hit-times`.

    >>> import numpy as np
    >>> at = np.array([0, 10], dtype=np.int64) * 1_000_000
    >>> work = WorkStretches(np.zeros(2, dtype=np.int32), at, np.array([30.0, 30.0]))
    >>> trim_overlapping_stretches(work).seconds.tolist()
    [30.0, 10.0]
    """
    who = work.rater if person is None else np.asarray(person)[work.rater]
    order = np.lexsort((work.start, who))
    rater, start, seconds = work.rater[order], work.start[order], work.seconds[order]
    end = start + np.rint(seconds * 1e6).astype(np.int64)
    covered = np.full(end.size, np.iinfo(np.int64).min)
    for owner in np.unique(who):
        mine = np.flatnonzero(who[order] == owner)
        covered[mine[1:]] = np.maximum.accumulate(end[mine])[:-1]
    begins = np.maximum(start, covered)
    left = end - begins
    keep = left > 0
    return WorkStretches(rater[keep], begins[keep], left[keep] / 1e6)


def divide_time_among_concurrent_tasks(starts: Micros, ends: Micros) -> Floats:
    """Seconds of each of one rater's periods of work; moments shared by several periods are divided among them.

    Parameters
    ----------
    starts, ends : of tasks held at once, microseconds, shape (n,), each end at or after its start.

    Raises Invalid if a period ends before it begins.

    Source: WMT21 `ad-corrected-hit-times` (concurrent HITs).

    >>> import numpy as np
    >>> divide_time_among_concurrent_tasks(np.array([0, 4_000_000]), np.array([10_000_000, 8_000_000])).tolist()
    [8.0, 2.0]
    """
    if (ends < starts).any():
        raise Invalid("a period of work ends before it begins")
    edges = np.unique(np.concatenate((starts, ends)))
    first, last = np.searchsorted(edges, starts), np.searchsorted(edges, ends)
    changes = np.zeros(edges.size + 1, dtype=np.int64)
    np.add.at(changes, first, 1)
    np.add.at(changes, last, -1)
    at_once = np.maximum(np.cumsum(changes)[: max(edges.size - 1, 0)], 1)
    share = np.concatenate(([0.0], np.cumsum(np.diff(edges) / at_once)))
    return np.asarray((share[last] - share[first]) / 1e6, dtype=np.float64)


def sum_payable_seconds_by_day(
    actions: RaterActionLog,
    adjustments: Mapping[tuple[int, int], float] | None = None,
    *,
    offset: int = 0,
    person: Codes | Sequence[int] | None = None,
) -> dict[tuple[int, int], float]:
    """Payable seconds by (rater code, day), in days since 1970; a stretch belongs to the day on which it began.

    Parameters
    ----------
    adjustments : seconds to add or subtract by (rater, day); a sum never falls below 0.
    offset : seconds by which the payment time zone is ahead of UTC.
    person : as for `trim_overlapping_stretches`.
    """
    own = trim_overlapping_stretches(compute_work_stretches(actions), person)
    day = (own.start + offset * 1_000_000) // DAY
    total: dict[tuple[int, int], float] = {}
    for rater, date, seconds in zip(own.rater.tolist(), day.tolist(), own.seconds.tolist(), strict=True):
        total[rater, date] = total.get((rater, date), 0.0) + seconds
    for key, seconds in (adjustments or {}).items():
        total[key] = max(0.0, total.get(key, 0.0) + seconds)
    return dict(sorted(total.items()))


def summarize_trimmed_durations(seconds: Floats) -> TrimmedDurationStatistics | None:
    """Mean and SD of the values from the 10th to the 90th percentile, inclusive; None without values.

    Percentiles are by linear interpolation. Two different values both lie outside; if nothing would be left, all values
    are kept.

    Source: Grundkiewicz et al. 2021, §5.1.

    >>> import numpy as np
    >>> [summarize_trimmed_durations(np.array(x)).mean for x in ([1.0, 2, 3, 4, 100], [8.0, 16])]
    [3.0, 12.0]
    """
    if not seconds.size:
        return None
    low, median, high = np.percentile(seconds, (LOW, 50.0, HIGH), method="linear")
    kept = seconds[(seconds >= low) & (seconds <= high)]
    kept = kept if kept.size else seconds
    sd = number_or_none(float(kept.std(ddof=1))) if kept.size > 1 else None
    return TrimmedDurationStatistics(
        seconds.size, kept.size, float(low), float(high), float(kept.mean()), sd, float(median)
    )


def compute_mean_duration_percent_change(
    before: TrimmedDurationStatistics | None, after: TrimmedDurationStatistics | None
) -> float | None:
    """Change in per cent between two arms, of the unrounded means; None if one is missing or `before` is 0.

    Source: Grundkiewicz et al. 2021, Table 2.
    """
    if before is None or after is None or before.mean == 0:
        return None
    return 100 * (after.mean - before.mean) / before.mean


def format_duration(seconds: float) -> str:
    """Format seconds as (h):mm:ss, as Grundkiewicz et al. 2021 do.

    >>> format_duration(15.6), format_duration(3725)
    ('00:16', '1:02:05')
    """
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes = f"{rest // 60:02d}:{rest % 60:02d}"
    return f"{hours}:{minutes}" if hours else minutes


def count_changed_scores(events: RatingEventTable, score: Floats, unit: Codes) -> AnswerRevisionCounts:
    """Count segment scores that changed after they were first given, and documents with such a change.

    Parameters
    ----------
    unit : code of the (rater, task, document, system) that each row belongs to, shape (rows,).

    Source: Grundkiewicz et al. 2021, §5.1.
    """
    changed = (events.revisions > 1) & (np.abs(score - events.first_score) > 1e-9)
    n, units = score.size, np.unique(unit).size
    touched = np.unique(unit[changed]).size
    return AnswerRevisionCounts(
        segments=n,
        changed_segments=int(changed.sum()),
        documents=units,
        changed_documents=touched,
        segment_rate=float(changed.mean()) if n else None,
        document_rate=touched / units if units else None,
    )


def compute_words_per_hour(words: Floats, seconds: Floats) -> float | None:
    """Total words over total hours, of the judgments for which both are known; None if there are none."""
    known = ~np.isnan(words) & ~np.isnan(seconds) & (seconds > 0)
    spent = float(seconds[known].sum())
    return float(words[known].sum()) / spent * 3600 if spent > 0 else None


def estimate_rater_pace_slope(seconds: Floats, words: Floats) -> tuple[float, float] | None:
    """Learning or fatigue of one rater: change of log seconds per word over a hundred judgments, and its p.

    Negative means faster. Judgments are in the order of work; None for fewer than three timed judgments with words. The
    measure is our own (docs/hours-and-progress.md).
    """
    known = ~np.isnan(words) & ~np.isnan(seconds) & (seconds > 0) & (words > 0)
    if known.sum() < 3:
        return None
    order: npt.NDArray[np.float64] = np.flatnonzero(known) / 100.0
    slope, p_value = fit_least_squares_trend(order, np.log(seconds[known] / words[known]))
    return slope, p_value
