"""A worker on a database without space goes on, and does its rounds again when there is some."""

from __future__ import annotations

import threading

import psycopg
import pytest

from app.jobs import worker as loop
from app.storage.db import Database
from tests.working import LIMIT

FULL_ONCE = """
CREATE SEQUENCE rounds;
CREATE FUNCTION full_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('rounds') = 1 THEN RAISE disk_full; END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER full_once BEFORE DELETE ON idempotency FOR EACH STATEMENT EXECUTE FUNCTION full_once()"""


def test_a_full_disk_ends_no_worker(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(database_url) as db:
        db.execute(FULL_ONCE.encode())
    monkeypatch.setattr(loop, "JOBS_EVERY", 0.05)
    database, stop, beaten = Database(database_url, size=2), threading.Event(), threading.Event()
    worker = threading.Thread(
        target=lambda: loop.run_worker(database, stop=stop, every=0, beat=beaten.set, low_priority=False), name="worker"
    )
    worker.start()
    try:
        assert beaten.wait(LIMIT), "the round after the failed one was done"
        assert worker.is_alive()
    finally:
        stop.set()
        worker.join(LIMIT)
        database.close()
    with psycopg.connect(database_url) as db:
        tries = db.execute("SELECT last_value FROM rounds").fetchone()
    assert tries is not None
    assert tries[0] >= 2
