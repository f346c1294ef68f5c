"""Reports that take long: asked for once, computed in chunks by whichever workers there are, looked at meanwhile.

A job is named by the report that it makes, so the same question is the same job. `app.jobs.work` computes it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal

from app.domain.errors import AppError, Conflict, Invalid, NotFound, Place, Unavailable
from app.reports.kit.report import StoredReport
from app.services.access.tokens import INCLUDES, Caller, Role
from app.services.every_organization import run_for_each_organization
from app.services.webhooks.events import record_webhook_event
from app.storage import campaigns, jobs, jobs_queue, reports
from app.storage.campaigns import CampaignNotFound
from app.storage.db import Database, Session
from app.storage.imports.staging import canonical_json
from app.storage.jobs import JobNotFound
from app.storage.jobs_queue import QUEUES, QueueEntry, Weight
from app.storage.organizations import organization_of_row, use_organization
from app.storage.reports import ReportKey

State = Literal["queued", "running", "done", "failed", "cancelled"]
PREPARE, CHUNK, FINISH = "prepare", "chunk", "finish"
ENDED = frozenset({"done", "failed", "cancelled"})
HEARD_WITHIN = 10.0  # seconds: a worker says every two that it is there
NO_WORKER = "no worker is running; start one with `plumbline worker`"
FIRST, SOON = 20, 10  # priorities: reading the data, and making the report; chunks are below
STALLED_AFTER = 6.0  # seconds
MOST_TRIES = 3  # of a chunk, whose process ended by itself each time, or whose worker did
MOST_BEGUN = 5  # of a job, by itself
WINDOW, BLOCK = 128, 16  # chunks of a job in the queue at a time, and of one priority
REFUSALS: tuple[type[AppError], ...] = (Invalid, Conflict, NotFound)  # what a page says in its place


class JobNotDone(Conflict):
    """This job has no report yet."""

    published = "NotDone"


class JobGivenUp(Unavailable):
    """The computation of this report ended several times before it was done."""

    published = "GaveUp"


class JobCancelled(Conflict):
    """The job for this report was cancelled; request the report again to restart it."""


class RandomDrawFailed(Invalid):
    """The random draw for this cannot be met; repeat the request to draw again."""

    published = "ByChance"


class JobNotRequested(Conflict):
    """This takes a while, and nobody has requested it yet."""

    published = "NotBegun"


class JobInputsChanged(Conflict):
    """Settings that this report reads have changed since it was requested; request it again."""

    published = "AskedOtherwise"


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a job is to compute. arguments: by its kind; plain JSON values. role: who may see what comes of it.

    campaigns: all that it reads, each at its data version. weight: which queue it waits in.
    """

    kind: str
    key: ReportKey
    campaigns: Mapping[str, int]
    arguments: Mapping[str, Any]
    role: Role = "viewer"
    weight: Weight = "light"

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        key = {name: getattr(self.key, name) for name in ReportKey.__slots__}
        # Pairs: an object of the database would not keep its order.
        pairs = [[campaign, version] for campaign, version in self.campaigns.items()]
        return {"key": key, "campaigns": pairs, "given": dict(self.arguments), "role": self.role, "weight": self.weight}

    @classmethod
    def from_json(cls, kind: str, kept: Mapping[str, Any]) -> JobRequest:
        """As it was kept."""
        return cls(kind, ReportKey(**kept["key"]), dict(kept["campaigns"]), kept["given"], kept["role"], _weight(kept))

    @property
    def report_digest(self) -> str:
        """The same for the same report."""
        key = [getattr(self.key, name) for name in ReportKey.__slots__]
        return hashlib.sha256(canonical_json(key).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it stands.

    done, total: chunks; total is unknown until the data have been read. seconds: since it was begun, to its end.
    error: why it failed. waiting: why nothing happens. workers: how many chunks each computed.
    """

    job: str
    number: int
    kind: str
    campaigns: Mapping[str, int]
    state: State
    done: int
    total: int | None
    seconds: float
    created_at: datetime
    error: Mapping[str, Any] | None
    waiting: str | None
    workers: Mapping[str, int]
    request: JobRequest

    @property
    def has_ended(self) -> bool:
        """Whether nothing will come any more."""
        return self.state in ENDED


Ask = Callable[[Database, JobRequest], JobView]
"""`request_job`, or `find_running_job` for who only looks."""


def request_job(database: Database, request: JobRequest) -> JobView:
    """The job that makes a report: the one there is, begun anew where it failed or was cancelled, or a new one.

    One that is begun anew does what is asked now: of the same question, another seed may have been drawn.

    Raises what the question is refused for, where a worker has found that out already.
    """
    with database.transaction() as session:
        row, is_new = jobs.insert_or_lock_job(
            session,
            public_id=f"j_{secrets.token_hex(16)}",
            campaign_id=request.key.campaign_id,
            kind=request.kind,
            key=request.report_digest,
            request=request.as_json(),
        )
        if row.state == "failed" and not row.error["again"]:
            raise decode_job_error(row.error)
        lost = row.state == "done" and reports.find_report(session, request.key) is None  # deleted since
        if row.state in jobs.AGAIN or lost:
            jobs.restart_job(session, row.id, request.as_json())
        if row.state in jobs.AGAIN or lost or is_new:
            jobs_queue.enqueue_entries(
                session, [QueueEntry(PREPARE, row.id, priority=FIRST, queue=QUEUES[request.weight])]
            )
        return _view(session, jobs.load_job(session, row.public_id))


def find_running_job(database: Database, request: JobRequest) -> JobView:
    """The job that makes a report now. For who only looks: it begins nothing.

    Raises JobNotRequested where none is under way, and what the question is refused for, where a worker has found
    that out.
    """
    with database.transaction() as session:
        row = jobs.find_job(session, request.report_digest)
        if row is not None and row.state == "failed" and not row.error["again"]:
            raise decode_job_error(row.error)
        if row is None or row.state not in jobs.UNFINISHED:
            raise JobNotRequested
        return _view(session, row)


def get_job(session: Session, job: str) -> JobView:
    """A job, for whoever asked for it. Raises JobNotFound."""
    return _view(session, jobs.load_job(session, job))


def get_visible_job(session: Session, job: str, caller: Caller) -> JobView:
    """A job. Raises JobNotFound also for one of a campaign that the caller does not see."""
    view = _view(session, jobs.load_job(session, job))
    if caller.campaign is not None and set(view.campaigns) != {caller.campaign}:
        raise JobNotFound
    return view


def list_campaign_jobs(
    session: Session, campaign: str, caller: Caller, *, before: str | None, limit: int, state: State | None = None
) -> Sequence[JobView]:
    """Jobs of a campaign whose report the caller may see, the newest first, in one state if asked. Raises NotFound.

    Who is bound to the campaign is not told with which others it is compared.
    """
    if caller.campaign not in (None, campaign):
        raise CampaignNotFound
    number = jobs.load_job(session, before).id if before else None
    campaign_id, roles = campaigns.load_campaign(session, campaign).id, sorted(INCLUDES[caller.role])
    alone = caller.campaign is not None
    rows = jobs.load_campaign_jobs_page(
        session,
        campaign_id,
        roles=roles,
        alone=alone,
        before=number,
        limit=limit,
        states=None if state is None else [state, "finishing"] if state == "running" else [state],
    )
    return [_view(session, row) for row in rows]


def cancel_job(session: Session, job: str, caller: Caller) -> JobView:
    """End a job; whoever computes for it stops. One that has ended stays as it is. Raises JobNotFound."""
    get_visible_job(session, job, caller)
    row = jobs.load_job(session, job, hold=True)
    if row.state in jobs.UNFINISHED:
        jobs.mark_job_cancelled(session, row.id)
        jobs_queue.withdraw_queued_entries(session, row.id)
    return get_visible_job(session, job, caller)


def get_job_report(session: Session, view: JobView) -> StoredReport:
    """What a job has made. Raises JobNotDone, JobCancelled, or what it failed for."""
    if view.state == "failed" and view.error is not None:
        raise decode_job_error(view.error)
    if view.state == "cancelled":
        raise JobCancelled
    body = reports.find_report(session, view.request.key)
    if body is None:
        raise JobNotDone
    return StoredReport.from_bytes(body, view.request.key.data_version)


def _view(session: Session, row: jobs.Row) -> JobView:
    request = JobRequest.from_json(row.kind, row.request)
    state: State = "running" if row.state == "finishing" else row.state
    begun = row.started_at or row.created_at
    idle = row.state in jobs.UNFINISHED and not jobs_queue.count_live_workers(session, HEARD_WITHIN)
    whole = row.n_chunks == 0
    return JobView(
        job=row.public_id,
        number=row.id,
        kind=row.kind,
        campaigns=request.campaigns,
        state=state,
        done=int(state == "done") if whole else row.n_done,
        total=1 if whole else row.n_chunks,
        seconds=max(0.0, ((row.finished_at or row.now) - begun).total_seconds()),
        created_at=row.created_at,
        error=row.error,
        waiting=NO_WORKER if idle else None,
        workers=row.workers,
        request=request,
    )


def encode_job_error(error: AppError, *, again: bool = False) -> dict[str, Any]:
    """An error as a job keeps it. again: whether asking once more may go better."""
    places = [[list(place.loc), place.msg] for place in error.places]
    names = {"type": error.name(), "kind": error.kind, "title": error.title()}
    return {**names, "detail": error.detail, "errors": places, "again": again}


def decode_job_error(kept: Mapping[str, Any]) -> AppError:
    """The error that a job keeps, to be raised again; it answers as the first one would have."""
    base = next((one for one in REFUSALS if one.kind == kept["kind"]), AppError)
    kind = type(kept["type"], (base,), {"kind": kept["kind"], "__doc__": f"{kept['title']}."})
    places = tuple(Place(tuple(loc), msg) for loc, msg in kept["errors"])
    error: AppError = kind(kept["detail"], places=places, retry_after=1 if kept["again"] else None)
    return error


def list_next_queue_entries(session: Session, row: jobs.Row) -> list[QueueEntry]:
    """What is to be done next for a job, whatever has been done."""
    if row.state == "queued":
        return [QueueEntry(PREPARE, row.id, priority=FIRST, queue=_queue(row))]
    if row.state == "finishing" or row.n_done == row.n_chunks:
        return [make_finish_queue_entry(row)]
    return [make_chunk_queue_entry(row, n) for n in jobs.list_chunks_to_queue(session, row.id, row.n_chunks, WINDOW)]


def make_chunk_queue_entry(row: jobs.Row, n: int) -> QueueEntry:
    """Chunks of several jobs take turns, some at a time, so that a large one does not keep others waiting."""
    return QueueEntry(CHUNK, row.id, n, priority=-(n // BLOCK), queue=_queue(row))


def make_finish_queue_entry(row: jobs.Row) -> QueueEntry:
    """To make the report of a job whose chunks are there."""
    return QueueEntry(FINISH, row.id, priority=SOON, queue=_queue(row))


def _queue(row: jobs.Row) -> str:
    return QUEUES[_weight(row.request)]


def _weight(kept: Mapping[str, Any]) -> Weight:
    """Jobs that were asked for before there were weights were in the queue that is the heavy one now."""
    return "light" if kept.get("weight") == "light" else "heavy"


def recover_stalled_jobs(database: Database) -> int:
    """Give others what workers took and did not live to finish, and enter again what the queue has lost; how many.

    A chunk whose workers ended too often ends its job, with the reason. One sweep at a time does it all.
    """
    with database.transaction() as session:
        if not jobs_queue.try_lock_queue_sweep(session):
            return 0
        entries = jobs_queue.load_stalled_entries(session, STALLED_AFTER)
        hopeless = [
            one
            for one in entries
            if jobs_queue.increment_entry_ending_count(session, one.queue_id, "stalled") >= MOST_TRIES
        ]
        for entry in entries:
            if entry not in hopeless:
                jobs_queue.retry_queue_entry(session, entry.queue_id)
        jobs_queue.delete_dead_workers(session, 10 * STALLED_AFTER)
    for entry in hopeless:
        with use_organization(organization_of_row(entry.job_id)):
            give_up_job(database, entry.job_id, "its workers stopped before it was finished", entry=entry.queue_id)
    return len(entries) + sum(run_for_each_organization(database, partial(_enter_lost_jobs, database)))


def _enter_lost_jobs(database: Database) -> int:
    """Enter again what the queue has lost of one organization; how many jobs."""
    with database.transaction() as session:
        numbers = [row.id for row in jobs.load_unfinished_jobs(session)]
        idle = jobs_queue.find_unqueued_jobs(session, numbers) if numbers else set()
    return sum(_enter_again(database, number) for number in sorted(idle))


def record_worker_crash(database: Database, entry: int) -> bool:
    """Note that the process that computed an entry ended by itself; whether that was once too often."""
    with database.transaction() as session:
        return jobs_queue.increment_entry_ending_count(session, entry, "crashed") >= MOST_TRIES


def end_job(session: Session, row: jobs.Row, error: AppError | None = None, *, again: bool = False) -> None:
    """End a job whose row is held: its report is stored, or none will be, for this error.

    again: whether asking once more may go better.
    """
    about = {"job": row.public_id, "report": row.kind}
    if error is None:
        jobs.mark_job_done_and_drop_chunks(session, row.id)
        record_webhook_event(session, row.campaign_id, "job.done", about)
    else:
        jobs.mark_job_failed(session, row.id, encode_job_error(error, again=again))
        record_webhook_event(session, row.campaign_id, "job.failed", {**about, "error": error.title()})


def give_up_job(database: Database, job_id: int, why: str, *, entry: int | None = None) -> None:
    """End a job that failed too often. entry: of the queue, that goes with it."""
    with database.transaction() as session:
        row = jobs.lock_job(session, job_id)
        if row is not None and row.state in jobs.UNFINISHED:
            end_job(session, row, JobGivenUp(f"{why}, {MOST_TRIES} times"), again=True)
            jobs_queue.withdraw_queued_entries(session, job_id)
        if entry is not None:
            jobs_queue.remove_queue_entry(session, entry)


def fail_job(database: Database, job_id: int, error: AppError, *, again: bool = False) -> None:
    """End a job whose question does not fit the data. again: asked once more it may fit; else it would not."""
    with database.transaction() as session:
        row = jobs.lock_job(session, job_id)
        if row is not None and row.state in jobs.UNFINISHED:
            end_job(session, row, error, again=again)
            jobs_queue.withdraw_queued_entries(session, job_id)


def _enter_again(database: Database, job_id: int) -> bool:
    with database.transaction() as session:
        row = jobs.lock_job(session, job_id)
        if row is None or row.state not in jobs.UNFINISHED or not jobs_queue.find_unqueued_jobs(session, [job_id]):
            return False
        if row.attempts >= MOST_BEGUN:
            end_job(session, row, JobGivenUp("the queue lost it repeatedly"), again=True)
        else:
            jobs.record_job_attempt(session, job_id)
            jobs_queue.enqueue_entries(session, list_next_queue_entries(session, row))
        return True
