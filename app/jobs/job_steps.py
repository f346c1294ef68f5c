"""A worker's steps for a job: read the data, compute a chunk, make the report from all chunks.

Repeating a step changes nothing: each step checks the job first, locks its row for writing, and stores the same
bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, overload

from app.domain.errors import AppError, Invalid
from app.reports.inputs.snapshot import load_snapshot
from app.reports.kit import store
from app.reports.kit.report import Chunk, ReportComputation
from app.reports.kit.request import parse_report_options
from app.reports.stability import report as stability
from app.services.jobs import (
    exclusion_preview,
    ingest_reports,
    jobs,
    ranking_comparison,
    rankings,
    report_requests,
    segment_scores,
)
from app.services.jobs.jobs import (
    CHUNK,
    FINISH,
    PREPARE,
    WINDOW,
    JobInputsChanged,
    JobPartsChanged,
    JobRequest,
    RandomDrawFailed,
)
from app.services.plans import plan_jobs, replan_jobs
from app.services.tasks import progress_jobs
from app.storage import jobs as stored
from app.storage import jobs_queue, reports
from app.storage.current_organization import organization_number_from_row_id, use_organization
from app.storage.db import Database, OrganizationGone
from app.storage.free_memory import MemoryTooSmall
from app.storage.jobs_queue import QueueEntry
from app.storage.ratings_files.duckdb_engine import DuckdbNotInstalled
from app.web.metrics import JOB_SECONDS

ChunkComputer = Callable[[int, Chunk, int], bytes]
"""Computes a chunk: arguments are the job's number, its function, and the chunk's number."""
MOST_CHUNKS = 20_000
MOST_HELD = 2  # jobs whose data a process holds
BATCH = 16  # results read at a time
PASSING = frozenset({"unavailable", "storage_full"})  # kinds of errors that may not recur at a later attempt

MAY_FIT_LATER = (RandomDrawFailed, DuckdbNotInstalled, MemoryTooSmall)
"""Refusals that may not recur: another seed is drawn, the extra gets installed, or there is more memory."""


def _earlier_stability(database: Database, request: JobRequest) -> ReportComputation[Any]:
    ((campaign, version),) = request.campaigns.items()
    with database.transaction() as session:
        return stability.make_computation_of_legacy_job(
            session, load_snapshot(session, campaign, version), request.arguments
        )


OWN: Mapping[str, Callable[[Database, JobRequest], ReportComputation[Any]]] = MappingProxyType(
    {
        stability.EARLIER: _earlier_stability,
        rankings.KIND: rankings.make_ranking_computation,
        segment_scores.KIND: segment_scores.make_segment_scores_computation,
        ingest_reports.KIND: ingest_reports.make_ingest_report_computation,
        exclusion_preview.KIND: exclusion_preview.make_exclusion_preview_computation,
        progress_jobs.KIND: progress_jobs.make_progress_counts_computation,
        replan_jobs.KIND: replan_jobs.make_replan_computation,
        **dict.fromkeys(plan_jobs.KINDS, plan_jobs.make_plan_computation),
        **dict.fromkeys(ranking_comparison.KINDS, ranking_comparison.make_ranking_comparison_computation),
    }
)
"""Jobs that the kit of reports does not compute."""


def compute_chunk_locally(job_id: int, chunk: Chunk, n: int) -> bytes:  # noqa: ARG001  (one signature for all)
    """Compute the nth chunk in this process."""
    return chunk(n)


def can_compute_without_database(database: Database, job_id: int) -> bool:
    """Tell whether a job's chunks need no database: those of reports on the kit, whose data are read beforehand."""
    with use_organization(organization_number_from_row_id(job_id)), database.transaction() as session:
        row = stored.lock_job(session, job_id)
    return row is not None and row.kind not in OWN


class TooManyChunks(Invalid):
    """This is more than a job may take."""


class ChunkResults(Sequence[bytes]):
    """The results of all chunks of a job, in order, read as needed."""

    def __init__(self, database: Database, job_id: int, n: int) -> None:
        self._database, self._job_id, self._n = database, job_id, n

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[bytes]:
        for first in range(0, self._n, BATCH):
            yield from self[first : first + BATCH]

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            first, last, step = index.indices(self._n)
            with self._database.transaction() as session:
                return list(stored.stream_chunk_results(session, self._job_id, first, last))[::step]
        with self._database.transaction() as session:
            return stored.load_chunk_result(session, self._job_id, range(self._n)[index])


