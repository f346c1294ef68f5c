"""Housekeeping lets go of what has expired and of nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from app.services.campaigns.campaigns import NewCampaign, create
from app.services.campaigns.housekeeping import sweep
from app.services.data import imports
from app.storage import housekeeping, jobs_queue, migrate, tokens
from app.storage.db import Database, Session
from app.storage.embedded import roles
from app.storage.housekeeping import LOCK
from app.storage.leases import one_person

TABLES = ("tokens", "idempotency", "sessions", "jobs", "chunk_results", "imports", "import_files", "import_chunks")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, size=2)
    with database.transaction() as session:
        create(session, NewCampaign(key="c", protocol="mqm"), actor="test")
        for age in ("8 days", "6 days"):
            _leave_behind(session, age)
    yield database
    database.close()


def _leave_behind(session: Session, age: str) -> None:
    digest = hashlib.sha256(age.encode()).digest()
    keys = {"age": age, "h": digest, "p": age.replace(" ", "")}
    session.execute(text("INSERT INTO tokens (prefix, hash, role, name) VALUES (:p, :h, 'admin', 'x')"), keys)
    session.execute(
        text(
            """INSERT INTO idempotency (token_id, key, request_hash, created_at)
               SELECT id, 'k', :h, now() - CAST(:age AS interval) FROM tokens WHERE prefix = :p"""
        ),
        keys,
    )
    session.execute(
        text(
            """INSERT INTO sessions (hash, token_id, expires_at)
               SELECT :h, id, now() + interval '7 days' - CAST(:age AS interval) FROM tokens WHERE prefix = :p"""
        ),
        keys,
    )
    session.execute(
        text(
            """INSERT INTO jobs (public_id, campaign_id, kind, key, state, n_chunks, n_done, finished_at)
               SELECT :p, id, 'stability', :p, 'cancelled', 2, 1, now() - CAST(:age AS interval) FROM campaigns"""
        ),
        keys,
    )
    session.execute(
        text("INSERT INTO chunk_results (job_id, n, body, worker) SELECT id, 0, 'x', 'w' FROM jobs WHERE key = :p"),
        keys,
    )
    view = imports.announce(session, "c", format="mqm-tsv", options={})
    imports.add_file(session, "c", view.public_id, "a.tsv", [b"x" * 10, b"y"])
    session.execute(
        text("UPDATE imports SET created_at = now() - CAST(:age AS interval) WHERE public_id = :i"),
        {"age": age, "i": view.public_id},
    )


def _counts(database: Database) -> dict[str, int]:
    with database.transaction() as session:
        return {name: session.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in TABLES}


def test_what_is_older_than_a_week_goes_and_the_rest_stays(database: Database) -> None:
    assert _counts(database) == dict.fromkeys(TABLES, 2) | {"import_chunks": 4}
    gone = {"answers": 1, "sessions": 1, "jobs": 1, "imports": 1, "leases": 0}
    assert sweep(database) == gone
    left = dict.fromkeys(TABLES, 1) | {"tokens": 2, "import_chunks": 2}
    assert _counts(database) == left
    assert sweep(database) == dict.fromkeys(gone, 0)


def test_a_committed_import_keeps_its_report(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text("UPDATE imports SET state = 'committed', report = '{}'"))
    swept = sweep(database)
    assert swept is not None
    assert swept["imports"] == 0


def test_two_workers_never_sweep_at_once(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": LOCK})
        assert sweep(database) is None
    assert sweep(database) is not None


def test_no_two_advisory_locks_are_one() -> None:
    numbers = [
        housekeeping.LOCK,
        jobs_queue.SWEEP_LOCK,
        migrate.MIGRATION_LOCK,
        roles._ROLES_LOCK,
        tokens._FIRST_ADMIN_LOCK,
    ]
    assert len({*numbers}) == len(numbers)
    assert max(numbers) < one_person.LOCKED, "those of campaigns are beside them"
