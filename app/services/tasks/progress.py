"""The progress of a campaign: counts, pace, forecast of the end, and balance of the work done so far."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.deadlines import parse_deadline
from app.services.people import idle_raters
from app.services.tasks import progress_counts as counted
from app.services.tasks.progress_cache import (
    DAY,
    DONE,
    CampaignProgressTallies,
    ImportedTaskSize,
    ProgressCountCache,
    ProgressTally,
)
from app.services.tasks.progress_counts import TaskWithCounts
from app.services.tasks.progress_view import (
    CompletionForecast,
    DeadlineForecast,
    ItemGroupsProgress,
    Progress,
    ProgressFingerprint,
    ProgressVisibility,
    SystemProgress,
)
from app.storage import progress
from app.storage.db import Session

__all__ = ["ProgressFingerprint", "ProgressVisibility", "load_progress_fingerprint", "make_campaign_progress"]


def load_progress_fingerprint(session: Session, campaign: str, visibility: ProgressVisibility) -> ProgressFingerprint:
    """Load by a few look-ups what shows whether anything has changed. Raises NotFound."""
    row = progress.load_progress_fingerprint_parts(session, campaign)
    said = f"{tuple(row)}|{visibility.raters}|{visibility.systems}|{visibility.team}"
    tag = hashlib.sha256(said.encode()).hexdigest()[:32]
    tasks = dict(_part(one) for one in row.tasks.split(";")) if row.tasks else {}
    return ProgressFingerprint(row.id, row.key, row.state, int(row.data_version), row.plan, row.at, tasks, tag)


def _part(told: str) -> tuple[int, str]:
    """Parse a part of the tasks and its digest from the snapshot's text, such as `12(256,77)`."""
    part, _, digest = told.partition("(")
    return int(part), digest


def make_campaign_progress(
    session: Session,
    fingerprint: ProgressFingerprint,
    visibility: ProgressVisibility,
    cache: ProgressCountCache | None = None,
) -> Progress:
    """Make the progress of a campaign, as far as the reader may see it. cache: holds the counts of earlier calls."""
    everybody = progress.load_raters_and_plan_membership(session, fingerprint.campaign_id)
    raters = [one for one in everybody if visibility.team is None or one.team == visibility.team]
    cache = cache or ProgressCountCache()
    rows = cache.load_cached_tasks_not_withdrawn(session, fingerprint)
    counts = cache.tally_judgments(session, fingerprint, rows)
    sources = _ProgressCounts(visibility, raters, counts)
    tasks = sources.tasks(rows)
    whole = visibility.team is None
    plan = progress.load_plan_version_and_workload_entropy(session, fingerprint.campaign_id) if whole else None
    balance = counted.measure_work_balance(raters, tasks, plan) if visibility.team is None else None
    began = cache.load_first_lease_time_by_rater(session, fingerprint, everybody)
    forecast = counted.forecast_completion(raters, began, tasks, fingerprint)
    find_idle = partial(cache.load_raters_without_tasks, session, fingerprint, everybody, began, rows)
    return Progress(
        campaign=fingerprint.key,
        state=fingerprint.state,
        at=fingerprint.at,
        data_version=fingerprint.data_version,
        total=counted.sum_work_counts(tasks),
        share=counted.compute_share_handed_in(tasks),
        states=counted.sum_work_counts_by_state(tasks),
        pace=counted.measure_campaign_pace(tasks, fingerprint.at),
        forecast=forecast,
        deadline=_deadline(
            parse_deadline(get_campaign(session, fingerprint.key).settings), fingerprint, tasks, forecast
        ),
        balance=balance,
        groups=sources.groups() if visibility.team is None else None,
        leases=counted.summarize_leases(tasks, raters, visibility),
        open_flags=sum(one.open_flags for one in raters),
        buckets=counted.summarize_bucket_progress(tasks) if visibility.team is None else None,
        raters=counted.summarize_raters(raters, began, tasks, fingerprint.at) if visibility.raters else None,
        systems=sources.systems(progress.load_systems(session, fingerprint.campaign_id))
        if visibility.systems
        else None,
        warnings=[
            *_old_counts(counts, fingerprint),
            *counted.list_work_balance_warnings(balance, fingerprint.state),
            *_idle(session, fingerprint, visibility, raters, find_idle),
        ],
    )


