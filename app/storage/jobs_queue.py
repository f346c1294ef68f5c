"""The queue behind the jobs, as far as it is written to within our own transactions.

Its tables stand in a schema of their own (`queue_schema`); what it does is procrastinate's. An entry is a hint to do
something, never a fact: jobs and the results of their chunks are, so that an entry may come twice or be lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

import sqlalchemy as sa
from procrastinate import SyncPsycopgConnector
from procrastinate.jobs import Job
from procrastinate.manager import JobManager

from app.domain.tracing import current_traceparent
from app.storage.db import Session, driver_connection
from app.storage.organizations import current_organization_number, organization_schema
from app.storage.queue_schema import SCHEMA

Weight = Literal["light", "heavy"]
"""heavy: simulations and whatever takes minutes. light: rankings, and what else somebody waits for."""
QUEUES: Mapping[Weight, str] = MappingProxyType({"light": "rankings", "heavy": "jobs"})
LANES: tuple[tuple[Weight, ...], ...] = (("light", "heavy"), ("light",))
"""What a worker listens to: with all its processes to both, and with one more to what is light alone."""
SEARCH_PATH = f"{SCHEMA},public"
"""Of connections that do nothing but what the queue does."""
COMMIT_SETTING = "synchronous_commit"  # off for entries and results of chunks alone
Ended = Literal["crashed", "stalled"]
"""crashed: the process that computed it ended by itself. stalled: its worker did."""
SWEEP_LOCK = 7_215_340_914  # any constant: one sweep at a time, however many workers there are


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """Something to be done for a job. task: its name. n: which chunk. priority: higher ones first, in its queue."""

    task: str
    job_id: int
    n: int | None = None
    priority: int = 0
    queue: str = QUEUES["heavy"]

    def arguments(self) -> dict[str, object]:
        """As the task takes them."""
        return {"job": self.job_id} if self.n is None else {"job": self.job_id, "n": self.n}


@dataclass(frozen=True, slots=True)
class StalledQueueEntry:
    """An entry that a worker took and did not live to finish."""

    queue_id: int
    job_id: int


@cache
def _manager() -> JobManager:
    return JobManager(SyncPsycopgConnector())  # never opened: every call brings its connection


def set_queue_search_path(session: Session) -> None:
    """Let the functions of the queue find its tables beside the organization's, until this transaction ends."""
    path = f"{SCHEMA}, {organization_schema(current_organization_number())}"
    session.execute(sa.text(f"SET LOCAL search_path = {path}"))


def disable_synchronous_commit(session: Session) -> None:
    """Let this transaction's commit not wait for the disk, so that raters who wait for it need not wait for us.

    For what is computed again where a crash of the server takes it: the log is kept in order, so a result is never
    without what it entered into the queue, nor the other way round.
    """
    session.execute(sa.text(f"SET LOCAL {COMMIT_SETTING} = off"))


def enqueue_entries(session: Session, entries: Iterable[QueueEntry]) -> None:
    """Put entries into the queue, with the transaction that they belong to, and with the trace that led to them."""
    trace = current_traceparent()
    carried: dict[str, object] = {"trace": trace} if trace else {}
    made = [
        Job(
            id=None,
            queue=entry.queue,
            lock=None,
            queueing_lock=None,
            task_name=entry.task,
            task_kwargs={**entry.arguments(), **carried},  # type: ignore[dict-item]  # JSON, every one
            priority=entry.priority,
        )
        for entry in entries
    ]
    if made:
        set_queue_search_path(session)
        _manager().batch_defer_jobs(made, connection=driver_connection(session))


def withdraw_queued_entries(session: Session, job_id: int) -> None:
    """Take out of the queue what nobody has begun of a job."""
    set_queue_search_path(session)
    statement = "DELETE FROM procrastinate_jobs WHERE status = 'todo' AND (args->>'job')::bigint = :job"
    session.execute(sa.text(statement), {"job": job_id})


def load_stalled_entries(session: Session, seconds: float) -> Sequence[StalledQueueEntry]:
    """What workers hold who have not been heard of for so long, or have gone."""
    set_queue_search_path(session)
    query = """SELECT j.id, (j.args->>'job')::bigint FROM procrastinate_jobs j
        LEFT JOIN procrastinate_workers w ON w.id = j.worker_id
        WHERE j.status = 'doing' AND (w.id IS NULL OR w.last_heartbeat < now() - make_interval(secs => :seconds))
        FOR UPDATE OF j SKIP LOCKED"""
    return [StalledQueueEntry(*row) for row in session.execute(sa.text(query), {"seconds": seconds})]


def increment_entry_ending_count(session: Session, queue_id: int, what: Ended) -> int:
    """Note on an entry that it ended so once more; how often that makes. 0 where the entry is gone.

    Each way to end is counted by itself, and what the queue tries again because the database was away by none of them.
    """
    set_queue_search_path(session)
    statement = """UPDATE procrastinate_jobs
        SET args = args || jsonb_build_object(CAST(:what AS text), coalesce((args->>:what)::int, 0) + 1)
        WHERE id = :id RETURNING (args->>:what)::int"""
    return session.execute(sa.text(statement), {"id": queue_id, "what": what}).scalar() or 0


def retry_queue_entry(session: Session, queue_id: int) -> None:
    """Let another worker do a stalled entry."""
    set_queue_search_path(session)
    call = "SELECT procrastinate_retry_job_v2(:id, now(), NULL, NULL, NULL)"
    session.execute(sa.text(call), {"id": queue_id})


def remove_queue_entry(session: Session, queue_id: int) -> None:
    """Take an entry out, whatever its state."""
    set_queue_search_path(session)
    session.execute(sa.text("DELETE FROM procrastinate_jobs WHERE id = :id"), {"id": queue_id})


def find_unqueued_jobs(session: Session, job_ids: Sequence[int]) -> set[int]:
    """Those of the jobs for which nothing is in the queue."""
    set_queue_search_path(session)
    query = sa.text("SELECT DISTINCT (args->>'job')::bigint FROM procrastinate_jobs WHERE status IN ('todo', 'doing')")
    return set(job_ids) - set(session.execute(query).scalars())


def count_live_workers(session: Session, seconds: float) -> int:
    """Lanes of workers that have been heard of within so many seconds."""
    query = f"""SELECT count(*) FROM {SCHEMA}.procrastinate_workers
        WHERE last_heartbeat > now() - make_interval(secs => :seconds)"""
    return int(session.execute(sa.text(query), {"seconds": seconds}).scalar_one())


def delete_dead_workers(session: Session, seconds: float) -> None:
    """Delete the entries of workers who have not been heard of for so long."""
    set_queue_search_path(session)
    call = "SELECT * FROM procrastinate_prune_stalled_workers_v1(:seconds)"
    session.execute(sa.text(call), {"seconds": seconds})


def try_lock_queue_sweep(session: Session) -> bool:
    """Whether this transaction is the only one that sweeps now."""
    return bool(session.execute(sa.text("SELECT pg_try_advisory_xact_lock(:n)"), {"n": SWEEP_LOCK}).scalar())


def requeue_orphaned_entries(session: Session) -> int:
    """Enter again what a worker that has ended in good order took and did not get to; how many.

    One that is told to stop between taking an entry and beginning it leaves it as taken, by nobody.
    """
    set_queue_search_path(session)
    statement = (
        "UPDATE procrastinate_jobs SET status = 'todo' WHERE status = 'doing' AND worker_id IS NULL RETURNING id"
    )
    return len(session.execute(sa.text(statement)).all())
