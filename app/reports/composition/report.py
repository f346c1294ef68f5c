"""What each rater and each task contained, and which systems occurred together in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from app.reports.composition.view import (
    CompositionView,
    JudgmentKindExposure,
    RaterContents,
    SystemCoOccurrences,
    TaskContents,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_system_pairs_by_shared_raters,
    plot_system_pairs_by_shared_tasks,
    pseudonymize_raters_and_tasks,
)
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.timed_ratings import load_ratings_with_times
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.stats.plain_values import number_or_none
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.ratings import Bools, Codes, Ratings
from app.stats.work_composition import (
    PARTS,
    JudgmentCountsByRaterOrTask,
    Table,
    compute_co_occurrence_shares,
    count_judgments_by_rater_or_task,
    count_system_co_occurrence,
    count_system_pairs_rarely_together,
)
from app.storage.db import Session
from app.storage.system_descriptions import load_system_descriptions

NOTHING = "nothing is judged yet; collect or import judgments"
REJECTED = "task rejected by quality control"
MOST_TASKS = 5_000
HITS = 5
"""If at least this many raters have only one task each, the “raters” are probably tasks."""


class CompositionOptions(BaseModel):
    """Whose work is counted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rejected: bool = Field(default=False, description="Include tasks that quality control rejected.")


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: CompositionOptions
) -> ReportComputation[CompositionView]:
    snapshot = snapshots[0]
    ratings = load_ratings_with_times(session, snapshot, activity=False)
    known = load_system_descriptions(session, snapshot.campaign_id)
    humans = np.array([known[key].kind == "human" for key in ratings.rows.labels.systems], dtype=np.bool_)
    digest = ratings.head.data_hash
    return make_undivided_computation(lambda: _view(snapshot, ratings.rows, humans, digest, options))


def _view(
    snapshot: CampaignSnapshot, every: Ratings, humans: Bools, digest: str, options: CompositionOptions
) -> CompositionView:
    keep = every.accepted | options.rejected
    out = int((mask_first_rows_of_judgments(every) & ~keep).sum())
    rows = every.where(keep)
    task = _tasks(rows)
    by_rater, by_task = (
        count_judgments_by_rater_or_task(rows, rows.rater, humans),
        count_judgments_by_rater_or_task(rows, task, humans),
    )
    used = np.unique(rows.system)
    met = [count_system_co_occurrence(rows, owner)[np.ix_(used, used)] for owner in (task, rows.rater)]
    lines = list(_task_lines(rows, task, by_task))
    names = [rows.labels.systems[code] for code in used.tolist()]
    return CompositionView(
        campaigns={snapshot.campaign.key: snapshot.version},
        data_hash=digest,
        basis=snapshot.campaign.basis,
        dropped=[{"reason": REJECTED, "n": out}] if out else [],
        warnings=list(_warnings(by_rater, by_task, met, rows)),
        n_raters=by_rater.owner.size,
        n_tasks=by_task.owner.size,
        n_judgments=int(by_rater.judgments.sum()),
        systems=names,
        humans=[name for name, code in zip(names, used.tolist(), strict=True) if humans[code]],
        shares=[
            JudgmentKindExposure(
                part=p,
                raters=by_rater.share_of_owners_with_judgments(p),
                tasks=by_task.share_of_owners_with_judgments(p),
            )
            for p in PARTS
        ],
        by_task=_summarize_meetings(met[0]),
        by_rater=_summarize_meetings(met[1]),
        raters=list(_rater_lines(rows, task, by_rater)),
        tasks=lines[:MOST_TASKS],
    )


def _tasks(rows: Ratings) -> Codes:
    """Return a code for each pair of task and rater: a task done by several raters counts once for each."""
    wide = max(len(rows.labels.raters), 1)
    code = np.unique(rows.task.astype(np.int64) * wide + rows.rater, return_inverse=True)[1]
    return np.asarray(code.ravel(), dtype=np.int32)


def _summarize_meetings(table: Table) -> SystemCoOccurrences:
    share = compute_co_occurrence_shares(table)
    off = share[~np.eye(len(table), dtype=np.bool_)]
    least = number_or_none(float(np.nanmin(off))) if off.size and not np.isnan(off).all() else None
    return SystemCoOccurrences(counts=table.tolist(), least=least, apart=count_system_pairs_rarely_together(table))


