"""The report on the quality of raters' work, for managers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from app.domain.recipe import ScoringChoice
from app.protocols.base import SpansWidget
from app.reports.inputs.scores import resolve_score_definition
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.timed_ratings import RatingsWithTimes, load_ratings_with_times
from app.reports.kit.report import Report, ReportComputation, SingleTableHeadings, make_undivided_computation
from app.reports.quality.chart import plot_control_differences
from app.reports.quality.tables import make_caption, make_csv_rows, make_tables
from app.reports.quality.view import RaterQualityOptions, RaterQualityView
from app.stats.quality.controls import RaterControlTest
from app.stats.quality.drift import SeverityDrift
from app.stats.quality.habits import ScoringHabits
from app.stats.quality.panel import RaterPanelComparison
from app.stats.quality.quality_criteria import RaterQualityCriteria
from app.stats.quality.repeats import RepeatConsistency
from app.stats.quality.report import RaterQuality, make_rater_quality_report
from app.stats.quality.seeded_errors import (
    AttentionCheckCounts,
    SeededErrorHits,
    count_attention_check_results,
    count_seeded_error_hits,
)
from app.stats.quality.speed import RaterPace
from app.stats.ranking.result import METHOD_VERSION
from app.storage import seeded_errors
from app.storage.db import Session


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: RaterQualityOptions
) -> ReportComputation[RaterQualityView]:
    read = load_ratings_with_times(session, snapshots[0], on=options.on)
    return make_undivided_computation(partial(_result, read, _load_seeded_errors(session, snapshots[0], read), options))


@dataclass(frozen=True, slots=True)
class _SeededErrorCounts:
    """Results on errors that were inserted into texts, by rater."""

    attention: Mapping[str, AttentionCheckCounts]
    span_hits: Mapping[str, SeededErrorHits]


def _load_seeded_errors(session: Session, snapshot: CampaignSnapshot, read: RatingsWithTimes) -> _SeededErrorCounts:
    form = resolve_score_definition(snapshot.campaign, ScoringChoice()).protocol.form
    field = next((widget.field for widget in form if isinstance(widget, SpansWidget)), None)
    texts = (
        []
        if field is None
        else seeded_errors.load_judged_degraded_segments(session, snapshot.campaign_id, read.judgment_ids, field=field)
    )
    return _SeededErrorCounts(
        count_attention_check_results(
            seeded_errors.load_imported_attention_check_results(session, snapshot.campaign_id, read.judgment_ids)
        ),
        count_seeded_error_hits(texts),
    )


def _result(read: RatingsWithTimes, errors: _SeededErrorCounts, options: RaterQualityOptions) -> RaterQualityView:
    evidence = make_rater_quality_report(read.rows, read.events, read.words, options.to_criteria())
    return RaterQualityView(
        **read.head.model_dump(),
        on=options.on,
        choices=options.to_criteria(),
        higher_is_better=evidence.higher_is_better,
        unit=evidence.unit,
        n_judgments=evidence.n_judgments,
        counts=evidence.counts,
        raters=[
            replace(rater, attention=errors.attention.get(rater.rater), span_hits=errors.span_hits.get(rater.rater))
            for rater in evidence.raters
        ],
        warnings=list(evidence.warnings),
        alike=list(evidence.alike),
    )


EXAMPLE = RaterQualityView(
    campaign="esa-ende",
    data_version=7,
    data_hash="sha256:" + "5e" * 32,
    method_version=METHOD_VERSION,
    protocol="esa",
    on="score",
    choices=RaterQualityCriteria(),
    higher_is_better=True,
    unit="segment",
    n_judgments=1850,
    counts={"pass": 1, "fail": 0, "not_testable": 0},
    raters=[
        RaterQuality(
            rater="rater1",
            n_judgments=1850,
            verdict="pass",
            why=None,
            completion="complete",
            control=RaterControlTest(10, 0, 2.0, 0.0029296875, 0.0029296875, -28.0, 0.9, "pass"),
            repeats=RepeatConsistency(8, 6.4, 0.81, 0.75, 10.0),
            panel=RaterPanelComparison("panel", 120, 2.1, -2.1, 2.1, 0.94, 0.58),
            habits=ScoringHabits(1850, 74, 4, 3.6, 0.31, 0.42, 11 / 101, 0.4, 0.55),
            speed=RaterPace(1850, 29.1, 1.2, 0.96),
            drift=SeverityDrift(120, None, 0, 3.1, 0.9, 0.04, 0.4),
            flags=(),
        )
    ],
    warnings=[],
)
REPORT: Report[RaterQualityOptions, RaterQualityView] = Report(
    name="quality",
    title="Quality of the raters' work",
    summary="Control items, repeats, level compared with the others, pace, habits and drift of each rater.",
    options=RaterQualityOptions,
    result=RaterQualityView,
    example=EXAMPLE.model_dump(mode="json"),
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_control_differences},
    caption=make_caption,
    role="manager",
    own_routes=True,
    quick=2_000,  # .2 ms per judgment: the tests of each rater use random draws
    single=SingleTableHeadings("quality of raters", "{campaign}: quality of raters"),
)
