"""Housekeeping lets go of what has expired and of nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import pytest
from sqlalchemy import text

from app.reports.gate import earlier_looks
from app.services.campaigns.campaigns import NewCampaign, create_campaign
from app.services.campaigns.housekeeping import REPORTS, clean_up_expired_data
from app.services.data import imports
from app.storage import housekeeping, jobs_queue, migrate, tokens
from app.storage.db import Database, Session
from app.storage.embedded import roles
from app.storage.housekeeping import LOCK
from app.storage.leases import person_clashes

TABLES = (
    "tokens",
    "idempotency",
    "sessions",
    "jobs",
    "chunk_results",
    "imports",
    "import_files",
    "import_chunks",
    "webhook_events",
    "webhook_deliveries",
)
HOOKS = ("webhook events", "webhook deliveries")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, size=2)
    with database.transaction() as session:
        create_campaign(session, NewCampaign(key="c", protocol="mqm"), actor="test")
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
    session.execute(
        text(
            """WITH hook AS (
                 INSERT INTO webhooks (campaign_id, public_id, url, secret, kinds, actor, next_event)
                 SELECT id, :p, 'https://hooks.example.org/', '', '{job.done}', 'test', 1 FROM campaigns
                 RETURNING id, campaign_id),
               event AS (
                 INSERT INTO webhook_events (campaign_id, n, kind, at)
                 SELECT campaign_id, id, 'job.done', now() - CAST(:age AS interval) FROM hook)
               INSERT INTO webhook_deliveries (campaign_id, webhook_id, n, kind, attempt, status, milliseconds, at)
               SELECT campaign_id, id, id, 'job.done', 1, 200, 5, now() - CAST(:age AS interval) FROM hook"""
        ),
        keys,
    )
    view = imports.create_import(session, "c", format="mqm-tsv", options={})
    imports.add_import_file(session, "c", view.public_id, "a.tsv", [b"x" * 10, b"y"])
    session.execute(
        text("UPDATE imports SET created_at = now() - CAST(:age AS interval) WHERE public_id = :i"),
        {"age": age, "i": view.public_id},
    )


def _counts(database: Database) -> dict[str, int]:
    with database.transaction() as session:
        return {name: session.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in TABLES}


def test_what_is_older_than_a_week_goes_and_the_rest_stays(database: Database) -> None:
    assert _counts(database) == dict.fromkeys(TABLES, 2) | {"import_chunks": 4}
    gone = {"answers": 1, "sessions": 1, "jobs": 1, "imports": 1, **dict.fromkeys(HOOKS, 1), "reports": 0, "leases": 0}
    assert clean_up_expired_data(database) == gone
    left = dict.fromkeys(TABLES, 1) | {"tokens": 2, "import_chunks": 2}
    assert _counts(database) == left
    assert clean_up_expired_data(database) == dict.fromkeys(gone, 0)


def test_a_committed_import_keeps_its_report(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text("UPDATE imports SET state = 'committed', report = '{}'"))
    swept = clean_up_expired_data(database)
    assert swept is not None
    assert swept["imports"] == 0


@pytest.mark.parametrize(("n", "gone"), [(REPORTS.newest, 0), (REPORTS.newest + 1, 1), (REPORTS.newest + 2, 2)])
def test_of_each_kind_so_many_reports_of_former_data_stay(database: Database, n: int, gone: int) -> None:
    with database.transaction() as session:
        for kind in ("campaign/ranking", "campaign/quality"):
            _report(session, kind, range(1, n + 1))
        session.execute(text("UPDATE campaigns SET data_version = :now"), {"now": n + 1})
    assert (clean_up_expired_data(database) or {})["reports"] == 2 * gone
    assert _versions(database, "campaign/ranking") == list(range(1 + gone, n + 1))
    assert (clean_up_expired_data(database) or {})["reports"] == 0


def test_old_reports_go_but_for_what_is_present_locked_looked_back_at_or_just_made(database: Database) -> None:
    with database.transaction() as session:
        for age, kind in (
            ("31 days", "campaign/ranking"),
            ("29 days", "campaign/timing"),
            ("31 days", earlier_looks.KIND),
        ):
            _report(session, kind, range(1, 4), age=age)
        _report(session, "campaign/spread", range(1, REPORTS.newest + 4), age="59 minutes")
        session.execute(text("UPDATE campaigns SET data_version = 3"))
        for n in (1, 2, 3):
            session.execute(
                text("INSERT INTO versions (campaign_id, n, actor, what) SELECT id, :n, 'x', 'x' FROM campaigns"),
                {"n": n},
            )
        session.execute(
            text(
                """INSERT INTO locks (campaign_id, n, before_judgments, recipe, rules, hash, actor, at, version)
                   SELECT id, 1, true, '{}', '{}', sha256('x'), 'x', now(), 2 FROM campaigns"""
            )
        )
    assert (clean_up_expired_data(database) or {})["reports"] == 1
    assert _versions(database, "campaign/ranking") == [2, 3]
    assert _versions(database, "campaign/timing") == [1, 2, 3]
    assert _versions(database, earlier_looks.KIND) == [1, 2, 3]
    assert len(_versions(database, "campaign/spread")) == REPORTS.newest + 3


def _report(session: Session, kind: str, versions: Iterable[int], age: str = "2 hours") -> None:
    """Store a report of each data version."""
    statement = """
        INSERT INTO reports (campaign_id, kind, data_version, recipe_hash, seed, method_version, body, created_at)
        SELECT id, :kind, :version, 'x', 0, '3', 'x', now() - CAST(:age AS interval) FROM campaigns"""
    for version in versions:
        session.execute(text(statement), {"kind": kind, "version": version, "age": age})


def _versions(database: Database, kind: str) -> list[int]:
    with database.transaction() as session:
        found = session.execute(text("SELECT data_version FROM reports WHERE kind = :kind ORDER BY 1"), {"kind": kind})
        return [int(version) for (version,) in found]


def test_two_workers_never_sweep_at_once(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": LOCK})
        assert clean_up_expired_data(database) is None
    assert clean_up_expired_data(database) is not None


def test_no_two_advisory_locks_are_one() -> None:
    numbers = [
        housekeeping.LOCK,
        jobs_queue.SWEEP_LOCK,
        migrate.MIGRATION_LOCK,
        roles._ROLES_LOCK,
        tokens._FIRST_ADMIN_LOCK,
    ]
    assert len({*numbers}) == len(numbers)
    assert max(numbers) < person_clashes.LOCKED, "those of campaigns are beside them"
