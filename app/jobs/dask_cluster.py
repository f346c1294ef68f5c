"""Chunks of reports computed by the workers of a Dask cluster.

They get the data of a job, packed as its chunks need them, and return bytes. They have no access to the database and no
credential. A chunk depends only on its data and its number, so it does not matter where or how often it is computed:
Dask passes the chunks of a dead worker to another one.

Needs `distributed`, the extra `dask`, here and on the cluster, and the same version of this package.
"""

from __future__ import annotations

import pickle
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError
from importlib import import_module
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from app.domain.errors import AppError, Invalid, Unavailable
from app.jobs.computing import ASK_EVERY, ComputingFailed, ComputingProcessPool, Ending
from app.jobs.job_steps import MOST_HELD, QueueEntryComputer, can_compute_without_database
from app.reports.kit.report import Chunk, LocalChunkComputer
from app.services.jobs.jobs import CHUNK
from app.storage.db import Database
from app.storage.jobs_queue import QueueEntry

CONNECT_WITHIN = 10.0  # seconds
LOOK_EVERY = 0.1  # seconds between checks whether this worker must stop


class SchedulerAway(Unavailable):
    """The Dask scheduler that PLUMBLINE_DASK_SCHEDULER names cannot be reached."""


class DaskNotInstalled(Invalid):
    """PLUMBLINE_DASK_SCHEDULER is set, but distributed is not installed; install plumbline[dask]."""


class WorkerVersionMismatch(Exception):
    """A Dask worker has a different version of plumbline than the worker that uses it."""


class ChunkInterrupted(Exception):
    """The chunk is no longer wanted, or this worker must stop."""

    def __init__(self, ending: Ending) -> None:
        self.ending = ending


def unpack_chunk_function(sender_version: str, packed: bytes) -> Chunk:
    """On the cluster: return the function that computes chunks, with its data. Raises WorkerVersionMismatch."""
    if sender_version != version("plumbline"):
        raise WorkerVersionMismatch(f"plumbline {version('plumbline')} on the cluster, {sender_version} here")
    chunk: Chunk = pickle.loads(packed)  # noqa: S301  (from our own worker: who may speak to a cluster may run code there)
    return chunk


def compute_chunk(chunk: Chunk, n: int) -> bytes | AppError:
    """On the cluster: return the nth chunk, or the error that refuses it, which is not a failure of the cluster."""
    try:
        return chunk(n)
    except AppError as error:
        return error