def _old_counts(counts: CampaignProgressTallies, fingerprint: ProgressFingerprint) -> list[str]:
    if counts.as_of is None:
        return []
    message = (
        f"judgments are counted as of data version {counts.as_of}, and the campaign has {fingerprint.data_version}; "
        "a worker is counting them again, which takes a while in a campaign of this size"
    )
    return [message]


def _idle(
    session: Session,
    fingerprint: ProgressFingerprint,
    visibility: ProgressVisibility,
    raters: Sequence[progress.Row],
    find_idle: Callable[[], Sequence[str]],
) -> list[str]:
    """List warnings about raters to whom the plan gives no task, among those whom the reader may see."""
    ours = None if visibility.team is None else {one.key for one in raters}
    return idle_raters.list_idle_warnings(
        session, fingerprint.campaign_id, fingerprint.state, find_idle, visible_raters=ours, with_keys=visibility.raters
    )


def _deadline(
    at: datetime | None,
    fingerprint: ProgressFingerprint,
    tasks: Sequence[TaskWithCounts],
    forecast: CompletionForecast | None,
) -> DeadlineForecast | None:
    """Return the pace that the deadline requires from now on, and whether raters meet it if they continue as before."""
    if at is None:
        return None
    days = (at - fingerprint.at) / DAY
    left = sum(one.row.state not in DONE for one in tasks)
    needed = left / days if days > 0 else None if left else 0.0
    on_time = True if tasks and not left else False if days <= 0 else None
    if on_time is None and forecast is not None:
        on_time = forecast.median <= at
    return DeadlineForecast(at=at, days_left=max(days, 0.0), tasks_left=left, tasks_a_day=needed, on_time=on_time)


@dataclass(frozen=True, slots=True)
class _ProgressCounts:
    """What was counted, limited to what the reader may see."""

    visibility: ProgressVisibility
    raters: Sequence[progress.Row]
    counts: CampaignProgressTallies

    def tasks(self, rows: Iterable[progress.Row]) -> list[TaskWithCounts]:
        ours = {one.id for one in self.raters} if self.visibility.team is not None else None
        mine = [row for row in rows if ours is None or row.rater_id in ours]
        recent, sizes = self.counts.recent, self.counts.imported
        return [_task(row, sizes.get(row.id, row), self.counts.tasks.get(row.id), recent[row.id]) for row in mine]

    def groups(self) -> ItemGroupsProgress | None:
        groups = self.counts.groups.values()
        if not groups:
            return None
        finished = sum(one.done == one.items for one in groups)
        untouched = sum(not one.done and not one.rated for one in groups)
        return ItemGroupsProgress(finished=finished, half_done=len(groups) - finished - untouched, untouched=untouched)

    def systems(self, rows: Iterable[progress.Row]) -> list[SystemProgress]:
        of = self.counts.systems
        shown = [(row, of[row.id]) for row in rows if row.id in of]
        return [
            SystemProgress(
                system=row.key,
                name=row.name,
                items=n.items,
                items_begun=n.rated,
                items_handed_in=n.done,
                judgments=n.judgments,
            )
            for row, n in shown
        ]


def _task(
    row: progress.Row, size: progress.Row | ImportedTaskSize, n: ProgressTally | None, recent: int
) -> TaskWithCounts:
    if n is None:
        return TaskWithCounts(row, size.segments, size.words, 0, 0, 0, 0, None, None)
    return TaskWithCounts(row, size.segments, size.words, n.items, n.rated, n.judgments, recent, n.first, n.last)
