"""What the system tells of a process: Linux's /proc. Where there is none, nothing is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STOPPED = "T"
AT_WORK = frozenset("RD")  # runs or wants to, or waits for a disk


@dataclass(frozen=True, slots=True)
class ProcessState:
    """A process at one moment. state: one letter, as in proc(5). ticks: of processor time that it has had so far."""

    state: str
    ticks: int


def read_process_state(pid: int) -> ProcessState | None:
    """How a process is; None where it is gone, or where the system does not tell."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = told.rpartition(")")[2].split()  # a name may hold anything
    return ProcessState(fields[0], int(fields[11]) + int(fields[12]))


def is_process_stopped(pid: int) -> bool:
    """Whether a signal has stopped it, so that it does nothing until another lets it go on."""
    status = read_process_state(pid)
    return status is not None and status.state == STOPPED


class ProcessIdleWatch:
    """For how long a process has done nothing, by looks: a pause of whoever looks is nobody's fault."""

    def __init__(self, pid: int) -> None:
        self.stopped = 0.0  # seconds
        self.idle = 0.0  # seconds without processor time, and without wanting any
        self._pid, self._ticks = pid, -1

    def update(self, seconds: float) -> None:
        """Look again, so many seconds after the last look."""
        status = read_process_state(self._pid)
        self.stopped = self.stopped + seconds if status and status.state == STOPPED else 0.0
        still = status is not None and status.ticks == self._ticks and status.state not in AT_WORK
        self.idle = self.idle + seconds if still else 0.0
        self._ticks = status.ticks if status else -1
