"""The report on revisions, for managers: how often answers change."""

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
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.quality.report import select_rating_events
from app.stats.ranking.result import METHOD_VERSION
from app.stats.ratings import RatingLevel
from app.stats.timing.work_time import AnswerRevisionCounts, count_changed_scores
from app.storage.db import Session

NO_SCORES = "no segment is scored yet, so nothing was revised; collect or import judgments"


@dataclass(frozen=True, slots=True)
class RaterRevisions:
    """How often one rater changed answers."""

    rater: str
    revisions: AnswerRevisionCounts


class RevisionsView(RaterReportHeader):
    """Answers whose score changed after it was first given."""

    overall: AnswerRevisionCounts
    raters: list[RaterRevisions]
    warnings: list[str]


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], _: NoOptions
) -> ReportComputation[RevisionsView]:
    return make_undivided_computation(partial(_result, load_ratings_with_times(session, snapshots[0])))


def _result(ratings: RatingsWithTimes) -> RevisionsView:
    once = mask_first_rows_of_judgments(ratings.rows) & (ratings.rows.kind == RatingLevel.SEGMENT)
    rows, events = ratings.rows.where(once), select_rating_events(ratings.events, once)
    units = encode_shown_documents(rows)
    raters = []
    for code in np.unique(rows.rater).tolist():
        mine = rows.rater == code
        rates = count_changed_scores(select_rating_events(events, mine), rows.score[mine], units[mine])
        raters.append(RaterRevisions(rows.labels.raters[code], rates))
    overall = count_changed_scores(events, rows.score, units)
    warnings = [] if raters else [NO_SCORES]
    return RevisionsView(**ratings.head.model_dump(), overall=overall, raters=raters, warnings=warnings)


def _share(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f} %"


COLUMNS: Sequence[Column[RaterRevisions]] = (
    Column(heading="Rater", key="rater", text=lambda row: text_formatting.make_printable(row.rater), names=True),
    Column(heading="Segments", key="segments", value=attrgetter("revisions.segments"), digits=0),
    Column(heading="Changed", key="changed_segments", value=attrgetter("revisions.changed_segments"), digits=0),
    Column(
        heading="Rate",
        key="segment_rate",
        value=attrgetter("revisions.segment_rate"),
        digits=1,
        text=lambda row: _share(row.revisions.segment_rate),
    ),
    Column(heading="Documents", key="documents", value=attrgetter("revisions.documents"), digits=0),
    Column(heading="Changed", key="changed_documents", value=attrgetter("revisions.changed_documents"), digits=0),
    Column(
        heading="Rate",
        key="document_rate",
        value=attrgetter("revisions.document_rate"),
        digits=1,
        text=lambda row: _share(row.revisions.document_rate),
    ),
)


def _tables(report: RevisionsView) -> Sequence[TableSection]:
    """Make one row per rater, and one for all raters."""
    rows = [*report.raters, RaterRevisions("all", report.overall)]
    return [make_table_section(f"{report.campaign}: revisions", COLUMNS, rows)]


def _caption(report: RevisionsView) -> str:
    """Say what the figures are and which data they come from."""
    origin = f"Data version {report.data_version}, method {report.method_version}."
    return f"Answers whose score changed after it was first given. {origin}"


def _bars(report: RevisionsView) -> bytes:
    """Draw the share of answers whose score changed."""
    rates = [(row.rater, row.revisions.segment_rate or 0.0, row.revisions.segments) for row in report.raters]
    return plot_rater_bars(
        f"Revised answers in {report.campaign}",
        "Share of answers whose score changed",
        [(rater, rate, f"{100 * rate:.1f} % of {n:,}") for rater, rate, n in rates],
        [f"Data version {report.data_version}.", *map(text_formatting.make_sentence, report.warnings)],
    )


_CHANGED = AnswerRevisionCounts(1850, 35, 300, 27, 35 / 1850, 0.09)
EXAMPLE = RevisionsView(
    campaign="esa-ende",
    data_version=7,
    data_hash="sha256:" + "5e" * 32,
    method_version=METHOD_VERSION,
    protocol="esa",
    overall=_CHANGED,
    raters=[RaterRevisions("rater1", _CHANGED)],
    warnings=[],
)
REPORT: Report[NoOptions, RevisionsView] = Report(
    name="revisions",
    title="Revised answers",
    summary="Share of answers, and of documents, whose score changed after it was first given.",
    options=NoOptions,
    result=RevisionsView,
    example=EXAMPLE.model_dump(mode="json"),
    prepare=_prepare,
    tables=_tables,
    csv=make_csv_rows_function(COLUMNS, attrgetter("raters")),
    charts={"default": _bars},
    caption=_caption,
    role="manager",
    own_routes=True,
    single=SingleTableHeadings("revisions of raters", "{campaign}: revisions of raters"),
)
