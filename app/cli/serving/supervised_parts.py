"""The parts of the service under supervision: our own processes, and the embedded Postgres."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from app.cli.serving.prometheus_folder import forget_prometheus_process
from app.cli.serving.supervisor_connection import ConnectionToProcess
from app.storage.embedded import ServerSupervisor, ServiceCondition
from app.storage.embedded.supervision import LOOK_EVERY
from app.storage.processes import IdleTimeMeter
from app.web.service_part_states import PartStates

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0  # seconds before an ended part is restarted; doubled each time
STEADY = 60.0  # seconds after which an earlier end no longer counts
log = logging.getLogger("plumbline.serve")


@dataclass(frozen=True, slots=True)
class HeartbeatTimeouts:
    """When a process is considered dead, in seconds. None of these limits its work: a ranking may take minutes.

    start: until its first heartbeat, however busy the machine is. silent: without a heartbeat later, whatever it does.
    idle: without a heartbeat and without processor time; None if this is normal. stopped: by a signal, until it is
    continued; after twice as long, it is ended.
    """

    start: float = 900.0
    silent: float = 300.0
    idle: float | None = 20.0
    stopped: float = 3.0  # as for Postgres; a request that the process has already accepted waits this long


class SupervisedPart(Protocol):
    """A part that the supervisor keeps running."""

    name: str
    condition: ServiceCondition

    def check_and_mend(self, elapsed_seconds: float, *, may_start: bool) -> None:
        """Check the part, this many seconds after the last check, and do what is needed."""

    def notify_of_part_states(self, part_states: PartStates) -> None:
        """Send the states of all parts."""

    def request_stop(self) -> None:
        """Tell the part to stop; return at once."""

    def ensure_stopped_within(self, seconds: float) -> None:
        """Wait until the part has stopped, and end it after this many seconds."""


class SupervisedProcess:
    """One of our processes: restarted whenever it ends, hangs, or sends no heartbeat."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        descriptors: Sequence[int] = (),
        limits: HeartbeatTimeouts = HeartbeatTimeouts(),
    ) -> None:
        self.name, self.condition = name, ServiceCondition("starting")
        self.was_ready = False
        self.failed: int | None = None  # exit code if the first start failed by itself
        self._command, self._environment, self._descriptors = command, environment, descriptors
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._kept: ConnectionToProcess | None = None
        self._still = IdleTimeMeter(0)
        self._silent = self._ran = self._waited = 0.0
        self._pause = 0.0
        self._awaited: int | None = None  # the pipe from which an early-started process reads its environment

    def start_awaiting_environment(self) -> None:
        """Start it before its environment is known: it imports what it needs, then waits for `complete_environment`.

        If the environment never comes, because the supervisor ends first, the process ends as well.
        """
        theirs, self._awaited = os.pipe()
        self._start(theirs)
        os.close(theirs)

    def complete_environment(self, environment: Mapping[str, str]) -> None:
        """Give an early-started process the rest of its environment, which is also used when it is restarted."""
        self._environment = {**self._environment, **environment}
        if self._awaited is not None:
            with suppress(BrokenPipeError), os.fdopen(self._awaited, "wb") as pipe:  # it has ended, as a check will see
                pipe.write(json.dumps(environment).encode())
            self._awaited = None

    def abandon_early_start(self) -> None:
        """End an early-started process that was not completed, so that nothing keeps its socket."""
        if self._awaited is None:
            return
        os.close(self._awaited)
        self._awaited = None
        if self._process is not None:
            self._process.kill()
        self.ensure_stopped_within(0)

    @property
    def is_starting(self) -> bool:
        """Whether the process exists but has not yet sent its first heartbeat."""
        return self._process is not None and self.condition.state != "running"

    def check_and_mend(self, elapsed_seconds: float, *, may_start: bool) -> None:
        """Start the process if it does not exist; end it if it is considered dead."""
        if self._process is None or self._kept is None:
            self._waited += elapsed_seconds
            if may_start and self._waited >= self._pause:
                self._start()
            return
        self._listen(self._kept, elapsed_seconds)
        if self._still.stopped >= self._limits.stopped:
            log.warning("%s was stopped by a signal and is resumed", self.name)
            self._process.send_signal(signal.SIGCONT)
        code = self._process.poll()
        if code is not None:
            if code > 0 and not self.was_ready:
                self.failed = code
            self._gone(f"it ended by signal {-code}" if code < 0 else f"it ended with exit code {code}")
        elif reason := self._dead():
            self._process.kill()
            self._process.wait()
            self._gone(reason)

    def _listen(self, kept: ConnectionToProcess, seconds: float) -> None:
        self._ran += seconds
        self._still.update(seconds)
        self._silent += seconds
        if kept.has_new_heartbeat():
            self._silent = 0.0
            if self.condition.state != "running":
                log.info("%s is ready after %.1f s", self.name, self._ran)
                self.condition, self.was_ready, self._ran = ServiceCondition("running"), True, 0.0
        if self.condition.state == "running" and self._ran >= STEADY:
            self._pause = 0.0

    def _dead(self) -> str:
        """Return why the process is considered dead; empty if it is not."""
        limits, still = self._limits, self._still
        if still.stopped >= 2 * limits.stopped:
            return "it was stopped by a signal"
        if limits.idle is not None and min(self._silent, still.idle) >= limits.idle:
            return "it sent no heartbeat and made no progress"
        if self._silent >= (limits.silent if self.condition.state == "running" else limits.start):
            return "it sent no heartbeat"
        return ""

    def _gone(self, reason: str) -> None:
        if self._kept is not None:
            self._kept.close()
        if self._process is not None:
            forget_prometheus_process(self._process.pid)
        self._process = self._kept = None
        self._pause, self._waited = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE), 0.0
        self.condition = ServiceCondition("restarting", reason)
        log.warning("%s: %s; restarting in %.1f s", self.name, reason, self._pause)

    def _start(self, awaited: int | None = None) -> None:
        """Start it. awaited: the pipe from which it reads the rest of its environment."""
        self._kept = ConnectionToProcess()
        early = () if awaited is None else (awaited,)
        try:
            self._process = subprocess.Popen(
                [
                    *(part.replace("{line}", str(self._kept.child_descriptor)) for part in self._command),
                    *map(str, early),
                ],
                env={**os.environ, **self._environment},
                stdin=subprocess.DEVNULL,
                pass_fds=(self._kept.child_descriptor, *self._descriptors, *early),
            )
        except OSError as error:  # memory, processes or files are exhausted at the moment
            self._gone(f"it cannot be started ({error.strerror})")
            return
        self._kept.close_inherited_end()
        self._still = IdleTimeMeter(self._process.pid)
        self._silent = self._ran = 0.0

    def notify_of_part_states(self, part_states: PartStates) -> None:
        """Send the states of all parts."""
        if self._kept is not None:
            self._kept.send_part_states(part_states)

    def request_stop(self) -> None:
        """Tell the process to stop."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def ensure_stopped_within(self, seconds: float) -> None:
        """Wait for its end, and kill it after this many seconds."""
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._kept is not None:
            self._kept.close()


class PostgresWatcher:
    """The embedded server, watched in a separate thread, because a check may take seconds."""

    name = "postgres"

    def __init__(self, tender: ServerSupervisor) -> None:
        self.condition = ServiceCondition("running")
        self._tender = tender
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._tend, name="postgres", daemon=True)
        self._thread.start()

    def _tend(self) -> None:
        while not self._stopping.wait(LOOK_EVERY):
            try:
                self.condition = self._tender.check_and_mend()
            except (OSError, subprocess.SubprocessError) as error:
                log.warning("postgres: it cannot be supervised now: %s", error)

    def check_and_mend(self, elapsed_seconds: float, *, may_start: bool) -> None:
        """Do nothing, because the thread does it."""

    def notify_of_part_states(self, part_states: PartStates) -> None:
        """Do nothing, because the server is not our program."""

    def request_stop(self) -> None:
        """Stop watching the server; the code that started it stops it."""
        self._stopping.set()

    def ensure_stopped_within(self, seconds: float) -> None:
        """Wait for the last check to end."""
        self._thread.join(seconds)
