"""The queue's own schema: whole in a new database, step by step in an older one, out of the migrations' sight."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from app.storage import embedded, migrate, queue_schema
from app.storage.backup import backup_database, restore_database
from app.storage.db import APP_ROLE, make_sqlalchemy_url

FUNCTIONS = """SELECT p.proname, pg_get_function_identity_arguments(p.oid) FROM pg_proc p
WHERE p.pronamespace = 'procrastinate'::regnamespace ORDER BY 1, 2"""
COLUMNS = """SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = 'procrastinate' ORDER BY 1, 2"""


def queue_of(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return [*connection.execute(FUNCTIONS), *connection.execute(COLUMNS)]


def begin_with(url: str, *statements: str) -> None:
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_queue_of_any_earlier_version_takes_the_steps_in_between(empty_database_url: str, database_url: str) -> None:
    begin_with(
        empty_database_url,
        "CREATE SCHEMA procrastinate",
        "COMMENT ON SCHEMA procrastinate IS 'steps of procrastinate up to 00'",
    )
    migrate.upgrade_schema(empty_database_url)
    assert queue_of(empty_database_url) == queue_of(database_url)
    migrate.check_schema(empty_database_url)


def test_a_schema_made_by_hand_is_filled(empty_database_url: str, database_url: str) -> None:
    begin_with(empty_database_url, "CREATE SCHEMA procrastinate")
    migrate.upgrade_schema(empty_database_url)
    assert queue_of(empty_database_url) == queue_of(database_url)


def test_a_queue_that_is_behind_is_named(database_url: str) -> None:
    begin_with(database_url, "COMMENT ON SCHEMA procrastinate IS 'steps of procrastinate up to 03'")
    with pytest.raises(queue_schema.QueueSchemaBehind):
        migrate.check_schema(database_url)


def test_whoever_may_not_make_a_schema_is_told_what_to_do(
    postgres: embedded.EmbeddedServer, empty_database_url: str
) -> None:
    name = make_sqlalchemy_url(empty_database_url).database
    with psycopg.connect(postgres.url("admin", "postgres"), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} OWNER TO CURRENT_USER".encode())
    with psycopg.connect(postgres.url("admin", str(name)), autocommit=True) as connection:
        connection.execute(b"GRANT ALL ON SCHEMA public TO plumbline")
    with pytest.raises(queue_schema.QueueSchemaNotAllowed, match="CREATE SCHEMA procrastinate"):
        migrate.upgrade_schema(empty_database_url)


def test_the_serving_role_uses_the_queue_and_cannot_change_its_tables(database_url: str) -> None:
    options = f"-c role={APP_ROLE} -c search_path=procrastinate"
    with psycopg.connect(database_url, options=options) as connection:
        assert connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone() == (0,)
        connection.execute("SELECT * FROM procrastinate_register_worker_v1()")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("ALTER TABLE procrastinate_jobs ADD COLUMN x int")


def test_the_queue_is_in_a_backup(database_url: str, empty_database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "all.backup"
    backup_database(database_url, file)
    restore_database(empty_database_url, file)
    assert queue_of(empty_database_url) == queue_of(database_url)
    migrate.upgrade_schema(empty_database_url)
    migrate.check_schema(empty_database_url)
    with sa.create_engine(make_sqlalchemy_url(empty_database_url), poolclass=sa.NullPool).connect() as connection:
        assert queue_schema.find_last_queue_migration(connection) == queue_schema.list_queue_migrations()[-1]
