"""The schema of the queue (procrastinate), upgraded to the installed version next to our own tables.

Its objects are in a separate Postgres schema, which Alembic ignores. A comment on this schema names the last migration
that was applied: a new database gets the complete schema, and an older one gets the missing migrations.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import psycopg
import sqlalchemy as sa

from app.domain.errors import Conflict
from app.storage.db import APP_ROLE

SCHEMA = "procrastinate"
GRANTS = (
    f"GRANT USAGE ON SCHEMA {SCHEMA} TO {APP_ROLE}",
    f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA} TO {APP_ROLE}",
    f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {APP_ROLE}",
)
QUEUE_MARK = "steps of procrastinate up to "
"""The start of the comment on the schema, before the name of a migration."""


class QueueSchemaNotAllowed(Conflict):
    """The schema's owner may not create a schema for the queue; run `CREATE SCHEMA procrastinate` for it."""

    published = "QueueNotAllowed"


class QueueSchemaBehind(Conflict):
    """The queue's tables are not those of this version; run `plumbline db upgrade`."""

    published = "QueueBehind"


def _find_sql_folder() -> Path:
    """Find the SQL of the installed version without importing it, which would take longer than most commands."""
    spec = find_spec("procrastinate")
    assert spec is not None  # noqa: S101  (a dependency of ours)
    return Path(spec.origin or "").parent / "sql"


@cache
def list_queue_migrations() -> tuple[str, ...]:
    """Return the names of all migrations that the installed version has, in order."""
    return tuple(sorted(step.name for step in (_find_sql_folder() / "migrations").glob("*.sql")))


def find_last_queue_migration(connection: sa.Connection) -> str | None:
    """Return the database's last migration; empty if its schema records none; None without the schema."""
    row = connection.execute(
        sa.text("SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = :name"),
        {"name": SCHEMA},
    ).first()
    if row is None:
        return None
    return str(row[0]).removeprefix(QUEUE_MARK) if str(row[0] or "").startswith(QUEUE_MARK) else ""


def apply_queue_migrations(connection: sa.Connection) -> None:
    """Apply missing migrations within the connection's transaction. Raises QueueSchemaNotAllowed."""
    last, all_steps = find_last_queue_migration(connection), list_queue_migrations()
    if last == all_steps[-1]:
        return
    folder = _find_sql_folder()
    # A schema without our mark was created by hand and is empty.
    missing = [folder / "schema.sql"]
    if last:
        missing = [folder / "migrations" / step for step in all_steps if step > last]
    try:
        connection.execute(sa.text("SET LOCAL lock_timeout = '5s'"))
        if last is None:
            connection.execute(sa.text(f"CREATE SCHEMA {SCHEMA}"))
    except sa.exc.ProgrammingError as error:
        if isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
            raise QueueSchemaNotAllowed from error
        raise
    before = connection.execute(sa.text("SHOW search_path")).scalar()
    connection.execute(sa.text(f"SET LOCAL search_path = {SCHEMA}"))
    raw = cast("psycopg.Connection[object]", connection.connection.driver_connection)
    for step in missing:
        raw.execute(step.read_text(encoding="utf-8").encode())
    connection.execute(sa.text(f"SET LOCAL search_path = {before}"))
    connection.execute(sa.text(f"COMMENT ON SCHEMA {SCHEMA} IS '{QUEUE_MARK}{all_steps[-1]}'"))


def require_queue_schema(connection: sa.Connection) -> None:
    """Raise QueueSchemaBehind unless the database has every migration of the installed version."""
    if find_last_queue_migration(connection) != list_queue_migrations()[-1]:
        raise QueueSchemaBehind
