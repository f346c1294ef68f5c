"""Find faults in a database given by its address, without changing anything and without waiting."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg

from app.domain.errors import Conflict
from app.domain.findings import HealthFinding
from app.storage import schema_revisions, server_checks
from app.storage.connections import ConnectionWithStartupOptions
from app.storage.current_organization import organization_schema
from app.storage.db import make_sqlalchemy_url
from app.storage.jobs_queue import LANES
from app.storage.organization_list import SCHEMA as SHARED

PATIENCE = 5  # seconds for a connection, and for each statement
QUIET_AFTER = 60  # seconds
_CONNECTIONS = "SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity"
_WAITING = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
AND wait_event_type = 'Lock' AND state = 'active' AND now() - query_start > interval '5 seconds'"""
_WORKERS = """SELECT count(*) FILTER (WHERE last_heartbeat > now() - make_interval(secs => %s)), count(*)
FROM procrastinate.procrastinate_workers"""
_ORGANIZATIONS = f"SELECT number, key, state FROM {SHARED}.organizations WHERE state <> 'removed' ORDER BY number"
_TODO = "SELECT count(*) FROM procrastinate.procrastinate_jobs WHERE status = 'todo'"


def examine_database(url: str) -> Iterator[HealthFinding]:
    """Check response and durability, the schema, connections, waiting statements, and the workers."""
    address = make_sqlalchemy_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    options = f"-c statement_timeout={PATIENCE}s -c lock_timeout={PATIENCE}s"
    try:
        connected = ConnectionWithStartupOptions.connect(
            address, autocommit=True, connect_timeout=PATIENCE, options=options
        )
        with connected as connection:
            number = connection.info.server_version
            yield HealthFinding("database", "ok", f"Postgres {number // 10_000}.{number % 10_000} answers")
            yield _durable(connection)
            yield from _schema(connection)
            yield from _load(connection)
    except psycopg.Error as error:
        said = str(error).strip().splitlines()[0]
        yield HealthFinding("database", "wrong", said, "is it started, and is PLUMBLINE_DATABASE_URL right?")


def _durable(connection: psycopg.Connection) -> HealthFinding:
    try:
        server_checks.check_server(connection)
    except server_checks.ServerNotDurable as error:
        return HealthFinding("durability", "wrong", error.detail, "switch it on: what is confirmed could be lost")
    except Conflict as error:
        return HealthFinding("server", "wrong", error.detail, error.title())
    return HealthFinding("durability", "ok", "what is confirmed is on disk")


def _schema(connection: psycopg.Connection) -> Iterator[HealthFinding]:
    there = connection.execute("SELECT to_regclass('alembic_version') IS NOT NULL").fetchone()
    revision_row = (
        connection.execute("SELECT version_num FROM alembic_version").fetchone() if there and there[0] else None
    )
    now, needed = revision_row[0] if revision_row else None, schema_revisions.find_head_revision()
    if now == needed:
        yield HealthFinding("schema", "ok", str(now))
        yield from _organizations(connection, str(needed))
        yield from _workers(connection)
    elif now in schema_revisions.list_known_revisions():
        yield HealthFinding("schema", "wrong", f"at {now or 'nothing'}, needed is {needed}", "`plumbline db upgrade`")
    else:
        yield HealthFinding("schema", "wrong", f"{now} is of a newer version than this one", "start the newer version")


def _organizations(connection: psycopg.Connection, needed: str) -> Iterator[HealthFinding]:
    """Check that all other organizations have the same schema; yield nothing if there are none."""
    there = connection.execute(f"SELECT to_regclass('{SHARED}.organizations') IS NOT NULL").fetchone()
    rows = connection.execute(_ORGANIZATIONS.encode()).fetchall() if there and there[0] else []
    behind = []
    for number, key, state in rows:
        if state == "open":
            at = connection.execute(f"SELECT version_num FROM {organization_schema(number)}.alembic_version".encode())
            behind += [] if at.fetchone() == (needed,) else [key]
    unfinished = [key for _, key, state in rows if state != "open"]
    if behind or unfinished:
        said = (
            f"{', '.join(behind) or 'none'} without this version's schema, {', '.join(unfinished) or 'none'} unfinished"
        )
        do = "`plumbline db upgrade`; `plumbline organizations add` or `remove` once more"
        yield HealthFinding("organizations", "wrong", said, do)
    elif rows:
        yield HealthFinding("organizations", "ok", f"{len(rows)} beside the default one")


def _load(connection: psycopg.Connection) -> Iterator[HealthFinding]:
    used, most = connection.execute(_CONNECTIONS).fetchone() or (0, 0)
    said = f"{used} of {most} connections"
    if used > 0.9 * most:
        yield HealthFinding("connections", "warning", said, "raise max_connections, or lower PLUMBLINE_POOL_SIZE")
    else:
        yield HealthFinding("connections", "ok", said)
    (waiting,) = connection.execute(_WAITING).fetchone() or (0,)
    if waiting:
        do = "see pg_stat_activity and pg_blocking_pids() for who holds it; pg_terminate_backend(PID) ends that"
        yield HealthFinding("locks", "warning", f"{waiting} statements have waited for a lock for more than 5 s", do)
    else:
        yield HealthFinding("locks", "ok", "nobody waits for one")


def _workers(connection: psycopg.Connection) -> Iterator[HealthFinding]:
    alive, known = connection.execute(_WORKERS, [QUIET_AFTER]).fetchone() or (0, 0)
    (todo,) = connection.execute(_TODO).fetchone() or (0,)
    if alive:
        n = -(-alive // len(LANES))  # each worker has one row per lane
        yield HealthFinding("workers", "ok", f"{n} alive, {todo} entries in the queue")
    else:
        n = -(-known // len(LANES))
        said = f"none alive, {n} known, {todo} entries in the queue: long reports are not computed"
        yield HealthFinding("workers", "warning", said, "`plumbline serve` has one; else `plumbline worker`")
