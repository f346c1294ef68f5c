"""The folder in memory where the processes of a service keep what they count, so that each can tell the sums of all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.web.supervision import METRICS_FOLDER

MEMORY = Path("/dev/shm")  # noqa: S108  (a folder of our own is made in it)
MARK = "plumbline-metrics-"
ENOUGH = 64 << 20
"""Bytes that must be free: a process that writes to a mapped file on a full file system is ended by a signal."""


@contextmanager
def use_prometheus_folder() -> Iterator[None]:
    """Name such a folder to the processes started in the block; where memory is short, each tells only its own."""
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
    """Let the numbers of a process that ended count no more where only those that live do."""
    folder = os.environ.get(METRICS_FOLDER)
    for file in Path(folder).glob(f"gauge_live*_{pid}.db") if folder else ():
        file.unlink(missing_ok=True)


def _remove_left_behind() -> None:
    """Remove folders of services that were killed."""
    for folder in MEMORY.glob(f"{MARK}*"):
        pid = folder.name.removeprefix(MARK).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)
