"""Figures about a campaign's tasks: amounts, pace, forecast of the end, and balance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.design.entropy import TOLERANCE, compute_normalized_entropy_of_counts
from app.services.tasks.progress_cache import DAY, DONE
from app.services.tasks.progress_view import (
    BucketProgress,
    CampaignPace,
    CompletionForecast,
    ExpiredLease,
    LeaseSummary,
    ProgressFingerprint,
    ProgressVisibility,
    RaterProgress,
    WorkBalance,
    WorkCounts,
    WorkInTaskState,
)
from app.stats.timing.campaign_end_forecast import RaterHandInHistory, forecast_campaign_end
from app.stats.timing.campaign_end_forecast import compute_tasks_per_time_unit as usual_pace
from app.storage import progress

DRAWS = 200
MOST_LISTED = 100
STATES = ("free", "leased", "handed_in", "imported")


@dataclass(frozen=True, slots=True)
class TaskWithCounts:
    """A task with its counts. segments, words: as planned, or as imported with its answers."""

    row: progress.Row
    segments: int
    words: int
    items: int
    rated: int
    judgments: int
    recent: int
    first: datetime | None
    last: datetime | None


def sum_work_counts(tasks: Sequence[TaskWithCounts]) -> WorkCounts:
    """Return how much work some tasks contain, and how much of it is judged."""
    return WorkCounts(
        tasks=len(tasks),
        items=sum(one.items for one in tasks),
        segments=sum(one.segments for one in tasks),
        words=sum(one.words for one in tasks),
        judgments=sum(one.judgments for one in tasks),
    )


def sum_work_counts_by_state(tasks: Sequence[TaskWithCounts]) -> list[WorkInTaskState]:
    """Return the same amounts for each state of a task."""
    by_state = {state: [one for one in tasks if one.row.state == state] for state in STATES}
    return [
        WorkInTaskState(state=state, **sum_work_counts(mine).model_dump())
        for state, mine in by_state.items()
        if mine or state != "imported"
    ]


def compute_share_handed_in(tasks: Sequence[TaskWithCounts]) -> float | None:
    """Return the share that is handed in, by segments if they are known, else by tasks; None without tasks."""
    if not tasks:
        return None
    sizes = [one.segments for one in tasks] if any(one.segments for one in tasks) else [1] * len(tasks)
    done = sum(size for size, one in zip(sizes, tasks, strict=True) if one.row.state in DONE)
    return done / sum(sizes)


def measure_campaign_pace(tasks: Sequence[TaskWithCounts], at: datetime) -> CampaignPace:
    """Return the pace in the last day, and since the first judgment."""
    began = min((one.first for one in tasks if one.first is not None), default=None)
    handed_in = [one.row.handed_in_at for one in tasks if one.row.handed_in_at is not None]
    days = max((at - began) / DAY, 1 / 24) if began is not None else None
    return CampaignPace(
        began_at=began,
        judgments_last_day=sum(one.recent for one in tasks),
        tasks_last_day=sum(when > at - DAY for when in handed_in),
        judgments_a_day=sum(one.judgments for one in tasks) / days if days else None,
        tasks_a_day=len(handed_in) / days if days else None,
    )


def _workloads(
    raters: Sequence[progress.Row], first_leases: Mapping[int, datetime], tasks: Sequence[TaskWithCounts]
) -> dict[int, RaterHandInHistory]:
    """Return when each rater handed tasks in, in seconds, and how many tasks each has left."""
    done: dict[int, list[float]] = defaultdict(list)
    left: dict[int, int] = defaultdict(int)
    for task in tasks:
        if task.row.state == "handed_in":
            done[task.row.rater_id].append(task.row.handed_in_at.timestamp())
        elif task.row.rater_id is not None and task.row.state in ("free", "leased"):
            left[task.row.rater_id] += 1
    workloads = {}
    for rater in raters:
        first = first_leases.get(rater.id)
        began = None if first is None else first.timestamp()
        workloads[rater.id] = RaterHandInHistory.from_times(done[rater.id], began, left[rater.id])
    return workloads


def forecast_completion(
    raters: Sequence[progress.Row],
    first_leases: Mapping[int, datetime],
    tasks: Sequence[TaskWithCounts],
    fingerprint: ProgressFingerprint,
) -> CompletionForecast | None:
    """Forecast the end by resampling the gaps between hand-ins; None while nobody works.

    The seed depends only on the data. first_leases: when raters leased their first task, by rater.
    """
    if fingerprint.state != "open":
        return None
    work = _workloads(raters, first_leases, tasks)
    active = {one.id for one in raters if one.state == "active"}
    present = [one for rater, one in work.items() if one.remaining or (rater in active and one.handed_in.size)]
    shared = sum(one.row.rater_id is None and one.row.state == "free" for one in tasks)
    end = (
        forecast_campaign_end(
            present,
            shared=shared,
            now=fingerprint.at.timestamp(),
            rng=(fingerprint.campaign_id, fingerprint.data_version),
            draws=DRAWS,
        )
        if present
        else None
    )
    if end is None:
        return None
    median, low, high = (datetime.fromtimestamp(round(at), UTC) for at in (end.median, end.low, end.high))
    return CompletionForecast(median=median, low=low, high=high, level=end.level)


def summarize_raters(
    raters: Sequence[progress.Row],
    first_leases: Mapping[int, datetime],
    tasks: Sequence[TaskWithCounts],
    at: datetime,
) -> list[RaterProgress]:
    """Return what each rater has done and has left. first_leases: when raters leased their first task, by rater."""
    work = _workloads(raters, first_leases, tasks)
    mine: dict[int, list[TaskWithCounts]] = defaultdict(list)
    for own in tasks:
        if own.row.rater_id is not None:
            mine[own.row.rater_id].append(own)
    return [
        RaterProgress(
            rater=one.key,
            team=one.team,
            state=one.state,
            tasks_handed_in=sum(task.row.state == "handed_in" for task in mine[one.id]),
            tasks_left=work[one.id].remaining,
            items=sum(task.rated for task in mine[one.id]),
            judgments=sum(task.judgments for task in mine[one.id]),
            judgments_last_day=sum(task.recent for task in mine[one.id]),
            pace=_a_day(work[one.id], at),
            last_at=max((task.last for task in mine[one.id] if task.last is not None), default=None),
            lease_expired=any(task.row.expired for task in mine[one.id]),
            open_flags=one.open_flags,
        )
        for one in raters
    ]


def _a_day(work: RaterHandInHistory, at: datetime) -> float | None:
    tasks_a_second = usual_pace(work, at.timestamp())
    return None if tasks_a_second is None else tasks_a_second * DAY.total_seconds()


def summarize_bucket_progress(tasks: Sequence[TaskWithCounts]) -> list[BucketProgress]:
    """Return what is done in each bucket, and the least and the most that one rater did."""
    by_bucket: dict[int | None, list[TaskWithCounts]] = defaultdict(list)
    for task in tasks:
        by_bucket[task.row.bucket].append(task)
    counts = []
    for bucket, mine in sorted(by_bucket.items(), key=lambda pair: (pair[0] is None, pair[0] or 0)):
        loads = _items_by_rater(mine).values()
        counts.append(
            BucketProgress(
                bucket=bucket,
                tasks=len(mine),
                handed_in=sum(one.row.state in DONE for one in mine),
                judgments=sum(one.judgments for one in mine),
                least=min(loads, default=0),
                most=max(loads, default=0),
            )
        )
    return counts


def _items_by_rater(tasks: Iterable[TaskWithCounts]) -> Mapping[int, int]:
    """Count the regular items with judgments for every rater who was given a task."""
    counts: dict[int, int] = defaultdict(int)
    for task in tasks:
        if task.row.rater_id is not None:
            counts[task.row.rater_id] += task.rated
    return counts


def measure_work_balance(
    raters: Sequence[progress.Row], tasks: Sequence[TaskWithCounts], plan: progress.Row | None
) -> WorkBalance | None:
    """Return the normalized entropy of regular items over all raters in the plan (Riley et al. 2024, §6.1.2)."""
    items = _items_by_rater(tasks)
    counted = [items.get(one.id, 0) for one in raters if one.planned or one.id in items]
    if not sum(counted):
        return None
    planned = plan.normalized_entropy if plan is not None else None
    return WorkBalance(
        normalized_entropy=compute_normalized_entropy_of_counts(counted),
        planned=None if planned is None else float(planned),
        raters=len(counted),
        least=min(counted),
        most=max(counted),
    )


def summarize_leases(
    tasks: Sequence[TaskWithCounts], raters: Sequence[progress.Row], visibility: ProgressVisibility
) -> LeaseSummary:
    """Count the leased tasks and list the expired leases."""
    names = {one.id: one.key for one in raters} if visibility.raters else {}
    gone = [one.row for one in tasks if one.row.expired]
    shown = [
        ExpiredLease(task=one.public_id, rater=names.get(one.rater_id), since=one.leased_until)
        for one in gone[:MOST_LISTED]
    ]
    return LeaseSummary(held=sum(one.row.state == "leased" for one in tasks), n_expired=len(gone), expired=shown)


def list_work_balance_warnings(balance: WorkBalance | None, state: str) -> list[str]:
    """List what a manager should look at. state: of the campaign; raters of a closed one cannot be reminded."""
    if balance is None or balance.planned is None or balance.normalized_entropy >= balance.planned - TOLERANCE:
        return []
    now, planned = balance.normalized_entropy, balance.planned
    message = (
        f"the work done so far is less balanced than planned: normalized entropy {now:.3f}, planned {planned:.3f}; "
        + (
            "open the campaign again to finish it"
            if state == "closed"
            else "remind raters who have done little, or replan"
        )
    )
    return [message]
