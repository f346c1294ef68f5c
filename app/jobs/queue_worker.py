"""The queue's worker: takes entries from procrastinate, and runs them in its own processes."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from typing import TYPE_CHECKING

from procrastinate import App, JobContext, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import DeleteJobCondition, Job
from procrastinate.retry import BaseRetryStrategy

from app.domain.errors import AppError
from app.domain.tracing import trace_span
from app.jobs.computing import ComputingFailed, ComputingProcessPool
from app.services.jobs import jobs
from app.services.jobs.jobs import CHUNK, FINISH, PREPARE, STALLED_AFTER
from app.storage import jobs as stored
from app.storage import jobs_queue
from app.storage.connections import AsyncConnectionWithStartupOptions
from app.storage.current_organization import organization_number_from_row_id, use_organization
from app.storage.db import Database, OrganizationGone
from app.storage.jobs_queue import COMMIT_SETTING, LANES, QUEUES, SEARCH_PATH, QueueEntry

if TYPE_CHECKING:
    from app.jobs.dask_cluster import DaskComputingPool

HEARTBEAT = 2.0  # seconds
POLL = 2.0  # seconds between polls, if no notification comes
STOP_WITHIN = 6.0
AGAIN_AFTER = 1.0
log = logging.getLogger("plumbline.worker")


class RetryLater(Exception):
    """An attempt failed; another one may succeed."""


class _RetryLater(BaseRetryStrategy):
    """Retries each of our own errors after increasing delays; `_do_entry` counts crashes and gives up."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        seconds = min(30, 2**job.attempts)
        return RetryDecision(retry_in={"seconds": seconds}) if isinstance(exception, RetryLater) else None


class QueueWorker:
    """Takes entries from the queues, a number at a time, until told to stop.

    One additional process is for light entries only, so that no ranking ever waits behind a simulation.
    """

    def __init__(
        self,
        database: Database,
        *,
        processes: int,
        stop: threading.Event,
        low_priority: bool = True,
        dask_scheduler: str | None = None,
    ) -> None:
        self._database, self._stop, self._n = database, stop, processes
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        n = processes + len(LANES) - 1
        own = ComputingProcessPool(
            n,
            database.url,
            database.role,
            self._name,
            low_priority=low_priority,
            ratings_folder=database.ratings_folder,
        )
        self.processes: ComputingProcessPool | DaskComputingPool = own
        if dask_scheduler is not None:
            from app.jobs.dask_cluster import DaskCluster, DaskComputingPool  # this loads the code that computes

            self.processes = DaskComputingPool(database, own, DaskCluster(dask_scheduler))

    def run(self) -> None:
        """Work; if the database goes away, or gives our place to others, begin again."""
        try:
            while not self._stop.is_set():
                try:
                    asyncio.run(self._serve())
                except (ConnectorException, OSError) as error:
                    log.warning("the queue cannot be reached: %s", type(error.__cause__ or error).__name__)
                self._stop.wait(AGAIN_AFTER)
        finally:
            self.processes.end_all_processes()
            self._leave()

    def _leave(self) -> None:
        """Leave no entry as taken; if the database is away, other workers find these entries in time."""
        try:
            with self._database.transaction() as session:
                jobs_queue.requeue_orphaned_entries(session)
        except AppError as error:
            log.warning("what was taken is left to others: %s", error.title())

    async def _serve(self) -> None:
        app = self._app()
        async with app.open_async():
            lanes = [
                asyncio.create_task(
                    app.run_worker_async(
                        queues=[QUEUES[weight] for weight in weights],
                        name=self._name,
                        concurrency=self._n if "heavy" in weights else 1,
                        install_signal_handlers=False,
                        delete_jobs=DeleteJobCondition.ALWAYS,
                        fetch_job_polling_interval=POLL,
                        update_heartbeat_interval=HEARTBEAT,
                        stalled_worker_timeout=STALLED_AFTER,
                        shutdown_graceful_timeout=STOP_WITHIN,
                    )
                )
                for weights in LANES
            ]
            while not any(lane.done() for lane in lanes) and not self._stop.is_set():
                await asyncio.wait(lanes, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
            for lane in lanes:
                lane.cancel()
            await asyncio.wait(lanes)
            for lane in lanes:
                if not lane.cancelled() and (error := lane.exception()) is not None:
                    raise error

    def _app(self) -> App:
        # The state that entries refer to is in our tables: an entry lost in a server crash is put back by the sweep.
        options = f"-c search_path={SEARCH_PATH} -c {COMMIT_SETTING}=off"
        if self._database.role:
            options += f" -c role={self._database.role}"
        app = App(
            connector=PsycopgConnector(
                conninfo=self._database.url.replace("postgresql+psycopg://", "postgresql://", 1),
                connection_class=AsyncConnectionWithStartupOptions,
                kwargs={"options": options, "connect_timeout": 2},
                min_size=1,
                max_size=2 * len(LANES),  # each lane listens on a separate connection
                timeout=5.0,
            )
        )
        later = _RetryLater()
        for name in (PREPARE, CHUNK, FINISH):
            app.task(name=name, pass_context=True, retry=later)(self._run_entry)
        return app

    def _run_entry(
        self, context: JobContext, /, job: int, n: int | None = None, trace: str | None = None, **_counts: int
    ) -> None:
        """Run one entry, in a thread that waits for the process that computes.

        trace: of the request that caused the job. _counts: how earlier attempts at the entry ended.
        """
        with trace_span("job", f"job {context.job.task_name}", trace) as span:
            if span is not None:
                part = {} if n is None else {"plumbline.part": n}
                span.set_name_and_attributes(f"job {context.job.task_name}", {"plumbline.job": job, **part})
            with use_organization(organization_number_from_row_id(job)):
                self._do_entry(context, job, n)

    def _do_entry(self, context: JobContext, job: int, n: int | None) -> None:
        entry = QueueEntry(context.job.task_name, job, n, context.job.priority, context.job.queue)
        try:
            ending = self.processes.compute_queue_entry(entry, wanted=lambda: self._is_wanted(job), stopping=self._stop)
            if ending == "stopped":
                self._hand_back(entry)
        except ComputingFailed as error:
            what = entry.task if n is None else f"part {n + 1}"
            log.warning("job %d: computing (%s) ended: %s", job, what, error)
            if self._is_hopeless(context.job):
                jobs.give_up_job(self._database, job, f"computing ({what}) ended with {error}")
                return
            raise RetryLater from error
        except AppError as error:
            raise RetryLater from error

    def _is_hopeless(self, entry: Job) -> bool:
        """Tell whether this crash reached the limit; a crash that cannot be recorded now does not count."""
        try:
            return entry.id is not None and jobs.record_worker_crash(self._database, entry.id)
        except AppError:
            return False

    def _is_wanted(self, job_id: int) -> bool:
        """Tell whether the job is still unfinished; if the database is away, assume so."""
        try:
            with self._database.transaction() as session:
                return stored.find_job_state(session, job_id) in stored.UNFINISHED
        except OrganizationGone:
            return False
        except AppError:
            return True

    def _hand_back(self, entry: QueueEntry) -> None:
        """Put an entry back, because the end of this worker is not a failed attempt."""
        with self._database.transaction() as session:
            if stored.find_job_state(session, entry.job_id) in stored.UNFINISHED:
                jobs_queue.enqueue_entries(session, [entry])
