"""Two presentations compared: arms of one campaign, or campaigns on the same documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.reports.arms import time_and_revision_results
from app.reports.arms.judgments import (
    ArmNameAndPresentation,
    JudgmentInclusionOptions,
    JudgmentsByCondition,
    count_dropped_judgments,
    load_judgments_by_condition,
    make_unfinished_tasks_cache_key,
)
from app.reports.arms.report import ONE, order_conditions
from app.reports.arms.time_and_revision_results import ArmPaceTrend
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.presentations import score_and_agreement_results as of_scores
from app.reports.presentations.conclusions import make_conclusion_sentences
from app.reports.presentations.matching import (
    ConditionRowsWithTexts,
    Match,
    MatchedRows,
    Outputs,
    Places,
    match_rows_across_conditions,
)
from app.reports.presentations.view import (
    PresentationsView,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_scores_and_agreement,
    plot_times_by_document_length,
)
from app.stats.agreement.score_distributions import make_histogram_bins
from app.stats.arms.score_spread import mask_ratings_compared_between_arms
from app.stats.arms.times import TimedJudgments
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.quality.report import select_rating_events
from app.stats.rating_metadata import DocumentTable, RatingEventTable
from app.stats.ratings import Ratings
from app.storage.arms import load_output_digests
from app.storage.db import Session
from app.storage.segment_words import load_source_digests

NOT_SHARED = (
    "no document was judged under every condition; documents are matched by key and text, so have the same documents "
    "judged under each"
)
SCALES = "the campaigns score on different scales"
WITH_CONTROL = "document with a control item"
OTHER_ROLE = "control or calibration item"


class PresentationsOptions(JudgmentInclusionOptions):
    """Which judgments are compared, and with which condition."""

    match: Literal["auto", "none", "documents", "outputs"] = Field(
        "auto",
        description="Use all judgments of each condition, only those of shared documents, or only those of shared "
        "outputs. Default: shared documents for several campaigns, all judgments for the arms of one.",
    )
    baseline: Annotated[str, StringConstraints(max_length=300)] | None = Field(
        None, description="The condition (campaign or arm) with which the others are compared; default: the first."
    )
    controls: Literal["drop", "keep"] = Field(
        "drop", description="Documents in which a rater met a control item, where scores are compared."
    )


@dataclass(frozen=True, slots=True)
class ComparedCondition:
    """A condition. work, events: its rows. scored: the rows whose scores are compared, one per judgment."""

    condition: ArmNameAndPresentation
    work: TimedJudgments
    events: RatingEventTable
    documents: DocumentTable
    scored: Ratings


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: PresentationsOptions
) -> ReportComputation[PresentationsView]:
    campaign_conditions = [load_judgments_by_condition(session, one, options) for one in snapshots]
    match: Match = (
        options.match if options.match != "auto" else ("documents" if len(campaign_conditions) > 1 else "none")
    )
    texts: list[tuple[Places, Outputs]] = [
        (
            load_source_digests(session, one.campaign_id) if match != "none" else {},
            load_output_digests(session, one.campaign_id) if match == "outputs" else {},
        )
        for one in snapshots
    ]
    if len({(one.work.rows.scale, one.work.rows.higher_is_better) for one in campaign_conditions}) > 1:
        raise Invalid("the question does not fit the campaigns", places=(Place(("query", "campaigns"), SCALES),))
    order = order_conditions([one.name for one in _name_conditions(campaign_conditions)], options.baseline)
    return make_undivided_computation(lambda: _view(campaign_conditions, texts, options, match, order))


def _name_conditions(campaign_conditions: Sequence[JudgmentsByCondition]) -> list[ArmNameAndPresentation]:
    """Return conditions with distinct names: for several campaigns, the campaign's key and, if it has any, the arm."""
    if len(campaign_conditions) == 1:
        return list(campaign_conditions[0].names)
    return [
        ArmNameAndPresentation(
            f"{one.snapshot.campaign.key}: {each.name}" if len(one.names) > 1 else one.snapshot.campaign.key,
            each.presentation,
        )
        for one in campaign_conditions
        for each in one.names
    ]