def _figures(owners: JudgmentCountsByRaterOrTask, i: int) -> dict[str, Any]:
    return {
        "judgments": int(owners.judgments[i]),
        "systems": int(owners.systems[i]),
        "documents": int(owners.documents[i]),
        "count": {part: int(owners.count[part][i]) for part in PARTS},
        "mean": {part: number_or_none(float(owners.mean[part][i])) for part in PARTS},
    }


def _rater_lines(rows: Ratings, task: Codes, by_rater: JudgmentCountsByRaterOrTask) -> Iterator[RaterContents]:
    done = np.unique(np.stack((rows.rater, task)), axis=1)[0]
    tasks = np.bincount(done, minlength=len(rows.labels.raters))
    for i, code in enumerate(by_rater.owner.tolist()):
        yield RaterContents(rater=rows.labels.raters[code], tasks=int(tasks[code]), **_figures(by_rater, i))


def _task_lines(rows: Ratings, task: Codes, by_task: JudgmentCountsByRaterOrTask) -> Iterator[TaskContents]:
    first = np.unique(task, return_index=True)[1]
    keys = zip(rows.task[first].tolist(), rows.rater[first].tolist(), strict=True)
    for i, (code, rater) in enumerate(keys):
        yield TaskContents(
            task=rows.labels.tasks[code], rater=rows.labels.raters[rater], tasks=1, **_figures(by_task, i)
        )


def _warnings(
    by_rater: JudgmentCountsByRaterOrTask, by_task: JudgmentCountsByRaterOrTask, met: list[Table], rows: Ratings
) -> Iterator[str]:
    if not len(rows):
        yield NOTHING
        return
    for table, what in zip(met, ("tasks", "raters"), strict=True):
        if pairs := count_system_pairs_rarely_together(table):
            yield (
                f"{pairs} of {len(table) * (len(table) - 1) // 2} pairs of systems share less than half of the "
                f"{what} of one of them, so normalization by {what[:-1]} compares them on different items; "
                "plan with grouping=psxs"
            )
    if by_rater.owner.size == 1:
        yield "one rater did all the work, so raters cannot be compared; let others judge a part of it"
    if np.unique(rows.system).size == 1:
        yield "only one system was judged, so no two systems can be compared; judge a second one"
    n_raters, n_tasks = by_rater.owner.size, by_task.owner.size
    if n_raters == n_tasks >= HITS:
        yield (
            "every rater did exactly one task: a “rater” here may be a task (a HIT), not a person; if so, import the "
            "ids of the people"
        )
    if n_tasks > MOST_TASKS:
        yield f"only the first {MOST_TASKS:,} of {n_tasks:,} tasks are listed; all other figures count every task"


_OWNER = {
    "tasks": 1,
    "judgments": 100,
    "systems": 12,
    "documents": 9,
    "count": {"rating": 88, "human": 8, "repeat": 0, "reference": 0, "degraded": 12, "calibration": 0},
    "mean": {"rating": 74.1, "human": 88.5, "repeat": None, "reference": None, "degraded": 31.0, "calibration": None},
}
EXAMPLE: dict[str, Any] = {
    "campaigns": {"newstest2021": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "n_raters": 1,
    "n_tasks": 1,
    "n_judgments": 100,
    "systems": ["A", "B"],
    "humans": ["B"],
    "shares": [{"part": "degraded", "raters": 1.0, "tasks": 1.0}],
    "by_task": {"counts": [[1, 1], [1, 1]], "least": 1.0, "apart": 0},
    "by_rater": {"counts": [[1, 1], [1, 1]], "least": 1.0, "apart": 0},
    "raters": [{"rater": "ana", **_OWNER}],
    "tasks": [{"task": "t1", "rater": "ana", **_OWNER}],
}
REPORT: Report[CompositionOptions, CompositionView] = Report(
    name="composition",
    title="Composition of raters' work and tasks",
    summary="Systems, documents, controls and mean scores of each rater and task, and which systems they have in "
    "common.",
    options=CompositionOptions,
    result=CompositionView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_system_pairs_by_shared_tasks, "raters": plot_system_pairs_by_shared_raters},
    caption=make_caption,
    redact=pseudonymize_raters_and_tasks,
)