class DaskCluster:
    """The scheduler at an address, and the data of the last jobs sent to it. Usable from any number of threads."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._client: Any = None
        self._sent: OrderedDict[int, Any] = OrderedDict()
        self._changing = threading.Lock()

    def count_threads(self) -> int:
        """Return how many chunks the cluster computes at once, at least 1. Raises SchedulerAway, DaskNotInstalled."""
        with self._changing:
            threads: dict[str, int] = self._connect().nthreads()
            return max(1, sum(threads.values()))

    def compute_job_chunk(
        self, job_id: int, chunk: Chunk, n: int, *, find_ending: Callable[[], Ending | None]
    ) -> bytes:
        """Return the nth chunk of a job. find_ending: called during the computation; a result other than None ends it.

        Raises the chunk's own errors, ChunkInterrupted, SchedulerAway, and ComputingFailed if the cluster's workers
        fail.
        """
        done = threading.Event()
        with self._changing:
            client, key = self._connect(), f"chunk-{n}-{uuid4().hex}"
            try:
                future = client.submit(compute_chunk, self._send(job_id, chunk), n, key=key)
            except import_module("distributed.client").ClosedClientError as error:
                raise SchedulerAway from error
        future.add_done_callback(lambda _: done.set())
        while not done.wait(LOOK_EVERY):
            if (ending := find_ending()) is not None:
                future.cancel()
                raise ChunkInterrupted(ending)
        try:
            failure = future.exception(timeout=CONNECT_WITHIN)
            if failure is not None:
                self._forget(job_id)  # a different version of the cluster may accept the data
                raise ComputingFailed(f"{type(failure).__name__} on the cluster: {failure}") from failure
            answer: bytes | AppError = future.result(timeout=CONNECT_WITHIN)
        except (CancelledError, OSError, TimeoutError) as error:
            self.close()
            raise SchedulerAway from error
        if isinstance(answer, AppError):
            raise answer
        return answer

    def _connect(self) -> Any:
        if self._client is not None and self._client.status == "running":
            return self._client
        self._client = None  # the client gives up by itself if the scheduler is away for long
        self._sent.clear()
        try:
            distributed = import_module("distributed")
        except ImportError:
            raise DaskNotInstalled from None
        try:
            self._client = distributed.Client(self.address, timeout=CONNECT_WITHIN, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise SchedulerAway from error
        return self._client

    def _send(self, job_id: int, chunk: Chunk) -> Any:
        """Return a job's data on the cluster. There they are part of a task, so they outlive the worker with them."""
        sent = self._sent.pop(job_id, None)
        if sent is None:
            packed = import_module("cloudpickle").dumps(chunk)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")  # once per job, on purpose
                key = f"data-{job_id}-{uuid4().hex}"
                sent = self._client.submit(unpack_chunk_function, version("plumbline"), packed, key=key)
        self._sent[job_id] = sent
        while len(self._sent) > MOST_HELD:
            self._sent.popitem(last=False)
        return sent

    def _forget(self, job_id: int) -> None:
        with self._changing:
            self._sent.pop(job_id, None)

    def close(self) -> None:
        """Leave the cluster; the next chunk connects again."""
        with self._changing:
            client, self._client = self._client, None
            self._sent.clear()
        if client is not None:
            client.close(timeout=1)


class NeedsLocalFiles(Exception):
    """The cluster cannot compute this chunk, because it reads files of this machine."""


class DaskComputingPool:
    """Like `ComputingProcessPool`, but a cluster computes chunks of reports. This worker's processes do the rest."""

    def __init__(self, database: Database, processes: ComputingProcessPool, cluster: DaskCluster) -> None:
        self._database, self._processes, self._cluster = database, processes, cluster
        self._computer = QueueEntryComputer(database, f"dask {cluster.address}")

    def compute_queue_entry(
        self, entry: QueueEntry, *, wanted: Callable[[], bool], stopping: threading.Event
    ) -> Ending:
        """Compute an entry.

        Raises the errors of `ComputingProcessPool.compute_queue_entry` and of `DaskCluster.compute_job_chunk`.
        """
        if entry.task != CHUNK or not can_compute_without_database(self._database, entry.job_id):
            return self._processes.compute_queue_entry(entry, wanted=wanted, stopping=stopping)
        looks = 0

        def find_ending() -> Ending | None:
            nonlocal looks
            looks += 1
            if stopping.is_set():
                return "stopped"
            return "unwanted" if looks % round(ASK_EVERY / LOOK_EVERY) == 0 and not wanted() else None

        def compute(job_id: int, chunk: Chunk, n: int) -> bytes:
            if isinstance(chunk, LocalChunkComputer):
                raise NeedsLocalFiles
            return self._cluster.compute_job_chunk(job_id, chunk, n, find_ending=find_ending)

        try:
            self._computer.compute_queue_entry(entry.task, entry.job_id, entry.n, compute=compute)
        except NeedsLocalFiles:
            return self._processes.compute_queue_entry(entry, wanted=wanted, stopping=stopping)
        except ChunkInterrupted as interruption:
            return interruption.ending
        return "done"

    def end_idle_processes(self, idle: float) -> None:
        """End processes that have been idle for this many seconds."""
        self._processes.end_idle_processes(idle)

    def end_all_processes(self) -> None:
        """Leave the cluster, and end the processes."""
        self._cluster.close()
        self._processes.end_all_processes()
