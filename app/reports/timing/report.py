"""The report on time, for managers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.timed_ratings import (
    RaterReportHeader,
    RatingsWithTimes,
    encode_shown_documents,
    load_ratings_with_times,
)
from app.reports.kit import text_formatting
from app.reports.kit.charts.rater_bars import plot_rater_bars
from app.reports.kit.columns import NONE, Column, make_csv_rows_function, make_table_section
from app.reports.kit.report import (
    NoOptions,
    Report,
    ReportComputation,
    SingleTableHeadings,
    TableSection,
    make_undivided_computation,
)
from app.stats.plain_values import number_or_none
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.quality.report import select_rating_events
from app.stats.ranking.result import METHOD_VERSION
from app.stats.rating_metadata import RatingEventTable
from app.stats.ratings import Codes, Floats, RatingLevel, Ratings, encode_column_combinations
from app.stats.timing.work_time import (
    TrimmedDurationStatistics,
    compute_words_per_hour,
    estimate_rater_pace_slope,
    format_duration,
    summarize_trimmed_durations,
)
from app.storage.db import Session

SHORT, LONG = 10, 20
"""A document is short up to the first number of segments, and long from the second (Grundkiewicz et al. 2021)."""
NO_TIMES = "no judgment has start and end times, so there are no durations; import times if they are known"


@dataclass(frozen=True, slots=True)
class DurationSummary:
    """Trimmed durations of one kind of unit."""

    what: str
    times: TrimmedDurationStatistics | None


@dataclass(frozen=True, slots=True)
class RaterTimeSummary:
    """One rater. n: judgments with a time. hours: their sum. times: trimmed seconds of one. words_per_hour: of the
    sources. slope: change of log seconds per word over a hundred judgments, negative is faster; slope_p of it."""

    rater: str
    n: int
    hours: float
    times: TrimmedDurationStatistics | None
    words_per_hour: float | None
    slope: float | None
    slope_p: float | None


class TimingView(RaterReportHeader):
    """Durations from start to hand-in, leaving out values outside the 10th to 90th percentile of their kind."""

    durations: list[DurationSummary]
    raters: list[RaterTimeSummary]
    warnings: list[str]


def _prepare(session: Session, snapshots: tuple[CampaignSnapshot, ...], _: NoOptions) -> ReportComputation[TimingView]:
    return make_undivided_computation(partial(_result, load_ratings_with_times(session, snapshots[0])))


def _result(read: RatingsWithTimes) -> TimingView:
    once = mask_first_rows_of_judgments(read.rows)
    rows, events, words = read.rows.where(once), select_rating_events(read.events, once), read.words[once]
    known = (events.started >= 0) & (events.submitted > events.started)
    seconds = np.where(known, (events.submitted - events.started) / 1e6, np.nan)
    raters = [_rater(rows, events, seconds, words, code) for code in np.unique(rows.rater[known]).tolist()]
    warnings = [] if known.any() else [NO_TIMES]
    if known.any() and not known.all():
        warnings.append(
            f"{int((~known).sum())} of {known.size} judgments have no duration of their own, so times leave them out; "
            "import their times if they are known"
        )
    return TimingView(**read.head.model_dump(), durations=_durations(rows, seconds), raters=raters, warnings=warnings)


def _rater(rows: Ratings, events: RatingEventTable, seconds: Floats, words: Floats, code: int) -> RaterTimeSummary:
    mine = np.flatnonzero((rows.rater == code) & ~np.isnan(seconds))
    mine = mine[np.argsort(events.submitted[mine], kind="stable")]
    spent, shown = seconds[mine], words[mine]
    slope = estimate_rater_pace_slope(spent, shown)
    return RaterTimeSummary(
        rater=rows.labels.raters[code],
        n=mine.size,
        hours=float(spent.sum()) / 3600,
        times=summarize_trimmed_durations(spent),
        words_per_hour=compute_words_per_hour(shown, spent),
        slope=None if slope is None else number_or_none(slope[0]),
        slope_p=None if slope is None else number_or_none(slope[1]),
    )


def _durations(rows: Ratings, seconds: Floats) -> list[DurationSummary]:
    """Return the durations of a segment score, a document score, a shown document (by length) and a task.

    Durations of documents and tasks are sums over their judgments.
    """
    segment = rows.kind == RatingLevel.SEGMENT
    shown, size = _sums(seconds, encode_shown_documents(rows))
    task, _ = _sums(seconds, encode_column_combinations(rows.rater, rows.task))
    samples = (
        ("segment score", seconds[segment & ~np.isnan(seconds)]),
        ("document score", seconds[~segment & ~np.isnan(seconds)]),
        ("document", shown),
        (f"document of at most {SHORT} segments", shown[size <= SHORT]),
        (f"document of at least {LONG} segments", shown[size >= LONG]),
        ("task", task),
    )
    return [DurationSummary(what, summarize_trimmed_durations(values)) for what, values in samples if values.size]


def _sums(seconds: Floats, unit: Codes) -> tuple[Floats, Codes]:
    """Return the seconds and the number of judgments of the units in which every judgment has a time."""
    size = np.bincount(unit)
    total = np.bincount(unit, weights=seconds).astype(np.float64)
    whole = ~np.isnan(total)
    return total[whole], size[whole].astype(np.int32)


def _mean_clock(rater: RaterTimeSummary) -> str:
    return NONE if rater.times is None else format_duration(rater.times.mean)


def _words_per_hour(rater: RaterTimeSummary) -> str:
    return NONE if rater.words_per_hour is None else f"{rater.words_per_hour:,.0f}"


COLUMNS: Sequence[Column[RaterTimeSummary]] = (
    Column(heading="Rater", key="rater", text=lambda rater: text_formatting.make_printable(rater.rater), names=True),
    Column(heading="Judgments", key="judgments", value=attrgetter("n"), digits=0),
    Column(heading="Hours", key="hours", digits=1, text=lambda rater: f"{rater.hours:.1f}"),
    Column(heading="Mean time", digits=0, text=_mean_clock),
    Column(key="mean_seconds", value=lambda rater: rater.times.mean if rater.times else None),
    Column(key="sd_seconds", value=lambda rater: rater.times.sd if rater.times else None),
    Column(heading="Words per hour", key="words_per_hour", digits=0, text=_words_per_hour),
    Column(heading="Slope", key="slope", digits=2),
    Column(key="slope_p"),
)


def _tables(report: TimingView) -> Sequence[TableSection]:
    return [make_table_section(f"{report.campaign}: timing", COLUMNS, report.raters)]


def _caption(report: TimingView) -> str:
    """Say what the figures are and which data they come from."""
    times = [
        f"{each.what} {format_duration(each.times.mean)}"
        + (f" ± {format_duration(each.times.sd)}" if each.times.sd is not None else "")
        for each in report.durations
        if each.times
    ]
    return (
        f"Trimmed means ± SD (10th to 90th percentile): {'; '.join(times) or 'none'}. "
        f"Data version {report.data_version}, method {report.method_version}."
    )


def _bars(report: TimingView) -> bytes:
    """Draw the mean seconds of a judgment."""
    timed = [(rater.rater, rater.times.mean, rater.n) for rater in report.raters if rater.times]
    return plot_rater_bars(
        f"Time of a judgment in {report.campaign}",
        "Trimmed mean by rater (judgments with a time)",
        [(rater, mean, f"{format_duration(mean)} ({n:,})") for rater, mean, n in timed],
        [f"Data version {report.data_version}.", *map(text_formatting.make_sentence, report.warnings)],
    )


_TIMES = TrimmedDurationStatistics(n=1850, kept=1480, low=7.3, high=124.6, mean=38.4, sd=27.9, median=29.1)
EXAMPLE = TimingView(
    campaign="esa-ende",
    data_version=7,
    data_hash="sha256:" + "5e" * 32,
    method_version=METHOD_VERSION,
    protocol="esa",
    durations=[DurationSummary("segment score", _TIMES)],
    raters=[RaterTimeSummary("rater1", 1850, 19.7, _TIMES, 2100.0, -0.12, 0.003)],
    warnings=[],
)
REPORT: Report[NoOptions, TimingView] = Report(
    name="timing",
    title="Judging times",
    summary="Trimmed durations by kind of unit; hours, words per hour and change of pace of each rater.",
    options=NoOptions,
    result=TimingView,
    example=EXAMPLE.model_dump(mode="json"),
    prepare=_prepare,
    tables=_tables,
    csv=make_csv_rows_function(COLUMNS, attrgetter("raters")),
    charts={"default": _bars},
    caption=_caption,
    role="manager",
    own_routes=True,
    single=SingleTableHeadings("timing of raters", "{campaign}: timing of raters"),
)
