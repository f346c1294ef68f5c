"""Processes that compute chunks and can be killed at any moment, so that a cancelled job costs nothing more.

Each process uses spare processor time only, has one thread of linear algebra, holds the data of its last jobs, and ends
with the process that started it, however this ends.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Literal

from app.domain.errors import StorageFull, Unavailable
from app.domain.tracing import continue_trace, get_current_traceparent
from app.storage.db import Database
from app.storage.jobs_queue import QueueEntry
from app.storage.processes import IdleTimeMeter
from app.storage.ratings_folder import RatingsFolder

NICE = 10  # a weight of 110, where a process for raters' requests has 1024: about a tenth of a busy processor
AUTOGROUPS = Path("/proc/sys/kernel/sched_autogroup_enabled")
AUTOGROUP = Path("/proc/self/autogroup")  # the nice value of the session
TOLD_WITHIN = 10.0
ASK_EVERY = 0.5  # seconds between checks whether the work is still wanted
END_WITHIN = 5.0
STOPPED_FOR = 4.0  # seconds after which a process stopped by a signal is given up
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
Ending = Literal["done", "unwanted", "stopped"]


class ComputingFailed(Exception):
    """The process that computed this ended with an error; its worker's log says which."""


class ComputingUnavailable(Unavailable):
    """This cannot be computed or stored now."""

    published = "NotNow"


@dataclass
class ComputingProcess:
    """One computing process, started when there is something to do."""

    url: str
    role: str | None
    name: str
    low_priority: bool = True
    ratings_folder: RatingsFolder | None = None
    last_job: int | None = None
    used: float = field(default_factory=time.monotonic)
    _process: SpawnProcess | None = None
    _line: Connection | None = None

    def compute_queue_entry(
        self, entry: QueueEntry, *, wanted: Callable[[], bool], stopping: threading.Event
    ) -> Ending:
        """Compute an entry; if it is no longer wanted, or this worker is stopped, kill the process at once.

        Raises ComputingFailed if the process ends by itself, ComputingUnavailable if a later attempt may succeed.
        """
        line = self._start()
        still = IdleTimeMeter(self._process.pid or 0) if self._process is not None else None
        self.last_job, self.used = entry.job_id, time.monotonic()
        line.send((entry.task, entry.job_id, entry.n, get_current_traceparent()))
        asked = time.monotonic()
        while not line.poll(0.1):
            if stopping.is_set():
                self.terminate()
                return "stopped"
            if time.monotonic() - asked >= ASK_EVERY:
                asked = time.monotonic()
                if still is not None:
                    still.update(ASK_EVERY)
                    if still.stopped >= STOPPED_FOR:
                        self.terminate()
                        raise ComputingFailed("a signal that stopped it")
                if not wanted():
                    self.terminate()
                    return "unwanted"
        try:
            passing = line.recv()
        except (EOFError, ConnectionError):
            raise ComputingFailed(self._describe_end()) from None
        self.used = time.monotonic()
        if passing:
            raise ComputingUnavailable(passing)
        return "done"

    def terminate(self) -> None:
        """End the process, whatever it is doing."""
        process, line = self._process, self._line
        self._process = self._line = None
        if process is not None and line is not None:
            process.kill()
            process.join(END_WITHIN)
            line.close()

    def _describe_end(self) -> str:
        process = self._process
        if process is not None:
            process.join(END_WITHIN)
        code = process.exitcode if process is not None else None
        self.terminate()
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"

    def _start(self) -> Connection:
        if self._process is not None and self._line is not None and self._process.is_alive():
            return self._line
        self.terminate()
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=run_computing_child,
            args=(theirs, self.url, self.role, self.name, self.low_priority, self.ratings_folder),
            daemon=True,
        )
        process.start()
        theirs.close()
        self._process, self._line, self.last_job = process, ours, None
        return ours


