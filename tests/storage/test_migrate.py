"""Schema changes: there and back with data in place, once however many starters, and a drift is named."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from app.storage import migrate
from app.storage.db import APP_ROLE
from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.services.data.test_imports import judgment, lines
from tests.spine import opened, plumbline

OBJECTS = """SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relname !~ '^alembic_version'"""
ROUTINES = "SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public'"


def count(url: str, query: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])


def test_an_empty_database_goes_up_down_and_up_again(empty_database_url: str) -> None:
    with pytest.raises(migrate.SchemaBehind, match="nothing"):
        migrate.check_schema(empty_database_url)
    migrate.upgrade_schema(empty_database_url)
    migrate.check_schema(empty_database_url)
    there = count(empty_database_url, OBJECTS)
    migrate.downgrade_schema(empty_database_url, "base")
    assert count(empty_database_url, OBJECTS) == count(empty_database_url, ROUTINES) == 0
    migrate.upgrade_schema(empty_database_url)
    migrate.check_schema(empty_database_url)
    assert count(empty_database_url, OBJECTS) == there


def test_a_database_with_judgments_goes_down_and_up_and_takes_them_again(database_url: str) -> None:
    with opened(database_url) as spine:
        spine.take("c", "jsonl", lines(judgment(), judgment("B")))
        exported = spine.export("c")
    migrate.downgrade_schema(database_url, "base")
    assert count(database_url, OBJECTS) == 0
    migrate.upgrade_schema(database_url)
    with opened(database_url) as spine:
        spine.take("c", "jsonl", exported)
        assert spine.export("c") == exported


def test_an_upgrade_of_a_database_with_data_changes_nothing_in_it(database_url: str) -> None:
    with opened(database_url) as spine:
        spine.take("c", "jsonl", lines(judgment(), judgment("B")))
        before = spine.counts(), spine.export("c")
        migrate.upgrade_schema(database_url)
        migrate.check_schema(database_url)
        assert (spine.counts(), spine.export("c")) == before


def test_systems_that_were_withdrawn_before_are_left_out_from_the_upgrade_on(database_url: str) -> None:
    with opened(database_url) as spine:
        spine.take("c", "jsonl", lines(judgment(), judgment("B")))
        spine.take("c", "jsonl", lines(judgment("C")))
    migrate.downgrade_schema(database_url, "2026_11_21_answers")
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE systems SET state = 'withdrawn' WHERE key IN ('B', 'C')")
    migrate.upgrade_schema(database_url)
    migrate.check_schema(database_url)
    standing = "FROM exclusions e JOIN systems s ON s.id = e.system_id WHERE withdrawal AND lifted_version IS NULL"
    assert count(database_url, f"SELECT count(*) {standing} AND s.key IN ('B', 'C')") == 2
    latest = count(database_url, "SELECT max(n) FROM versions")
    assert count(database_url, f"SELECT max(e.version) {standing}") == latest


def test_a_version_serves_what_a_later_one_brought_in_and_nothing_earlier(database_url: str, command: Command) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("ALTER TABLE campaigns ADD COLUMN later int")
        connection.execute("UPDATE alembic_version SET version_num = 'later'")
    migrate.check_schema(database_url, or_later=True)
    assert command(database_url, "db", "check", "--or-later").returncode == 0
    assert command(database_url, "db", "check").returncode == 2
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '2026_11_20_spine'")
    with pytest.raises(migrate.SchemaBehind):
        migrate.check_schema(database_url, or_later=True)


def test_many_starters_migrate_once(empty_database_url: str) -> None:
    ready = threading.Barrier(4)

    def start(_: int) -> None:
        ready.wait(timeout=60)
        migrate.upgrade_schema(empty_database_url)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(start, range(4)))
    migrate.check_schema(empty_database_url)
    assert count(empty_database_url, "SELECT count(*) FROM alembic_version") == 1


def test_two_commands_at_once_migrate_once(empty_database_url: str, command: Command) -> None:
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda _: plumbline(empty_database_url, "db", "upgrade"), range(2)))
    assert [answer.returncode for answer in answers] == [0, 0], [answer.stderr for answer in answers]
    assert command(empty_database_url, "db", "check").returncode == 0


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE judgments ADD COLUMN extra int",
        "ALTER TABLE campaigns DROP COLUMN series",
        "CREATE TABLE stray (id int)",
        "DROP INDEX uq_judgments_address",
        "ALTER TABLE segments ALTER COLUMN source SET NOT NULL",
    ],
)
def test_a_schema_that_somebody_changed_is_named(database_url: str, change: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(change)
    with pytest.raises(migrate.SchemaDiffers):
        migrate.check_schema(database_url)


def test_the_serving_role_cannot_change_the_schema_nor_the_marker_of_its_version(database_url: str) -> None:
    for change in ("CREATE TABLE stray (id int)", "DROP TABLE scores", "UPDATE alembic_version SET version_num = 'x'"):
        with (
            psycopg.connect(database_url, options=f"-c role={APP_ROLE}") as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(change)