def _view(
    campaign_conditions: Sequence[JudgmentsByCondition],
    texts: Sequence[tuple[Places, Outputs]],
    options: PresentationsOptions,
    match: Match,
    order: Sequence[int],
) -> PresentationsView:
    names = _name_conditions(campaign_conditions)
    owner = [(i, place) for i, one in enumerate(campaign_conditions) for place in range(len(one.names))]
    parts = [campaign_conditions[i].select_condition_rows(place) for i, place in owner]
    sides = [ConditionRowsWithTexts(work.rows, *texts[i]) for (i, _), (work, _) in zip(owner, parts, strict=True)]
    shared = match_rows_across_conditions(sides, match)
    each = [
        _compare_condition(names[k], parts[k], campaign_conditions[owner[k][0]].documents, shared.keep[k], options)
        for k in order
    ]
    dropped = list(_list_dropped_rows(campaign_conditions, sides, shared, each, match))
    return _make_view(campaign_conditions, each, options, match, dropped)


def _compare_condition(
    condition: ArmNameAndPresentation,
    part: tuple[TimedJudgments, RatingEventTable],
    documents: DocumentTable,
    keep: np.ndarray,
    options: PresentationsOptions,
) -> ComparedCondition:
    work, events = part
    compared = mask_ratings_compared_between_arms(work.rows, with_controls=options.controls == "keep")
    scored = work.rows.where(compared & keep)
    whole_task = work.whole_task & bool(keep.all())  # the time of a part says nothing about that of a task
    matched_work = replace(work, whole_task=whole_task).where(keep)
    return ComparedCondition(condition, matched_work, select_rating_events(events, keep), documents, scored)


def _make_view(
    campaign_conditions: Sequence[JudgmentsByCondition],
    each: Sequence[ComparedCondition],
    options: PresentationsOptions,
    match: Match,
    dropped: list[dict[str, Any]],
) -> PresentationsView:
    names = [one.condition.name for one in each]
    parts = [(one.work, one.events) for one in each]
    volumes = [time_and_revision_results.count_arm_work_volume(one.condition, one.work) for one in each]
    times, revisions = (
        list(
            time_and_revision_results.compare_arm_times(names, time_and_revision_results.measure_condition_times(parts))
        ),
        list(time_and_revision_results.count_arm_revisions(names, parts)),
    )
    pace = _pace(campaign_conditions, names)
    spread = [line for one in each for line in of_scores.measure_score_spreads(one.condition.name, one.scored)]
    scale = each[0].scored.scale if each else None
    values = np.concatenate([one.scored.segment_ratings().score for one in each]) if each else np.empty(0)
    into = make_histogram_bins(values, scale)
    agreement = [
        line
        for one in each
        for line in of_scores.measure_rater_agreement(one.condition.name, one.scored, one.documents.segments, scale)
    ]
    pairs = list(of_scores.compare_with_first_condition(names, [one.scored for one in each])) if each else []
    return PresentationsView(
        campaigns={one.snapshot.campaign.key: one.snapshot.version for one in campaign_conditions},
        data_hash=_hash(campaign_conditions),
        basis=", ".join(sorted({one.snapshot.campaign.basis for one in campaign_conditions})),
        dropped=dropped,
        warnings=[*time_and_revision_results.list_time_warnings(volumes, pace, times), *_warnings(each, match)],
        match=match,
        controls=options.controls,
        rejected=options.rejected,
        raters=options.raters,
        baseline=names[0] if names else None,
        higher_is_better=campaign_conditions[0].work.rows.higher_is_better,
        tolerance=of_scores.choose_agreement_tolerance(scale),
        bins=list(into.labels) if values.size else [],
        arms=volumes,
        times=times,
        pace=pace,
        revisions=revisions,
        spread=spread,
        histograms=[
            of_scores.ArmScoreHistogram(
                arm=one.condition.name, shares=list(into.shares(one.scored.segment_ratings().score))
            )
            for one in each
            if len(one.scored.segment_ratings())
        ],
        agreement=agreement,
        correlations=[
            line
            for one in each
            for line in of_scores.measure_document_segment_correlations(one.condition.name, one.scored)
        ],
        shared=pairs,
        conclusions=list(make_conclusion_sentences(times, revisions, spread, agreement, pairs)),
    )


def _pace(campaign_conditions: Sequence[JudgmentsByCondition], names: Sequence[str]) -> list[ArmPaceTrend]:
    """Estimate pace from all work of each campaign, matched or not, because trends depend on everything done before."""
    named, at, pace_lines = _name_conditions(campaign_conditions), 0, []
    for conditions in campaign_conditions:
        pace_lines += list(
            time_and_revision_results.estimate_arm_pace_trends(
                [each.name for each in named[at : at + len(conditions.names)]], conditions.measure_judgment_paces()
            )
        )
        at += len(conditions.names)
    return sorted(pace_lines, key=lambda line: (line.what != "learning", names.index(line.arm)))


