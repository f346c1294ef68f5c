"""The report on the arms of a campaign: time, learning and fatigue, revisions, and prefilled errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.reports.arms import time_and_revision_results
from app.reports.arms.judgments import (
    JudgmentInclusionOptions,
    JudgmentsByCondition,
    load_judgments_by_condition,
    make_unfinished_tasks_cache_key,
)
from app.reports.arms.prefilled_errors import Counts, count_prefill_outcomes_by_rater, summarize_arm_prefill_outcomes
from app.reports.arms.time_model import ArmTimeModel, fit_arm_time_model
from app.reports.arms.view import (
    ArmsView,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_times_by_document_length,
    plot_times_by_position,
)
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.storage.db import Session

NO_ARMS = "the campaign's plan has no arms, so judgments are grouped by presentation"
ONE = "there is only one condition, so there is nothing to compare; plan arms, or a second presentation"


class ArmsOptions(JudgmentInclusionOptions):
    """The arm with which the others are compared, and whose judgments count."""

    baseline: Annotated[str, StringConstraints(max_length=128)] | None = Field(
        None, description="Name of an arm; default: the first of the plan.", examples=["segments"]
    )


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: ArmsOptions
) -> ReportComputation[ArmsView]:
    conditions = load_judgments_by_condition(session, snapshots[0], options)
    order = order_conditions([one.name for one in conditions.names], options.baseline)
    counts = count_prefill_outcomes_by_rater(session, conditions)
    return make_undivided_computation(lambda: _view(conditions, options, order, counts))


def order_conditions(names: list[str], baseline: str | None) -> list[int]:
    """Return the order of conditions, the baseline first. Raises Invalid if no condition has the baseline's name."""
    if baseline is None:
        return list(range(len(names)))
    if baseline not in names:
        there = f"there are: {', '.join(names)}" if names else "nothing is judged yet"
        raise Invalid("the query is not valid", places=(Place(("query", "baseline"), f"no such condition; {there}"),))
    first = names.index(baseline)
    return [first, *(i for i in range(len(names)) if i != first)]


def _view(conditions: JudgmentsByCondition, options: ArmsOptions, order: list[int], counts: Counts) -> ArmsView:
    names = [conditions.names[i].name for i in order]
    parts = [conditions.select_condition_rows(i) for i in order]
    volumes = [
        time_and_revision_results.count_arm_work_volume(conditions.names[i], work)
        for i, (work, _) in zip(order, parts, strict=True)
    ]
    times = list(
        time_and_revision_results.compare_arm_times(names, time_and_revision_results.measure_condition_times(parts))
    )
    pace = list(
        time_and_revision_results.estimate_arm_pace_trends(
            [one.name for one in conditions.names], conditions.measure_judgment_paces()
        )
    )
    model = fit_arm_time_model(conditions, order)
    return ArmsView(
        campaigns={conditions.snapshot.campaign.key: conditions.snapshot.version},
        data_hash=conditions.data_hash,
        basis=conditions.snapshot.campaign.basis,
        dropped=[{"reason": reason, "n": n} for reason, n in conditions.dropped.items()],
        warnings=[
            *time_and_revision_results.list_time_warnings(volumes, pace, times),
            *_warnings(conditions),
            *_warn_unmodelled(conditions, model),
        ],
        rejected=options.rejected,
        raters=options.raters,
        baseline=names[0] if names else None,
        arms=volumes,
        times=times,
        pace=sorted(pace, key=lambda one: (one.what != "learning", names.index(one.arm))),
        revisions=list(time_and_revision_results.count_arm_revisions(names, parts)),
        model=None if isinstance(model, str) else model,
        prefill=list(summarize_arm_prefill_outcomes(conditions, order, counts)),
    )


def _warn_unmodelled(conditions: JudgmentsByCondition, model: ArmTimeModel | str) -> Iterator[str]:
    if isinstance(model, str) and conditions.names:
        yield f"no mixed model of time, so compare conditions by `ratio`, which does not adjust for length: {model}"
    elif isinstance(model, ArmTimeModel) and not model.converged:
        yield (
            "the mixed model of time did not converge, so its figures are approximate; compare conditions by `ratio` "
            "instead"
        )


def _warnings(conditions: JudgmentsByCondition) -> Iterator[str]:
    if not conditions.names:
        return
    if not conditions.with_arms:
        yield NO_ARMS
    if len(conditions.names) == 1:
        yield ONE


_TIME = {
    "what": "segment",
    "documents": "all",
    "n": 400,
    "kept": 320,
    "low": 6.0,
    "high": 40.0,
    "sd": 6.0,
    "median": 14.5,
    "change": None,
    "ratio": None,
    "ratio_interval": None,
    "ratio_raters": None,
    "ratio_design": None,
}
_COUNTS = {"n_raters": 6, "tasks": 12, "documents": 20, "segments": 200, "judgments": 400, "timed": 400, "hours": 1.8}
_REVISED = {"segments": 400, "changed_segments": 8, "segment_rate": 0.02, "segment_change": None}
EXAMPLE: dict[str, Any] = {
    "campaigns": {"two-pages": 9},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "baseline": "segments",
    "arms": [
        {"arm": "segments", "presentation": "segment", **_COUNTS, "words_per_hour": 4100.0},
        {"arm": "documents", "presentation": "document", **_COUNTS, "words_per_hour": 2700.0},
    ],
    "times": [
        {"arm": "segments", **_TIME, "mean": 16.0},
        {
            "arm": "documents",
            **_TIME,
            "mean": 23.6,
            "change": 47.5,
            "ratio": 1.4,
            "ratio_interval": [1.2, 1.7],
            "ratio_raters": 6,
            "ratio_design": "within",
        },
    ],
    "pace": [{"arm": "segments", "what": "learning", "slope": -0.08, "interval": [-0.12, -0.04], "n_raters": 6}],
    "revisions": [
        {
            "arm": "segments",
            **_REVISED,
            "documents": 40,
            "changed_documents": 4,
            "document_rate": 0.1,
            "document_change": None,
        }
    ],
    "model": {
        "n": 400,
        "n_raters": 6,
        "n_documents": 20,
        "effects": [
            {
                "what": "condition",
                "arm": "documents",
                "estimate": 0.34,
                "error": 0.06,
                "factor": 1.4,
                "interval": [1.2, 1.64],
                "p_value": 0.002,
                "degrees": 5,
            }
        ],
        "sd": {"rater": 0.4, "document": 0.1, "rater_condition": 0.1, "residual": 0.6},
        "left_out": {"errors": "unknown for some judgments"},
        "converged": True,
    },
    "prefill": [
        {
            "arm": "documents",
            "rater": None,
            "judgments": 200,
            "shown": 160,
            "kept": 120,
            "changed": 8,
            "removed": 32,
            "added": 64,
            "kept_share": 0.75,
            "changed_share": 0.05,
            "removed_share": 0.2,
            "added_share": 0.3333333333333333,
        }
    ],
}
REPORT: Report[ArmsOptions, ArmsView] = Report(
    name="arms",
    title="Comparison of arms",
    summary=(
        "Times by kind of unit, length and position, learning, fatigue, revisions and prefilled errors, for each arm."
    ),
    options=ArmsOptions,
    result=ArmsView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_times_by_document_length, "positions": plot_times_by_position},
    caption=make_caption,
    extra_key=make_unfinished_tasks_cache_key,
)
