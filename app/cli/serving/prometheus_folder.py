"""The folder in memory where a service's processes store their counters, so that each can report the sums."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.web.service_part_states import METRICS_FOLDER

MEMORY = Path("/dev/shm")  # noqa: S108  (a folder of our own is made in it)
MARK = "plumbline-metrics-"
ENOUGH = 64 << 20
"""Bytes that must be free: writing to a mapped file on a full file system ends a process with a signal."""


@contextmanager
def create_prometheus_folder() -> Iterator[None]:
    """Give the processes started in this block such a folder; if memory is short, each reports only its own counts."""
    _remove_left_behind()
    if os.environ.get(METRICS_FOLDER) or not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ENOUGH:
        yield
        return
    folder = tempfile.mkdtemp(prefix=f"{MARK}{os.getpid()}-", dir=MEMORY)
    os.environ[METRICS_FOLDER] = folder
    try:
        yield
    finally:
        os.environ.pop(METRICS_FOLDER, None)
        shutil.rmtree(folder, ignore_errors=True)


def forget_prometheus_process(pid: int) -> None:
    """Remove an ended process from the sums over live processes."""
    folder = os.environ.get(METRICS_FOLDER)
    for file in Path(folder).glob(f"gauge_live*_{pid}.db") if folder else ():
        file.unlink(missing_ok=True)


def _remove_left_behind() -> None:
    """Remove the folders of killed services."""
    for folder in MEMORY.glob(f"{MARK}*"):
        pid = folder.name.removeprefix(MARK).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)