class ComputingProcessPool:
    """A number of processes, each for one entry of the queue at a time."""

    def __init__(
        self,
        n: int,
        url: str,
        role: str | None,
        name: str,
        *,
        low_priority: bool = True,
        ratings_folder: RatingsFolder | None = None,
    ) -> None:
        self._free = [ComputingProcess(url, role, name, low_priority, ratings_folder) for _ in range(n)]
        self._changed = threading.Condition()

    def compute_queue_entry(
        self, entry: QueueEntry, *, wanted: Callable[[], bool], stopping: threading.Event
    ) -> Ending:
        """Compute an entry in a free process, if possible one with the job's data. Raises the errors of a process."""
        process = self._choose_process(entry.job_id)
        try:
            return process.compute_queue_entry(entry, wanted=wanted, stopping=stopping)
        finally:
            with self._changed:
                self._free.append(process)
                self._changed.notify()

    def _choose_process(self, job_id: int) -> ComputingProcess:
        with self._changed:
            self._changed.wait_for(lambda: self._free)
            process = next((one for one in self._free if one.last_job == job_id), self._free[-1])
            self._free.remove(process)
            return process

    def end_idle_processes(self, idle: float) -> None:
        """End processes that have been idle for this many seconds, to free their memory."""
        with self._changed:
            for process in self._free:
                if time.monotonic() - process.used >= idle:
                    process.terminate()

    def end_all_processes(self) -> None:
        """End the idle processes; the others end when their work is stopped."""
        self.end_idle_processes(0)


def _step_back(*, low_priority: bool) -> None:
    """Lower the priority: use spare processor time, and about a tenth if all processors are busy.

    A still lower priority would mean no time at all: next to a few busy processes, a job in the idle class, or with the
    lowest weight, stands still for minutes.
    """
    if not (low_priority and _has_own_weight()):
        os.nice(NICE)


def _has_own_weight() -> bool:
    """If the kernel weighs sessions before processes, start a session with this weight for this process alone.

    In this case, a nice value only counts within a session, and the work of one session makes others wait
    (docs/jobs.md).
    """
    try:
        if AUTOGROUPS.read_text(encoding="ascii").strip() != "1":
            return False
        with AUTOGROUP.open("wb") as weight:  # opened first: with the usual weight it would take longer
            os.setsid()
            _set_kernel_weight(weight.fileno(), str(NICE).encode())
    except OSError:  # no Linux, no autogroups, or a container without the right to write there
        return False
    os.nice(NICE)
    return True


def _set_kernel_weight(weight: int, nice: bytes) -> None:
    """Tell the kernel the weight of a session. Raises OSError.

    Except for root, it accepts one change in a tenth of a second.
    """
    until = time.monotonic() + TOLD_WITHIN
    while True:
        try:
            os.write(weight, nice)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def run_computing_child(
    connection: Connection,
    url: str,
    role: str | None,
    name: str,
    low_priority: bool = True,
    ratings_folder: RatingsFolder | None = None,
) -> None:
    """Run in the child: compute the entries from the connection, one after another. Any error ends the process.

    Only the child imports the code that computes: the reports and the linear algebra are half of a worker's start-up
    time and memory.
    """
    from app.jobs.job_steps import QueueEntryComputer

    threading.Thread(target=_end_with_parent, daemon=True).start()
    _step_back(low_priority=low_priority)
    database = Database(url, size=2, role=role, ratings_folder=ratings_folder)
    computer = QueueEntryComputer(database, name)
    while True:
        try:
            task, job_id, n, trace = connection.recv()
            continue_trace(trace)
        except (EOFError, ConnectionError):
            return
        try:
            computer.compute_queue_entry(task, job_id, n)
            passing = ""
        except (Unavailable, StorageFull) as error:
            passing = error.title()
        connection.send(passing)


def _end_with_parent() -> None:
    """End when the parent is killed, without notice; another worker then takes over the rest of the work."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
