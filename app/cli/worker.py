"""`plumbline worker`: work in the background."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated

import typer

from app.cli import _context
from app.domain.errors import Unavailable
from app.jobs import worker as loop
from app.services.housekeeping import sweep
from app.storage.embedded import write_private

EVERY = 60.0
PATIENCE = 3 * EVERY


class NotAlive(Unavailable):
    """No worker of this machine has been heard of lately."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("worker")(worker)


def worker(
    once: Annotated[bool, typer.Option("--once", help="One round, then stop.")] = False,
    alive: Annotated[bool, typer.Option("--alive", help="Only tell whether this machine's worker lives.")] = False,
) -> None:
    """Let go of what has outlived its use, until told to stop."""
    if alive:
        return _require_alive()
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    loop.log.setLevel(logging.INFO)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with _context.database() as database:
        if once:
            sweep(database)
            return None
        loop.run(database, stop=stop, every=EVERY, beat=lambda: write_private(_beat(), f"{time.time()}\n"))
    return None


def _beat() -> Path:
    return Path(tempfile.gettempdir()) / f"plumbline-worker-{os.geteuid()}.beat"


def _require_alive() -> None:
    beat = _beat()
    if not beat.is_file() or time.time() - beat.stat().st_mtime > PATIENCE:
        raise NotAlive
