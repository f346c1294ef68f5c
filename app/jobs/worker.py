"""The worker: what must happen without anybody asking. As many as you like, on any machine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from app.domain.errors import Unavailable
from app.services.housekeeping import sweep
from app.storage.db import Database

log = logging.getLogger("plumbline.worker")


def run(database: Database, *, stop: threading.Event, every: float, beat: Callable[[], None]) -> None:
    """Sweep every so many seconds until told to stop.

    beat: called after each round that reached the database, so that a check can tell a living worker from a stuck one.
    A database that is away for a while is waited for.
    """
    while not stop.is_set():
        try:
            counts = sweep(database)
        except Unavailable as error:
            log.warning("waiting for the database: %s", error.title())
        else:
            beat()
            if counts and any(counts.values()):
                log.info("let go of %s", ", ".join(f"{n} {what}" for what, n in counts.items() if n))
        stop.wait(every)
