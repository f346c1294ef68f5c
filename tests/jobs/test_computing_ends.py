"""A worker whose computing part has ended does not go on as if it worked."""

from __future__ import annotations

import threading

import pytest

from app.jobs import worker as loop
from app.jobs.queue_worker import QueueWorker
from app.storage.db import Database
from tests.working import LIMIT


def test_a_worker_ends_with_an_error_when_its_computing_thread_has_ended(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "JOBS_EVERY", 0.05)
    monkeypatch.setattr(QueueWorker, "run", lambda _: None)
    database, stop = Database(database_url, size=2), threading.Event()
    too_late = threading.Timer(LIMIT, stop.set)
    too_late.start()
    try:
        with pytest.raises(loop.ComputingStopped):
            loop.run_worker(database, stop=stop, every=60, beat=lambda: None, low_priority=False)
    finally:
        too_late.cancel()
        database.close()
    assert stop.is_set()