class QueueEntryComputer:
    """Runs entries of the queue, and holds the data of the jobs on which it worked last.

    name: of the worker, stored with the results. Several threads may use it at once.
    """

    def __init__(self, database: Database, name: str) -> None:
        self._database, self._name = database, name
        self._held: OrderedDict[int, ReportComputation[Any]] = OrderedDict()
        self._reading = threading.Lock()

    def compute_queue_entry(
        self, task: str, job_id: int, n: int | None = None, *, compute: ChunkComputer = compute_chunk_locally
    ) -> None:
        """Run an entry, unless the job has ended, perhaps with its organization. compute: computes a chunk somewhere.

        Raises Unavailable or StorageFull if a later attempt may succeed, and errors of `compute` other than AppError.
        """
        with use_organization(organization_number_from_row_id(job_id)), suppress(OrganizationGone):
            self._do(task, job_id, n, compute)

    def _do(self, task: str, job_id: int, n: int | None, compute: ChunkComputer) -> None:
        with self._database.transaction() as session:
            jobs_queue.disable_synchronous_commit(session)
            row = stored.lock_job(session, job_id)
            has_result = n is not None and stored.has_chunk_result(session, job_id, n)
        if row is None or row.state not in stored.UNFINISHED or has_result:
            return
        try:
            if task == PREPARE:
                self._prepare(row)
            elif task == CHUNK and n is not None:
                self._chunk(row, n, compute)
            elif task == FINISH:
                self._finish(row)
        except JobInputsChanged as error:
            jobs.fail_job(self._database, job_id, error, may_succeed_later=True)
        except AppError as error:
            if error.kind in PASSING:
                self._held.pop(row.id, None)  # a file that it reads may be gone
                raise
            jobs.fail_job(self._database, job_id, error, may_succeed_later=isinstance(error, MAY_FIT_LATER))

    def _prepare(self, row: stored.Row) -> None:
        work = self._work(row)
        if work.n_chunks > MOST_CHUNKS:
            raise TooManyChunks(f"it comes to {work.n_chunks:,} parts; a job may have {MOST_CHUNKS:,}")
        with self._database.transaction() as session:
            held = stored.lock_job(session, row.id)
            if held is None or held.state != "queued":
                return
            stored.mark_job_begun(session, held, work.n_chunks)
            begun = stored.lock_job(session, row.id)
            if begun is not None:
                jobs_queue.enqueue_entries(session, self._next(session, begun))

    @staticmethod
    def _next(session: Any, begun: stored.Row) -> list[QueueEntry]:
        entries = jobs.make_next_queue_entries(session, begun)
        if any(entry.task == FINISH for entry in entries):
            stored.mark_job_finishing(session, begun.id)
        return entries

    def _chunk(self, row: stored.Row, n: int, compute: ChunkComputer) -> None:
        body = compute(row.id, self._work(row).chunk, n)
        with self._database.transaction() as session:
            jobs_queue.disable_synchronous_commit(session)
            held = stored.lock_job(session, row.id)
            if held is None or held.state != "running":
                return
            if not stored.store_chunk_result(session, row.id, n, body, self._name):
                return
            if held.n_done + 1 == held.n_chunks:
                stored.mark_job_finishing(session, row.id)
                jobs_queue.enqueue_entries(session, [jobs.make_finish_queue_entry(held)])
            elif n + WINDOW < held.n_chunks:
                jobs_queue.enqueue_entries(session, [jobs.make_chunk_queue_entry(held, n + WINDOW)])

    def _finish(self, row: stored.Row) -> None:
        if row.state != "finishing":
            return
        body = store.assemble_report_from_chunks(self._work(row), ChunkResults(self._database, row.id, row.n_chunks))
        key = JobRequest.from_json(row.kind, row.request).key
        with self._database.transaction() as session:
            held = stored.lock_job(session, row.id)
            if held is not None and held.state == "finishing":
                reports.store_report(session, key, body)
                jobs.end_job(session, held)
                JOB_SECONDS.labels(held.kind).observe((datetime.now(UTC) - held.created_at).total_seconds())
        self._held.pop(row.id, None)

    def _work(self, row: stored.Row) -> ReportComputation[Any]:
        """Return the rest of a job's work after its data are read, which happens once, as long as they are held."""
        with self._reading:
            work = self._held.pop(row.id, None)
            if work is None:
                work = load_job_work(self._database, JobRequest.from_json(row.kind, row.request))
            self._held[row.id] = work
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)
        # Before an update, another version of the service may have divided the job in another way. Its results would be
        # taken for those of other chunks.
        if row.state != "queued" and row.kind not in OWN and work.n_chunks != row.n_chunks:
            raise JobPartsChanged
        return work


def load_job_work(database: Database, request: JobRequest) -> ReportComputation[Any]:
    """Read a job's data, at the versions of its request. Raises the error that refuses the request."""
    own = OWN.get(request.kind)
    if own is not None:
        return own(database, request)
    kind = report_requests.get_report_kind_of_job(request.kind)
    given = parse_report_options(kind, request.arguments)
    with database.transaction() as session:
        about = store.filter_settings_read_by_report(
            kind, [load_snapshot(session, key, version) for key, version in request.campaigns.items()]
        )
        if store.compute_report_key(session, kind, about, given) != request.key:
            raise JobInputsChanged
        return kind.prepare(session, about, given)
