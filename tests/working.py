"""Workers as processes of their own, and what their jobs come to."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

from app.jobs.job_steps import QueueEntryComputer
from app.storage import jobs_queue
from app.storage.db import Database

RAREST = 0.2  # seconds between two looks at what is waited for, where it takes long
LIMIT = 180.0  # seconds in which what is waited for comes, however slow the machine is; not how long it may take
TAKEN = """DELETE FROM procrastinate_jobs WHERE id = (
    SELECT id FROM procrastinate_jobs WHERE status = 'todo' ORDER BY priority DESC, id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING task_name, args"""


def started(url: str, folder: Path, *, processes: int = 1, quiet: bool = True) -> subprocess.Popen[bytes]:
    """A worker on a database; its sign of life goes into the folder."""
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": url, "PLUMBLINE_DATA_DIR": str(folder)}
    command = [sys.executable, "-m", "app.cli", "worker", "--keen", "--processes", str(processes)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL if quiet else None)


def stopped(worker: subprocess.Popen[bytes]) -> None:
    """End it, also where it is paused."""
    worker.kill()
    worker.wait(LIMIT)


@contextmanager
def working(url: str, folder: Path, *, processes: int = 1, quiet: bool = True) -> Iterator[subprocess.Popen[bytes]]:
    """A worker for the length of a block."""
    worker = started(url, folder, processes=processes, quiet=quiet)
    try:
        yield worker
    finally:
        stopped(worker)


def until(holds: Callable[[], object], what: str, *, within: float = LIMIT) -> float:
    """Wait until something holds; how many seconds it took. Fails when it does not come to hold in time.

    Who looks costs a processor that others wait for, and so looks the less often the longer it has taken.

    Seconds for which the machine let nobody work are nobody's: we asked for a fiftieth, later for more, and were woken
    so much later.
    """
    took, pause = 0.0, 0.02
    while True:
        begun = time.monotonic()
        if holds():
            return took
        took += time.monotonic() - begun
        assert took < within, f"not within {within} s: {what}"
        took += slept(pause)
        pause = max(pause, min(took / 20, RAREST))


def slept(seconds: float) -> float:
    """Sleep; how long that took, but for what is longer than a second over."""
    begun = time.monotonic()
    time.sleep(seconds)
    return min(time.monotonic() - begun, seconds + 1)


def drained(database: Database, *, most: int = 1_000_000, stop: threading.Event | None = None) -> int:
    """Do here, one after another, what the queue has, or the most of it; how many entries that were."""
    computer, n = QueueEntryComputer(database, "here"), 0
    while n < most and not (stop and stop.is_set()):
        with database.transaction() as session:
            jobs_queue.set_queue_search_path(session)
            taken = session.execute(text(TAKEN)).one_or_none()
        if taken is None:
            return n
        computer.compute_queue_entry(taken.task_name, taken.args["job"], taken.args.get("n"))
        n += 1
    return n


@contextmanager
def draining(database: Database) -> Iterator[None]:
    """A worker within this process, for the length of a block: it knows what the test made up."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.05):
            drained(database, stop=stop)

    thread = threading.Thread(target=work, name="draining")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