def _hash(campaign_conditions: Sequence[JudgmentsByCondition]) -> str:
    if len(campaign_conditions) == 1:
        return campaign_conditions[0].data_hash
    return "sha256:" + hashlib.sha256("\n".join(one.data_hash for one in campaign_conditions).encode()).hexdigest()


def _list_dropped_rows(
    campaign_conditions: Sequence[JudgmentsByCondition],
    sides: Sequence[ConditionRowsWithTexts],
    shared: MatchedRows,
    each: Sequence[ComparedCondition],
    match: Match,
) -> Iterator[dict[str, Any]]:
    unmatched = sum(
        int((mask_first_rows_of_judgments(one.rows) & ~keep).sum())
        for one, keep in zip(sides, shared.keep, strict=True)
    )
    scored = sum(len(one.scored) for one in each)
    regular = sum(int(mask_ratings_compared_between_arms(one.work.rows, with_controls=True).sum()) for one in each)
    for reason, n in (
        *count_dropped_judgments(campaign_conditions).items(),
        (f"{match.removesuffix('s')} not judged under every condition, or with other texts there", unmatched),
        (f"{WITH_CONTROL}, where scores are compared", regular - scored),
    ):
        if n:
            yield {"reason": reason, "n": n}


def _warnings(each: Sequence[ComparedCondition], match: Match) -> Iterator[str]:
    if not each:
        return
    if len(each) == 1:
        yield ONE
    elif match != "none" and not any(len(one.work.rows) for one in each):
        yield NOT_SHARED
    warnings = [one.condition.name for one in each if len(one.scored) and one.scored.score.std() == 0]
    if warnings:
        yield (
            f"every score is the same under {', '.join(warnings)}: neither correlation nor α is defined there; check "
            "whether its raters used the scale"
        )
    if any(not one.scored.documents_known for one in each):
        yield (
            "documents are unknown: statements about documents refer to units that were imported as one document; "
            "import the documents if there are any"
        )


_ARM = {"n_raters": 6, "tasks": 12, "documents": 20, "segments": 200, "judgments": 400, "timed": 400, "hours": 1.8}
EXAMPLE: dict[str, Any] = {
    "campaigns": {"two-pages": 9},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "match": "none",
    "controls": "drop",
    "baseline": "segments",
    "higher_is_better": True,
    "tolerance": 15.0,
    "bins": ["0 to 50", "50 to 100"],
    "arms": [
        {"arm": "segments", "presentation": "segment", **_ARM, "words_per_hour": 4100.0},
        {"arm": "documents", "presentation": "document", **_ARM, "words_per_hour": 2700.0},
    ],
    "times": [],
    "pace": [],
    "revisions": [],
    "spread": [
        {"arm": "segments", "documents": "all", "n": 400, "mean": 71.0, "sd": 24.0, "within": 19.5, "shown": 40},
        {"arm": "documents", "documents": "all", "n": 400, "mean": 70.2, "sd": 22.1, "within": 15.2, "shown": 40},
    ],
    "histograms": [{"arm": "segments", "shares": [0.2, 0.8]}, {"arm": "documents", "shares": [0.18, 0.82]}],
    "agreement": [
        {
            "arm": "segments",
            "level": "segments",
            "documents": "all",
            "n_units": 100,
            "n_pairs": 100,
            "alpha": 0.4,
            "kappa": 0.35,
            "absolute": 16.0,
        }
    ],
    "correlations": [],
    "shared": [
        {
            "arm": "documents",
            "baseline": "segments",
            "n": 100,
            "difference": -0.8,
            "pearson": 0.6,
            "n_systems": 4,
            "tau": 1.0,
        }
    ],
    "conclusions": ["SD of segment scores: segments 24.0, documents 22.1."],
}
REPORT: Report[PresentationsOptions, PresentationsView] = Report(
    name="ui",
    title="Presentations compared",
    summary="Time, revisions, spread of scores, agreement and document scores under two or more presentations.",
    options=PresentationsOptions,
    result=PresentationsView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_scores_and_agreement, "times": plot_times_by_document_length},
    caption=make_caption,
    over="campaigns",
    extra_key=make_unfinished_tasks_cache_key,
)
