"""The queue at work: what procrastinate hands out, done by processes of this worker's own."""

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
from app.jobs.computing import ComputingFailed, ComputingProcesses
from app.services.jobs import jobs
from app.services.jobs.jobs import CHUNK, FINISH, PREPARE, STALLED_AFTER
from app.storage import jobs as stored
from app.storage import jobs_queue
from app.storage.connections import ConfiguredAsyncConnection
from app.storage.db import Database, OrganizationGone
from app.storage.jobs_queue import COMMIT_SETTING, LANES, QUEUES, SEARCH_PATH, QueueEntry
from app.storage.organizations import organization_of_row, use_organization

if TYPE_CHECKING:
    from app.jobs.dask_cluster import DaskComputing

HEARTBEAT = 2.0  # seconds
POLL = 2.0  # where no notification came
STOP_WITHIN = 6.0
AGAIN_AFTER = 1.0
log = logging.getLogger("plumbline.worker")


class RetryLater(Exception):
    """It did not work out; another try may."""


class _RetryLater(BaseRetryStrategy):
    """Every error of ours is tried again, a little later each time; the task itself counts and gives up."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        seconds = min(30, 2**job.attempts)
        return RetryDecision(retry_in={"seconds": seconds}) if isinstance(exception, RetryLater) else None


class Worker:
    """Takes what is in the queues, so many entries at a time, until told to stop.

    One process more is there for what is light alone, so that no ranking ever waits behind a simulation.
    """

    def __init__(
        self,
        database: Database,
        *,
        processes: int,
        stop: threading.Event,
        yielding: bool = True,
        dask_scheduler: str | None = None,
    ) -> None:
        self._database, self._stop, self._n = database, stop, processes
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        n = processes + len(LANES) - 1
        own = ComputingProcesses(
            n,
            database.url,
            database.role,
            self._name,
            yielding=yielding,
            ratings_folder=database.ratings_folder,
        )
        self.processes: ComputingProcesses | DaskComputing = own
        if dask_scheduler is not None:
            from app.jobs.dask_cluster import DaskCluster, DaskComputing  # it loads what computes

            self.processes = DaskComputing(database, own, DaskCluster(dask_scheduler))

    def run(self) -> None:
        """Work; where the database goes away, or gives our place to others, begin again."""
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
        """Leave nothing as taken; where the database is away, others find it in time."""
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
        # What an entry says is in our tables: one that a crash of the server takes is entered again by the sweep.
        options = f"-c search_path={SEARCH_PATH} -c {COMMIT_SETTING}=off"
        if self._database.role:
            options += f" -c role={self._database.role}"
        app = App(
            connector=PsycopgConnector(
                conninfo=self._database.url.replace("postgresql+psycopg://", "postgresql://", 1),
                connection_class=ConfiguredAsyncConnection,
                kwargs={"options": options, "connect_timeout": 2},
                min_size=1,
                max_size=2 * len(LANES),  # each lane listens on one of its own
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
        """Do one entry, in a thread that waits for the process that computes.

        trace: of the request that asked for the job. _counts: how the entry ended before.
        """
        with trace_span("job", f"job {context.job.task_name}", trace) as span:
            if span is not None:
                part = {} if n is None else {"plumbline.part": n}
                span.set_name_and_attributes(f"job {context.job.task_name}", {"plumbline.job": job, **part})
            with use_organization(organization_of_row(job)):
                self._do_entry(context, job, n)

    def _do_entry(self, context: JobContext, job: int, n: int | None) -> None:
        entry = QueueEntry(context.job.task_name, job, n, context.job.priority, context.job.queue)
        try:
            ending = self.processes.compute_entry(entry, wanted=lambda: self._is_wanted(job), stopping=self._stop)
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
        """Whether this was a crash too many; one that cannot be noted now is none."""
        try:
            return entry.id is not None and jobs.record_worker_crash(self._database, entry.id)
        except AppError:
            return False

    def _is_wanted(self, job_id: int) -> bool:
        """Whether the job has not ended meanwhile; where the database is away, nobody knows better."""
        try:
            with self._database.transaction() as session:
                return stored.find_job_state(session, job_id) in stored.UNFINISHED
        except OrganizationGone:
            return False
        except AppError:
            return True

    def _hand_back(self, entry: QueueEntry) -> None:
        """Enter it again: that this worker stops is no failed try of it."""
        with self._database.transaction() as session:
            if stored.find_job_state(session, entry.job_id) in stored.UNFINISHED:
                jobs_queue.enqueue_entries(session, [entry])
