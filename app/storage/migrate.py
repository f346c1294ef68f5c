"""Bring a database to the schema of this version, once, however many starters there are."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.domain.errors import Conflict
from app.storage.db import APP_ROLE, sqlalchemy_url, translating

MIGRATION_LOCK = 7_215_340_911  # any constant: the same for every starter
APPEND_ONLY = ("judgments", "voids", "versions")


class SchemaBehind(Conflict):
    """The database schema is not the one of this version; run `plumbline db upgrade`."""


def script_location() -> Path:
    """The migrations: beside the package in a checkout, inside it when installed from a wheel."""
    packaged = Path(__file__).parent / "_migrations"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "migrations"


def config(connection: sa.Connection | None = None) -> Config:
    """Alembic's settings, bound to a connection."""
    settings = Config()
    settings.set_main_option("script_location", str(script_location()).replace("%", "%%"))
    settings.attributes["connection"] = connection
    return settings


def upgrade(url: str, revision: str = "head") -> None:
    """Upgrade the schema as its owner and renew what the serving role may do.

    A second starter waits for the first and finds nothing left to do.
    """
    with _Locked(url) as connection:
        command.upgrade(config(connection), revision)
        _grant(connection)
        connection.commit()


def downgrade(url: str, revision: str) -> None:
    """Take the schema back to an earlier revision (development and checks only)."""
    with _Locked(url) as connection:
        command.downgrade(config(connection), revision)
        connection.commit()


def check(url: str) -> None:
    """Raise SchemaBehind unless the database is at this version's head and the tables match the models."""
    with _Locked(url) as connection:
        require_head(connection)
        command.check(config(connection))


def require_head(connection: sa.Connection) -> None:
    """Raise SchemaBehind unless the database is at this version's head."""
    head = ScriptDirectory.from_config(config()).get_current_head()
    current = MigrationContext.configure(connection).get_current_revision()
    if current != head:
        raise SchemaBehind(f"the schema is at {current or 'nothing'}, this version needs {head}")


class _Locked:
    """A connection of its own, holding the migration lock."""

    def __init__(self, url: str) -> None:
        self._engine = sa.create_engine(sqlalchemy_url(url), poolclass=sa.NullPool)

    def __enter__(self) -> sa.Connection:
        with translating():
            self._connection = self._engine.connect()
            self._connection.execute(sa.text("SELECT pg_advisory_lock(:n)"), {"n": MIGRATION_LOCK})
            self._connection.commit()
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._engine.dispose()


def _grant(connection: sa.Connection) -> None:
    """Let the serving role read and write everything but what only the owner may touch."""
    exists = connection.execute(sa.text("SELECT 1 FROM pg_roles WHERE rolname = :r"), {"r": APP_ROLE}).scalar()
    if not exists:
        return
    for statement in (
        f"GRANT USAGE ON SCHEMA public TO {APP_ROLE}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {APP_ROLE}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {APP_ROLE}",
        f"REVOKE UPDATE, DELETE, TRUNCATE ON {', '.join(APPEND_ONLY)} FROM {APP_ROLE}",
        f"REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM {APP_ROLE}",
    ):
        connection.execute(sa.text(statement))
