"""What Linux's /proc says about a process; without /proc, nothing is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STOPPED = "T"
AT_WORK = frozenset("RD")  # running or ready to run, or waiting for a disk


@dataclass(frozen=True, slots=True)
class ProcessState:
    """A process at one moment. state: one letter, as in proc(5). ticks: processor time it has used so far."""

    state: str
    ticks: int


def read_process_state(pid: int) -> ProcessState | None:
    """Return the state of a process; None if it is gone, or if the system does not say."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = told.rpartition(")")[2].split()  # a name may contain anything
    return ProcessState(fields[0], int(fields[11]) + int(fields[12]))


def is_process_suspended(pid: int) -> bool:
    """Tell whether a signal has stopped the process, so that it does nothing until another signal continues it."""
    status = read_process_state(pid)
    return status is not None and status.state == STOPPED


class IdleTimeMeter:
    """Measures how long a process has been idle, by the times it is given: a pause of the caller does not count."""

    def __init__(self, pid: int) -> None:
        self.stopped = 0.0  # seconds
        self.idle = 0.0  # seconds without processor time, and without needing any
        self._pid, self._ticks = pid, -1

    def update(self, seconds: float) -> None:
        """Check again, this many seconds after the last check."""
        status = read_process_state(self._pid)
        self.stopped = self.stopped + seconds if status and status.state == STOPPED else 0.0
        still = status is not None and status.ticks == self._ticks and status.state not in AT_WORK
        self.idle = self.idle + seconds if still else 0.0
        self._ticks = status.ticks if status else -1
