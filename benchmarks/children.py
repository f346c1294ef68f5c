"""Runs each measurement in a process of its own, so that it starts cold and its memory can be measured."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.sampling import Sampler

ROOT: Final = Path(__file__).resolve().parents[1]
PAUSE: Final = 0.05
MEGABYTE: Final = 1024  # in the kilobytes of /proc


@dataclass(frozen=True, slots=True)
class Run:
    """What a child printed, and its duration in seconds."""

    answer: dict[str, Any]
    seconds: float


def run(task: str, *arguments: str) -> Run:
    """Run one task of `benchmarks.tasks` and wait for it. Raises CalledProcessError if it fails."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.tasks", task, *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return Run(json.loads(done.stdout), time.perf_counter() - started)


def peak_memory() -> float:
    """Return the peak memory of this process in megabytes; unlike getrusage, without that of the parent."""
    return _status(Path("/proc/self"), "VmHWM") / MEGABYTE


class HeldByChildren(Sampler):
    """Measures the peak of the private memory of all children of a process, in megabytes, by samples during a block.

    The buffers that the processes of a database server share are not included; a setting bounds them.
    """

    def __init__(self, parent: int) -> None:
        super().__init__(PAUSE)
        self.peak = 0.0
        self._parent = parent

    def take_sample(self) -> None:
        """Add up the memory of all children that there are now."""
        children = Path(f"/proc/{self._parent}/task/{self._parent}/children").read_text().split()
        held = sum(_status(Path("/proc", pid), "RssAnon") for pid in children)
        self.peak = max(self.peak, held / MEGABYTE)


def _status(process: Path, name: str) -> int:
    """Return the kilobytes in one line of a process's status; 0 if the process has ended."""
    try:
        lines = (process / "status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)
