"""Keep an embedded server running: restart one that has ended, and continue or end one that hangs.

Supervision cannot lose confirmed data: a killed server replays its log, as after a power cut. A server with a full disk
cannot start; starting is tried again until there is space.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from app.storage.embedded import cluster
from app.storage.embedded.cluster import PostgresCluster
from app.storage.embedded.folders import LOCK
from app.storage.processes import IdleTimeMeter, is_process_suspended

LOOK_EVERY = 1.0  # seconds
ASK_EVERY = 3.0  # seconds between two queries to a server that answers
STOPPED_FOR, ORPHANED_FOR = 3.0, 3.0  # seconds
SILENT_FOR, COMPUTING_FOR = 12.0, 120.0  # seconds without an answer: for an idle server, and for any server
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 8.0  # seconds between two starts
ROOM = 32 << 20  # bytes: two log segments, without which it cannot start
State = Literal["starting", "running", "restarting"]
log = logging.getLogger("plumbline.postgres")


@dataclass(frozen=True, slots=True)
class ServiceCondition:
    """The state of a part of the service. reason: why it does not run, in words that anybody may read."""

    state: State
    reason: str = ""


class ServerSupervisor:
    """Looks after one server. One thread calls `check_and_mend` every second."""

    def __init__(self, server_cluster: PostgresCluster) -> None:
        self._cluster = server_cluster
        self._looked = time.monotonic()
        self._asked = 0.0  # seconds since the last query
        self._stopped: dict[int, float] = {}
        self._orphaned = self._silent = 0.0
        self._main: tuple[int, IdleTimeMeter] | None = None
        self._pause, self._paused = FIRST_PAUSE, FIRST_PAUSE
        self._said = ""

    def check_and_mend(self) -> ServiceCondition:
        """Check the server once, and do what is needed. Raises OSError or SubprocessError if the check fails."""
        now = time.monotonic()
        seconds, self._looked = min(now - self._looked, 5 * LOOK_EVERY), now
        pids = cluster.find_server_processes(self._cluster)
        self._continue_stopped_processes(pids, seconds)
        main = cluster.find_postmaster(self._cluster, pids)
        if main is None:
            return self._handle_absent_server(pids, seconds)
        self._orphaned = 0.0
        return self._present(main, pids, seconds)

    def _continue_stopped_processes(self, pids: set[int], seconds: float) -> None:
        """Continue processes that a signal has stopped for a while."""
        self._stopped = {pid: self._stopped.get(pid, 0.0) + seconds for pid in pids if is_process_suspended(pid)}
        for pid, stopped in self._stopped.items():
            if stopped >= STOPPED_FOR:
                log.warning("process %d of Postgres was stopped by a signal; it goes on", pid)
                _signal([pid], signal.SIGCONT)

    def _handle_absent_server(self, pids: set[int], seconds: float) -> ServiceCondition:
        """Handle a missing server, whose child processes may still exist."""
        self._main, self._silent = None, 0.0
        if pids:
            self._orphaned += seconds
            if self._orphaned >= ORPHANED_FOR:
                log.warning("Postgres has ended and left processes %s; they are ended, too", sorted(pids))
                _signal(pids, signal.SIGKILL)
            return ServiceCondition("restarting", "it ended")
        full = shutil.disk_usage(self._cluster.home).free < ROOM
        reason = "it ended, and its disk is full" if full else "it ended"
        self._log_reason(reason)
        self._paused += seconds
        if self._paused >= self._pause and self._launch():
            self._paused, self._pause = 0.0, min(2 * self._pause, LONGEST_PAUSE)
        return ServiceCondition("restarting", reason)

    def _launch(self) -> bool:
        """Start the server, unless another command is doing so."""
        handle = os.open(self._cluster.home / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            cluster.start_server_without_waiting(self._cluster)
            return True
        finally:
            os.close(handle)

    def _present(self, main: int, pids: set[int], seconds: float) -> ServiceCondition:
        if self._main is None or self._main[0] != main:
            self._main, self._asked = (main, IdleTimeMeter(main)), ASK_EVERY
        still = self._main[1]
        still.update(seconds)
        self._asked += seconds
        if not self._silent and not self._said and self._asked < ASK_EVERY:
            return ServiceCondition("running")
        self._asked = 0.0
        answer = cluster.query_server_status(self._cluster)
        if answer == "accepts":
            if self._said:
                log.warning("Postgres runs again")
            self._silent, self._said = 0.0, ""
            self._pause = self._paused = FIRST_PAUSE
            return ServiceCondition("running")
        if answer == "rejects":  # it is recovering, which may take long
            self._silent = 0.0
            return ServiceCondition("starting", "it makes good what its end left undone")
        self._log_reason("it does not answer")
        self._silent += max(seconds, LOOK_EVERY)
        if self._silent >= COMPUTING_FOR or min(self._silent, still.idle) >= SILENT_FOR:
            log.warning("Postgres has not answered for %d s; it is ended and started again", self._silent)
            _signal(pids, signal.SIGKILL)
        return ServiceCondition("restarting", "it does not answer")

    def _log_reason(self, reason: str) -> None:
        """Log why the server does not run: once, with the end of its own log."""
        if self._said != reason:
            self._said = reason
            log.warning("Postgres: %s; its last words: %s", reason, cluster.read_log_tail(self._cluster))


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
