"""The queue behind the jobs: the part to which the program writes within its own transactions.

Its tables are in a separate schema (`queue_schema`), and its logic is procrastinate's. An entry is a hint to do
something, never a fact. The facts are the jobs and the results of their chunks, so an entry may come twice or be lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

import psycopg
import sqlalchemy as sa
from procrastinate import SyncPsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.manager import JobManager

from app.domain.tracing import get_current_traceparent
from app.storage.current_organization import current_organization_number, organization_schema
from app.storage.db import Session, driver_connection
from app.storage.queue_schema import SCHEMA

Weight = Literal["light", "heavy"]
"""heavy: simulations and whatever takes minutes. light: rankings, and other things that a user waits for."""
QUEUES: Mapping[Weight, str] = MappingProxyType({"light": "rankings", "heavy": "jobs"})
LANES: tuple[tuple[Weight, ...], ...] = (("light", "heavy"), ("light",))
"""The queues of a worker: one lane with all its processes for both weights, and one more for light work alone."""
SEARCH_PATH = f"{SCHEMA},public"
"""The search path of connections that serve the queue only."""
COMMIT_SETTING = "synchronous_commit"  # off only for queue entries and results of chunks
Ended = Literal["crashed", "stalled"]
"""crashed: the process that computed the entry died. stalled: its worker died."""
SWEEP_LOCK = 7_215_340_914  # any constant: one sweep at a time, however many workers there are


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """Work to do for a job. task: its name. n: number of the chunk. priority: higher ones first, within a queue."""

    task: str
    job_id: int
    n: int | None = None
    priority: int = 0
    queue: str = QUEUES["heavy"]

    def arguments(self) -> dict[str, object]:
        """Return the arguments of the task."""
        return {"job": self.job_id} if self.n is None else {"job": self.job_id, "n": self.n}


@dataclass(frozen=True, slots=True)
class StalledQueueEntry:
    """An entry whose worker died before it finished."""

    queue_id: int
    job_id: int


@cache
def _manager() -> JobManager:
    return JobManager(SyncPsycopgConnector())  # never opened: every call passes a connection


def set_queue_search_path(session: Session) -> None:
    """Let the queue's functions find its tables as well as the organization's, until this transaction ends."""
    path = f"{SCHEMA}, {organization_schema(current_organization_number())}"
    session.execute(sa.text(f"SET LOCAL search_path = {path}"))


def disable_synchronous_commit(session: Session) -> None:
    """Let this transaction commit without waiting for the disk, so that raters who wait for it wait less.

    Use it only for results that can be recomputed after a server crash. The log keeps its order, so a result never
    survives without the queue entries of its transaction, nor the entries without the result.
    """
    session.execute(sa.text(f"SET LOCAL {COMMIT_SETTING} = off"))


def enqueue_entries(session: Session, entries: Iterable[QueueEntry]) -> None:
    """Put entries into the queue, within the transaction that they belong to, with the trace that led to them."""
    trace = get_current_traceparent()
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
        try:
            _manager().batch_defer_jobs(made, connection=driver_connection(session))
        except ConnectorException as error:
            # The transaction knows what psycopg's own errors mean, such as a full disk.
            raise error.__cause__ if isinstance(error.__cause__, psycopg.Error) else error from None


def withdraw_queued_entries(session: Session, job_id: int) -> None:
    """Remove a job's entries that no worker has begun from the queue."""
    set_queue_search_path(session)
    statement = "DELETE FROM procrastinate_jobs WHERE status = 'todo' AND (args->>'job')::bigint = :job"
    session.execute(sa.text(statement), {"job": job_id})


def load_stalled_entries(session: Session, seconds: float) -> Sequence[StalledQueueEntry]:
    """Return the entries held by workers that have gone or been silent for this many seconds."""
    set_queue_search_path(session)
    query = """SELECT j.id, (j.args->>'job')::bigint FROM procrastinate_jobs j
        LEFT JOIN procrastinate_workers w ON w.id = j.worker_id
        WHERE j.status = 'doing' AND (w.id IS NULL OR w.last_heartbeat < now() - make_interval(secs => :seconds))
        FOR UPDATE OF j SKIP LOCKED"""
    return [StalledQueueEntry(*row) for row in session.execute(sa.text(query), {"seconds": seconds})]


def increment_entry_failure_count(session: Session, queue_id: int, what: Ended) -> int:
    """Count on an entry that it ended this way once more; return the count, or 0 if the entry is gone.

    Each way of ending has its own count. Retries by the queue after a loss of the database count for neither.
    """
    set_queue_search_path(session)
    statement = """UPDATE procrastinate_jobs
        SET args = args || jsonb_build_object(CAST(:what AS text), coalesce((args->>:what)::int, 0) + 1)
        WHERE id = :id RETURNING (args->>:what)::int"""
    return session.execute(sa.text(statement), {"id": queue_id, "what": what}).scalar() or 0


def requeue_stalled_entry(session: Session, queue_id: int) -> None:
    """Let another worker take a stalled entry."""
    set_queue_search_path(session)
    call = "SELECT procrastinate_retry_job_v2(:id, now(), NULL, NULL, NULL)"
    session.execute(sa.text(call), {"id": queue_id})


def remove_queue_entry(session: Session, queue_id: int) -> None:
    """Remove an entry, whatever its state."""
    set_queue_search_path(session)
    session.execute(sa.text("DELETE FROM procrastinate_jobs WHERE id = :id"), {"id": queue_id})


def find_unqueued_jobs(session: Session, job_ids: Sequence[int]) -> set[int]:
    """Return those of the jobs that have no entry in the queue."""
    set_queue_search_path(session)
    query = sa.text("SELECT DISTINCT (args->>'job')::bigint FROM procrastinate_jobs WHERE status IN ('todo', 'doing')")
    return set(job_ids) - set(session.execute(query).scalars())


def count_live_workers(session: Session, seconds: float) -> int:
    """Count the worker lanes with a heartbeat within this many seconds."""
    query = f"""SELECT count(*) FROM {SCHEMA}.procrastinate_workers
        WHERE last_heartbeat > now() - make_interval(secs => :seconds)"""
    return int(session.execute(sa.text(query), {"seconds": seconds}).scalar_one())


def delete_dead_workers(session: Session, seconds: float) -> None:
    """Delete the rows of workers without a heartbeat for this many seconds."""
    set_queue_search_path(session)
    call = "SELECT * FROM procrastinate_prune_stalled_workers_v1(:seconds)"
    session.execute(sa.text(call), {"seconds": seconds})


def try_lock_queue_sweep(session: Session) -> bool:
    """Tell whether this transaction is the only one that sweeps now."""
    return bool(session.execute(sa.text("SELECT pg_try_advisory_xact_lock(:n)"), {"n": SWEEP_LOCK}).scalar())


def requeue_orphaned_entries(session: Session) -> int:
    """Requeue entries that a worker took but did not begin before its orderly end; return their number.

    If a worker is told to stop after it takes an entry and before it begins the entry, the entry stays taken, by no
    worker.
    """
    set_queue_search_path(session)
    statement = (
        "UPDATE procrastinate_jobs SET status = 'todo' WHERE status = 'doing' AND worker_id IS NULL RETURNING id"
    )
    return len(session.execute(sa.text(statement)).all())
