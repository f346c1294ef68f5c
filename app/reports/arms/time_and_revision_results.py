"""Lines of a comparison of conditions: volumes, times, pace and revisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from app.reports.agreement.view import Interval
from app.reports.arms.judgments import ArmNameAndPresentation
from app.reports.kit import text_formatting
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Alignment, Table
from app.stats.arms.pace import JudgmentPaces, PaceSlope, estimate_fatigue_slope, estimate_learning_slope
from app.stats.arms.times import (
    TimedJudgments,
    UnitDurations,
    compare_durations,
    group_judgments_by_document,
    measure_durations_by_unit_kind,
)
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.quality.report import select_rating_events
from app.stats.rating_metadata import RatingEventTable
from app.stats.ratings import RatingLevel
from app.stats.timing.work_time import (
    compute_mean_duration_percent_change,
    compute_words_per_hour,
    count_changed_scores,
    format_duration,
    summarize_trimmed_durations,
)

Times = Sequence[Mapping[tuple[str, str], UnitDurations]]
KINDS = {
    "segment": "one segment score",
    "per_word": "one word of the source",
    "first_third": "segment in the first third",
    "last_third": "segment in the last third",
    "between_starts": "from one beginning to the next",
    "document_score": "one document score",
    "document": "document",
    "task": "task",
}
DOCUMENTS = {"all": "", "short": "of at most 10 segments", "long": "of at least 20 segments"}
NOTHING = "nothing is judged yet; collect or import judgments"
NO_TIMES = "no judgment has start and end times, so there are no durations; import times if they are known"
FEW_RATERS = 5


class ArmWorkVolume(FrozenFiniteResultModel):
    """How much was judged under a condition, and how fast."""

    arm: str
    presentation: str | None
    n_raters: int
    tasks: int
    documents: int
    segments: int = Field(description="Different source segments.")
    judgments: int
    timed: int = Field(description="Judgments with a known duration.")
    hours: float | None = Field(description="Hours of the timed judgments.")
    words_per_hour: float | None = Field(description="Words of the sources per hour, over all judgments together.")


class ArmTime(FrozenFiniteResultModel):
    """Durations of one kind of unit under one condition, in seconds (for words: seconds per word).

    Values outside the 10th to 90th percentile of the same kind and condition are left out of mean and SD.
    """

    arm: str
    what: str
    documents: str = Field(description="all, short, long, or a range of segments.")
    n: int
    kept: int
    low: float
    high: float
    mean: float
    sd: float | None
    median: float | None = Field(None, description="Median of all durations, with nothing left out.")
    change: float | None = Field(description="Change in percent, against the mean of the first condition.")
    ratio: float | None = Field(
        description="Geometric mean over raters of the time as a multiple of that in the first condition."
    )
    ratio_interval: Interval | None
    ratio_raters: int | None
    ratio_design: Literal["within", "between"] | None = Field(
        description="Whether the raters worked in both conditions, or different raters in each."
    )


class ArmPaceTrend(FrozenFiniteResultModel):
    """Change of log seconds per word over a hundred judgments, mean over raters; negative is faster."""

    arm: str
    what: Literal["learning", "fatigue"] = Field(description="Over all of a rater's work, or within a task.")
    slope: float
    interval: Interval | None
    n_raters: int


class ArmRevisions(FrozenFiniteResultModel):
    """Revised answers under a condition."""

    arm: str
    segments: int
    changed_segments: int
    segment_rate: float | None
    segment_change: float | None = Field(description="Change in percent, against the first condition.")
    documents: int
    changed_documents: int
    document_rate: float | None
    document_change: float | None


def count_arm_work_volume(condition: ArmNameAndPresentation, timed_judgments: TimedJudgments) -> ArmWorkVolume:
    """Count the judgments, raters, documents and hours of one condition."""
    once = timed_judgments.one_row_per_judgment()
    rows = once.rows
    known = ~np.isnan(once.seconds)
    segment = rows.kind == RatingLevel.SEGMENT
    return ArmWorkVolume(
        arm=condition.name,
        presentation=condition.presentation,
        n_raters=np.unique(rows.rater).size,
        tasks=np.unique(np.stack((rows.rater, rows.task)), axis=1).shape[1],
        documents=np.unique(rows.document).size,
        segments=np.unique(rows.segment[segment]).size,
        judgments=len(rows),
        timed=int(known.sum()),
        hours=float(once.seconds[known].sum()) / 3600 if known.any() else None,
        words_per_hour=compute_words_per_hour(once.words[segment], once.seconds[segment]),
    )


def compare_arm_times(condition_names: Sequence[str], times_by_condition: Times) -> Iterator[ArmTime]:
    """Yield the times of every kind of unit by condition, each compared with the first condition."""
    for key in sorted({key for one in times_by_condition for key in one}, key=_order):
        base = times_by_condition[0].get(key)
        before = summarize_trimmed_durations(base.seconds) if base else None
        for i, (name, times_by_unit) in enumerate(zip(condition_names, times_by_condition, strict=True)):
            here = times_by_unit.get(key)
            after = summarize_trimmed_durations(here.seconds) if here else None
            if here is None or after is None:
                continue
            time_ratio = compare_durations(base, here) if i and base else None
            yield ArmTime(
                arm=name,
                what=key[0],
                documents=key[1],
                n=after.n,
                kept=after.kept,
                low=after.low,
                high=after.high,
                mean=after.mean,
                sd=after.sd,
                median=after.median,
                change=compute_mean_duration_percent_change(before, after) if i else None,
                ratio=time_ratio.ratio if time_ratio else None,
                ratio_interval=time_ratio.interval if time_ratio else None,
                ratio_raters=time_ratio.raters if time_ratio else None,
                ratio_design=time_ratio.design if time_ratio else None,
            )


def _order(key: tuple[str, str]) -> tuple[int, int, int]:
    named = list(DOCUMENTS)
    if key[1] in named:
        return (list(KINDS).index(key[0]), named.index(key[1]), 0)
    return (list(KINDS).index(key[0]), len(named), int(key[1].split("–")[0].split()[0]))


def estimate_arm_pace_trends(condition_names: Sequence[str], paces: JudgmentPaces) -> Iterator[ArmPaceTrend]:
    """Yield learning and fatigue for each condition where they can be estimated."""
    for i, name in enumerate(condition_names):
        if (slope := estimate_learning_slope(paces, i)) is not None:
            yield _pace(name, "learning", slope)
        if (slope := estimate_fatigue_slope(paces, i)) is not None:
            yield _pace(name, "fatigue", slope)


def _pace(name: str, what: Literal["learning", "fatigue"], slope: PaceSlope) -> ArmPaceTrend:
    return ArmPaceTrend(arm=name, what=what, slope=slope.mean, interval=slope.interval, n_raters=slope.raters)


def count_arm_revisions(
    condition_names: Sequence[str], condition_rows: Sequence[tuple[TimedJudgments, RatingEventTable]]
) -> Iterator[ArmRevisions]:
    """Yield how often segment scores were changed, by condition."""
    base: tuple[float | None, float | None] = (None, None)
    for i, (name, (work, events)) in enumerate(zip(condition_names, condition_rows, strict=True)):
        keep = mask_first_rows_of_judgments(work.rows) & (work.rows.kind == RatingLevel.SEGMENT)
        segments = work.where(keep)
        changes = count_changed_scores(
            select_rating_events(events, keep), segments.rows.score, group_judgments_by_document(segments).code
        )
        rates = (changes.segment_rate, changes.document_rate)
        base = rates if i == 0 else base
        yield ArmRevisions(
            arm=name,
            segments=changes.segments,
            changed_segments=changes.changed_segments,
            segment_rate=changes.segment_rate,
            segment_change=_percent(base[0], rates[0]) if i else None,
            documents=changes.documents,
            changed_documents=changes.changed_documents,
            document_rate=changes.document_rate,
            document_change=_percent(base[1], rates[1]) if i else None,
        )


def _percent(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else 100 * (after - before) / before


def measure_condition_times(condition_rows: Sequence[tuple[TimedJudgments, RatingEventTable]]) -> Times:
    """Measure the durations in each condition."""
    return [measure_durations_by_unit_kind(work) for work, _ in condition_rows]


def list_time_warnings(
    volumes: Sequence[ArmWorkVolume], paces: Sequence[ArmPaceTrend], times: Sequence[ArmTime]
) -> Iterator[str]:
    """Yield what readers must know about the times."""
    if not any(one.judgments for one in volumes):
        yield NOTHING
        return
    n, timed = sum(one.judgments for one in volumes), sum(one.timed for one in volumes)
    if not timed:
        yield NO_TIMES
    elif timed < n:
        yield (
            f"{n - timed} of {n} judgments have no duration of their own, so times leave them out; import their times "
            "if they are known"
        )
    for arm_volume in volumes:
        if arm_volume.judgments and arm_volume.n_raters < FEW_RATERS:
            raters = text_formatting.pluralize(arm_volume.n_raters, "rater")
            yield f"{arm_volume.arm}: only {raters}, so its times may not hold for others; let more raters work in it"
    if any((one.ratio_design, one.what, one.documents) == ("between", "segment", "all") for one in times):
        yield (
            "conditions were judged by different raters, so a difference may be due to the raters; let each rater "
            "work in several conditions"
        )
    if timed and not paces:
        yield (
            f"learning and fatigue cannot be estimated: no rater has {FEW_RATERS} timed judgments of texts of "
            "known length; collect more"
        )


def describe_unit_kind(time: ArmTime) -> str:
    """Describe the kind of unit in words."""
    known = DOCUMENTS.get(time.documents, f"of {time.documents} segments")
    words = KINDS[time.what]
    if not known:
        return words
    return f"{words} {known}" if time.what == "document" else f"{words}, document {known}"


def make_volume_table(volumes: Sequence[ArmWorkVolume]) -> Table:
    """Make one row per condition."""
    heads = (
        "Condition",
        "Shown as",
        "Raters",
        "Tasks",
        "Documents",
        "Segments",
        "Judgments",
        "Hours",
        "Words per hour",
    )
    rows = tuple(
        (
            *(one.arm, (one.presentation or "–").replace("_", " "), f"{one.n_raters:,}", f"{one.tasks:,}"),
            *(f"{one.documents:,}", f"{one.segments:,}", f"{one.judgments:,}"),
            *(text_formatting.format_number(one.hours, 1), text_formatting.format_number(one.words_per_hour, 0)),
        )
        for one in volumes
    )
    return Table(heads, _sides(len(heads), 2), rows)


def make_time_table(times: Sequence[ArmTime]) -> Table:
    """Make one row per kind of unit and condition."""
    heads = ("Time of", "Condition", "n", "Mean ± SD", "Change", "Ratio", "95 % interval", "Raters")
    rows = tuple(
        (
            *(describe_unit_kind(one), one.arm, f"{one.n:,}", format_mean_and_sd(one)),
            *(
                format_percent_change(one.change),
                text_formatting.format_number(one.ratio, 2),
                text_formatting.format_interval(one.ratio_interval, 2),
            ),
            "–" if one.ratio_raters is None else f"{one.ratio_raters} {one.ratio_design}",
        )
        for one in times
    )
    return Table(heads, _sides(len(heads), 2), rows)


def format_mean_and_sd(time: ArmTime) -> str:
    """Format mean and SD as clock times, or in seconds for words."""
    if time.what == "per_word":
        return f"{time.mean:.2f} s" + ("" if time.sd is None else f" ± {time.sd:.2f} s")
    return format_duration(time.mean) + ("" if time.sd is None else f" ± {format_duration(time.sd)}")


def format_percent_change(value: float | None) -> str:
    """Format a change as a percentage with its sign."""
    if value is None:
        return "–"
    return f"{text_formatting.format_number(value, 1)} %" if value < 0 else f"+{value:.1f} %"


def make_pace_trend_table(trends: Sequence[ArmPaceTrend]) -> Table:
    """Make one row per condition and slope."""
    heads = ("Condition", "Slope", "Change in time per word", "95 % interval", "Raters")
    rows = tuple(
        (
            one.arm,
            "over all work" if one.what == "learning" else "within a task",
            format_percent_change(100 * (float(np.exp(one.slope)) - 1)),
            "–"
            if one.interval is None
            else "[{}, {}]".format(*(format_percent_change(100 * (float(np.exp(end)) - 1)) for end in one.interval)),
            f"{one.n_raters:,}",
        )
        for one in trends
    )
    return Table(heads, ("left", "left", "right", "left", "right"), rows)


def make_revision_table(revisions: Sequence[ArmRevisions]) -> Table:
    """Make one row per condition."""
    heads = (
        "Condition",
        "Segments",
        "Changed",
        "Rate",
        "Change",
        "Documents",
        "With a change",
        "Rate",
        "Change",
    )
    rows = tuple(
        (
            *(one.arm, f"{one.segments:,}", f"{one.changed_segments:,}"),
            *(_share(one.segment_rate), format_percent_change(one.segment_change)),
            *(f"{one.documents:,}", f"{one.changed_documents:,}"),
            *(_share(one.document_rate), format_percent_change(one.document_change)),
        )
        for one in revisions
    )
    return Table(heads, _sides(len(heads), 1), rows)


def _share(rate: float | None) -> str:
    return "–" if rate is None else f"{100 * rate:.1f} %"


def _sides(n: int, left: int) -> tuple[Alignment, ...]:
    return tuple("left" if i < left else "right" for i in range(n))
