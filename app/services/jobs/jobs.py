"""Reports that take a long time: requested once, computed in chunks by the available workers, with visible progress.

A job is identified by the report that it makes, so the same request is the same job. `app.jobs.job_steps` computes it.
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
from app.storage.current_organization import organization_number_from_row_id, use_organization
from app.storage.db import Database, Session
from app.storage.imports.staging import format_canonical_json
from app.storage.jobs import JobNotFound
from app.storage.jobs_queue import QUEUES, QueueEntry, Weight
from app.storage.reports import ReportKey

State = Literal["queued", "running", "done", "failed", "cancelled"]
PREPARE, CHUNK, FINISH = "prepare", "chunk", "finish"
ENDED = frozenset({"done", "failed", "cancelled"})
HEARD_WITHIN = 10.0  # seconds; a worker reports every two seconds that it is running
NO_WORKER = "no worker is running; start one with `plumbline worker`"
MAKING, READING = 20, 10  # priorities of making the report and of reading the data; chunks have lower ones
STALLED_AFTER = 6.0  # seconds
MOST_TRIES = 3  # attempts at a chunk whose process or worker ended unexpectedly each time
MOST_BEGUN = 5  # automatic restarts of a job
WINDOW, BLOCK = 128, 16  # chunks of a job in the queue at a time, and chunks with the same priority
REFUSALS: tuple[type[AppError], ...] = (Invalid, Conflict, NotFound)  # errors that a page shows instead


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


class JobPartsChanged(JobInputsChanged):
    """The service was updated and now divides this report into other parts; request it again."""

    published = "DividedOtherwise"


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a job must compute. arguments: depend on its kind; plain JSON values. role: who may see the result.

    campaigns: all that it reads, each at its data version. weight: decides the queue.
    """

    kind: str
    key: ReportKey
    campaigns: Mapping[str, int]
    arguments: Mapping[str, Any]
    role: Role = "viewer"
    weight: Weight = "light"

    def as_json(self) -> dict[str, Any]:
        """Return the stored form."""
        key = {name: getattr(self.key, name) for name in ReportKey.__slots__}
        # Pairs, because a JSON object in the database would not keep its order.
        pairs = [[campaign, version] for campaign, version in self.campaigns.items()]
        return {"key": key, "campaigns": pairs, "given": dict(self.arguments), "role": self.role, "weight": self.weight}

    @classmethod
    def from_json(cls, kind: str, kept: Mapping[str, Any]) -> JobRequest:
        """Make a request from its stored form."""
        return cls(kind, ReportKey(**kept["key"]), dict(kept["campaigns"]), kept["given"], kept["role"], _weight(kept))

    @property
    def report_key_digest(self) -> str:
        """A digest that identifies the report."""
        key = [getattr(self.key, name) for name in ReportKey.__slots__]
        return hashlib.sha256(format_canonical_json(key).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class JobView:
    """The current state of a job.

    done, total: chunks; total is unknown until the data have been read. seconds: since the start, until the end. error:
    why it failed. waiting: why nothing happens. workers: how many chunks each one computed.
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
        """Whether nothing more will happen."""
        return self.state in ENDED


Ask = Callable[[Database, JobRequest], JobView]
"""`request_job`, or `get_running_job` for callers that only look."""


def request_job(database: Database, request: JobRequest) -> JobView:
    """Return the job that makes a report: a new one, or the existing one, restarted if it failed or was cancelled.

    A restarted job does what is requested now, because the same request may have drawn another seed. Raises the error
    for which a worker has already refused the request.
    """
    with database.transaction() as session:
        row, is_new = jobs.insert_or_lock_job(
            session,
            public_id=f"j_{secrets.token_hex(16)}",
            campaign_id=request.key.campaign_id,
            kind=request.kind,
            key=request.report_key_digest,
            request=request.as_json(),
        )
        if row.state == "failed" and not row.error["again"]:
            raise decode_job_error(row.error)
        lost = row.state == "done" and reports.find_report(session, request.key) is None  # deleted in the meantime
        if row.state in jobs.AGAIN or lost:
            jobs.restart_job(session, row.id, request.as_json())
        if row.state in jobs.AGAIN or lost or is_new:
            jobs_queue.enqueue_entries(
                session, [QueueEntry(PREPARE, row.id, priority=READING, queue=QUEUES[request.weight])]
            )
        return _view(session, jobs.load_job(session, row.public_id))


def get_running_job(database: Database, request: JobRequest) -> JobView:
    """Return the job that is making a report, without starting one.

    Raises JobNotRequested if none is running, and the error for which a worker has already refused the request.
    """
    with database.transaction() as session:
        row = jobs.find_job_by_report_key(session, request.report_key_digest)
        if row is not None and row.state == "failed" and not row.error["again"]:
            raise decode_job_error(row.error)
        if row is None or row.state not in jobs.UNFINISHED:
            raise JobNotRequested
        return _view(session, row)


def get_job(session: Session, job: str) -> JobView:
    """Return a job to the caller who requested it. Raises JobNotFound."""
    return _view(session, jobs.load_job(session, job))


def get_visible_job(session: Session, job: str, caller: Caller) -> JobView:
    """Return a job. Raises JobNotFound also if it belongs to a campaign that the caller may not see."""
    view = _view(session, jobs.load_job(session, job))
    if caller.campaign is not None and set(view.campaigns) != {caller.campaign}:
        raise JobNotFound
    return view


def list_campaign_jobs(
    session: Session, campaign: str, caller: Caller, *, before: str | None, limit: int, state: State | None = None
) -> Sequence[JobView]:
    """List the jobs of a campaign whose report the caller may see, newest first, optionally in one state.

    Raises NotFound. Callers bound to the campaign do not see comparisons with other campaigns.
    """
    if caller.campaign not in (None, campaign):
        raise CampaignNotFound
    number = jobs.load_job(session, before).id if before else None
    campaign_id, roles = campaigns.load_campaign(session, campaign).id, sorted(INCLUDES[caller.role])
    rows = jobs.load_campaign_jobs_page(
        session,
        campaign_id,
        roles=roles,
        without_comparisons=caller.campaign is not None,
        before=number,
        limit=limit,
        states=None if state is None else [state, "finishing"] if state == "running" else [state],
    )
    return [_view(session, row) for row in rows]


def cancel_job(session: Session, job: str, caller: Caller) -> JobView:
    """Cancel a job; its workers stop. A job that has ended does not change. Raises JobNotFound."""
    get_visible_job(session, job, caller)
    row = jobs.load_job(session, job, lock=True)
    if row.state in jobs.UNFINISHED:
        jobs.mark_job_cancelled(session, row.id)
        jobs_queue.withdraw_queued_entries(session, row.id)
    return get_visible_job(session, job, caller)


def get_job_report(session: Session, view: JobView) -> StoredReport:
    """Return the report of a job. Raises JobNotDone, JobCancelled, or the error of a failed job."""
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


def encode_job_error(error: AppError, *, may_succeed_later: bool = False) -> dict[str, Any]:
    """Encode an error for storage with a job. may_succeed_later: whether another attempt may succeed."""
    places = [[list(place.loc), place.msg] for place in error.places]
    names = {"type": error.name(), "kind": error.kind, "title": error.title()}
    return {**names, "detail": error.detail, "errors": places, "again": may_succeed_later}


def decode_job_error(stored_error: Mapping[str, Any]) -> AppError:
    """Decode the stored error of a job, to be raised again with the same response as the original."""
    base = next((one for one in REFUSALS if one.kind == stored_error["kind"]), AppError)
    kind = type(stored_error["type"], (base,), {"kind": stored_error["kind"], "__doc__": f"{stored_error['title']}."})
    places = tuple(Place(tuple(loc), msg) for loc, msg in stored_error["errors"])
    error: AppError = kind(stored_error["detail"], places=places, retry_after=1 if stored_error["again"] else None)
    return error


def make_next_queue_entries(session: Session, row: jobs.Row) -> list[QueueEntry]:
    """Make the next queue entries for a job, whatever has been done so far."""
    if row.state == "queued":
        return [QueueEntry(PREPARE, row.id, priority=READING, queue=_queue(row))]
    if row.state == "finishing" or row.n_done == row.n_chunks:
        return [make_finish_queue_entry(row)]
    return [make_chunk_queue_entry(row, n) for n in jobs.list_chunks_to_queue(session, row.id, row.n_chunks, WINDOW)]


def make_chunk_queue_entry(row: jobs.Row, n: int) -> QueueEntry:
    """Make the entry for a chunk.

    Jobs take turns, some chunks at a time, so that a large job does not delay the others.
    """
    return QueueEntry(CHUNK, row.id, n, priority=-(n // BLOCK), queue=_queue(row))


def make_finish_queue_entry(row: jobs.Row) -> QueueEntry:
    """Make the entry that makes the report of a job whose chunks are done.

    It goes before all data that are still to be read, because a process holds the data of few jobs.
    """
    return QueueEntry(FINISH, row.id, priority=MAKING, queue=_queue(row))


def _queue(row: jobs.Row) -> str:
    return QUEUES[_weight(row.request)]


def _weight(kept: Mapping[str, Any]) -> Weight:
    """Return a job's weight. Jobs from before weights existed were in what is now the heavy queue."""
    return "light" if kept.get("weight") == "light" else "heavy"


def recover_stalled_jobs(database: Database) -> int:
    """Requeue what dead workers had taken and what the queue has lost, and return how many.

    A chunk whose workers ended too often ends its job, with the reason. Only one sweep runs at a time.
    """
    with database.transaction() as session:
        if not jobs_queue.try_lock_queue_sweep(session):
            return 0
        entries = jobs_queue.load_stalled_entries(session, STALLED_AFTER)
        hopeless = [
            one
            for one in entries
            if jobs_queue.increment_entry_failure_count(session, one.queue_id, "stalled") >= MOST_TRIES
        ]
        for entry in entries:
            if entry not in hopeless:
                jobs_queue.requeue_stalled_entry(session, entry.queue_id)
        jobs_queue.delete_dead_workers(session, 10 * STALLED_AFTER)
    for entry in hopeless:
        with use_organization(organization_number_from_row_id(entry.job_id)):
            give_up_job(database, entry.job_id, "its workers stopped before it was finished", entry=entry.queue_id)
    return len(entries) + sum(run_for_each_organization(database, partial(_enter_lost_jobs, database)))


def _enter_lost_jobs(database: Database) -> int:
    """Requeue the jobs of one organization that the queue has lost, and return how many."""
    with database.transaction() as session:
        numbers = [row.id for row in jobs.load_unfinished_jobs(session)]
        idle = jobs_queue.find_unqueued_jobs(session, numbers) if numbers else set()
    return sum(_enter_again(database, number) for number in sorted(idle))


def record_worker_crash(database: Database, entry: int) -> bool:
    """Record that the process computing an entry ended unexpectedly, and return whether it has done so too often."""
    with database.transaction() as session:
        return jobs_queue.increment_entry_failure_count(session, entry, "crashed") >= MOST_TRIES


def end_job(session: Session, row: jobs.Row, error: AppError | None = None, *, may_succeed_later: bool = False) -> None:
    """End a job whose row is locked, because its report is stored, or because of this error.

    may_succeed_later: whether another attempt may succeed.
    """
    about = {"job": row.public_id, "report": row.kind}
    if error is None:
        jobs.mark_job_done_and_drop_chunk_results(session, row.id)
        record_webhook_event(session, row.campaign_id, "job.done", about)
    else:
        jobs.mark_job_failed(session, row.id, encode_job_error(error, may_succeed_later=may_succeed_later))
        record_webhook_event(session, row.campaign_id, "job.failed", {**about, "error": error.title()})


def give_up_job(database: Database, job_id: int, why: str, *, entry: int | None = None) -> None:
    """End a job that failed too often. entry: the queue entry to remove with it."""
    with database.transaction() as session:
        row = jobs.lock_job(session, job_id)
        if row is not None and row.state in jobs.UNFINISHED:
            end_job(session, row, JobGivenUp(f"{why}, {MOST_TRIES} times"), may_succeed_later=True)
            jobs_queue.withdraw_queued_entries(session, job_id)
        if entry is not None:
            jobs_queue.remove_queue_entry(session, entry)


def fail_job(database: Database, job_id: int, error: AppError, *, may_succeed_later: bool = False) -> None:
    """End a job whose request does not fit the data. may_succeed_later: whether the same request may fit then."""
    with database.transaction() as session:
        row = jobs.lock_job(session, job_id)
        if row is not None and row.state in jobs.UNFINISHED:
            end_job(session, row, error, may_succeed_later=may_succeed_later)
            jobs_queue.withdraw_queued_entries(session, job_id)


def _enter_again(database: Database, job_id: int) -> bool:
    with database.transaction() as session:
        row = jobs.lock_job(session, job_id)
        if row is None or row.state not in jobs.UNFINISHED or not jobs_queue.find_unqueued_jobs(session, [job_id]):
            return False
        if row.attempts >= MOST_BEGUN:
            end_job(session, row, JobGivenUp("the queue lost it repeatedly"), may_succeed_later=True)
        else:
            jobs.record_job_attempt(session, job_id)
            jobs_queue.enqueue_entries(session, make_next_queue_entries(session, row))
        return True
