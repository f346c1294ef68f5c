"""Processor time and private memory of processes with all their children, from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from app.storage.embedded import EmbeddedServer

TICKS: Final = os.sysconf("SC_CLK_TCK")
KILOBYTES: Final = 1024  # in a megabyte
ALL: Final = (11, 12, 13, 14)  # utime, stime, cutime and cstime among the fields after the name
KERNEL: Final = (12, 14)


def children(pid: int) -> list[int]:
    """Return the living children of all threads of a process; empty if it has ended."""
    found: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, (thread / "children").read_text(encoding="ascii").split())
    return found


def tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found, rest = [], [pid]
    while rest:
        found.append(rest.pop())
        rest += children(found[-1])
    return found


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and its descendants, including those that have ended since."""
    return sum(_ticks(one) for one in tree(pid)) / TICKS


def kernel_seconds(pid: int) -> float:
    """Return the kernel's part of their processor time, sampled at the ticks of its clock."""
    return sum(_ticks(one, KERNEL) for one in tree(pid)) / TICKS


def _ticks(pid: int, which: Sequence[int] = ALL) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(fields[n]) for n in which)


def scheduled_seconds(pid: int) -> float:
    """Return the processor time of one process alone, to the nanosecond if the kernel provides this."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    except (FileNotFoundError, ProcessLookupError):
        return _ticks(pid) / TICKS


class ProcessorClock:
    """Measures the processor seconds of this process and a database server, whatever else the machine is doing."""

    def __init__(self, postgres: int) -> None:
        self._postgres = postgres
        self._seen: dict[int, float] = {}

    def __call__(self) -> float:
        """Return the seconds so far, including those of processes that have ended since."""
        self._seen.update({pid: scheduled_seconds(pid) for pid in tree(self._postgres)})
        return time.process_time() + sum(self._seen.values())


def private_megabytes(pid: int) -> float:
    """Return the megabytes of private memory of a process and its descendants."""
    return sum(_private(one) for one in tree(pid)) / KILOBYTES


def _private(pid: int) -> int:
    try:
        words = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    at = {name: n for n, name in enumerate(words)}
    return int(words[at["Private_Dirty:"] + 1]) + int(words[at["Private_Clean:"] + 1])


def postmaster(server: EmbeddedServer) -> int:
    """Return the process that is the parent of all processes of a database server."""
    return int((server.data_dir / "postgres" / "postmaster.pid").read_text(encoding="ascii").splitlines()[0])


def serving_at(port: int) -> int:
    """Return the child of this process that `benchmarks.hot.serving` started on a port. Raises LookupError."""
    for child in children(os.getpid()):
        words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
        if "serve" in words and str(port) in words:
            return child
    raise LookupError(f"nothing serves port {port}")


class Taken(NamedTuple):
    """Processor time, in seconds, of web processes and Postgres. kernel: the part of `web` in the kernel."""

    web: float
    postgres: float
    kernel: float

    @property
    def whole(self) -> float:
        """The sum of both."""
        return self.web + self.postgres

    def per(self, n: float) -> Taken:
        """Return this time divided by n."""
        return Taken(*(one / n for one in self))

    def since(self, before: Taken) -> Taken:
        """Return the time from an earlier measurement to this one."""
        return Taken(*(now - then for now, then in zip(self, before, strict=True)))


@dataclass(frozen=True, slots=True)
class Watched:
    """The processes of a service and of its database server."""

    web: int
    postgres: int

    def taken(self) -> Taken:
        """Return the processor time so far."""
        return Taken(processor_seconds(self.web), processor_seconds(self.postgres), kernel_seconds(self.web))

    def since(self, before: Taken) -> Taken:
        """Return the processor time since an earlier result of `taken`."""
        return self.taken().since(before)


def load_average() -> str:
    """Return the average number of processes that wanted to run in the last minute, formatted for a page."""
    return f"Load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {time.strftime('%Y-%m-%d %H:%M')}"
