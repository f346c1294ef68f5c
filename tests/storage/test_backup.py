"""Backup and restore give the same content; a damaged backup is refused and restores nothing."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from app.domain.errors import Invalid
from app.storage import embedded
from app.storage.backup import (
    BackupDamaged,
    BackupExists,
    BackupFailed,
    DatabaseNotEmpty,
    backup_database,
    restore_database,
)
from app.storage.embedded.binaries import PostgresNotFound, find_client_program_folder

ROWS = """
CREATE TABLE facts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL, score double precision,
                    at timestamptz NOT NULL DEFAULT '2024-02-29 12:00:00.000001Z');
INSERT INTO facts (text, score)
SELECT E'é字😀\\t\\n' || n, CASE WHEN n % 7 > 0 THEN sqrt(n) END FROM generate_series(1, 3000) AS n;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'append only'; END $$;
CREATE TRIGGER append_only BEFORE UPDATE ON facts FOR EACH ROW EXECUTE FUNCTION refuse();
"""


def content_hash(url: str) -> str:
    """A hash of every row of every table of ours, and of the next value of every sequence."""
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1"
    digest = hashlib.sha256()
    with psycopg.connect(url) as connection:
        for (table,) in connection.execute(tables).fetchall():
            rows = sql.SQL("COPY (SELECT t::text FROM {} AS t ORDER BY 1) TO STDOUT").format(sql.Identifier(table))
            digest.update(table.encode())
            with connection.cursor().copy(rows) as copy:
                for block in copy:
                    digest.update(block)
        for sequence in connection.execute(
            "SELECT schemaname, sequencename, last_value FROM pg_sequences ORDER BY 1, 2"
        ):
            digest.update(repr(sequence).encode())
    return digest.hexdigest()


def count_tables(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture(scope="module")
def filled_url(postgres: embedded.EmbeddedServer) -> str:
    """A database with content, which no test here changes."""
    with psycopg.connect(postgres.url("admin", "postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE to_back_up OWNER plumbline TEMPLATE template0")
    url = postgres.url("owner", "to_back_up")
    with psycopg.connect(url) as connection:
        connection.execute(ROWS)
    return url


@pytest.fixture(scope="module")
def fresh(scratch: Path) -> Iterator[embedded.EmbeddedServer]:
    """Another cluster than the one that the backups are taken from."""
    with embedded.start_server(scratch / "fresh") as server:
        yield server


@pytest.fixture
def target_url(fresh: embedded.EmbeddedServer) -> Iterator[str]:
    """An empty database in a fresh cluster."""
    yield fresh.url()
    with psycopg.connect(fresh.url()) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


@pytest.fixture
def saved(filled_url: str, tmp_path: Path) -> Path:
    backup_database(filled_url, tmp_path / "backup")
    return tmp_path / "backup"


def test_a_restored_database_has_the_same_content(filled_url: str, target_url: str, saved: Path) -> None:
    restore_database(target_url, saved)
    assert content_hash(target_url) == content_hash(filled_url)
    with psycopg.connect(target_url) as connection, pytest.raises(psycopg.errors.RaiseException, match="append only"):
        connection.execute("UPDATE facts SET text = ''")


def test_the_content_hash_sees_one_changed_value(filled_url: str, target_url: str, saved: Path) -> None:
    """The control of the test above."""
    restore_database(target_url, saved)
    with psycopg.connect(target_url) as connection:
        connection.execute("ALTER TABLE facts DISABLE TRIGGER append_only")
        connection.execute("UPDATE facts SET score = score + 1e-12 WHERE id = 4")
    assert content_hash(target_url) != content_hash(filled_url)


def test_a_backup_is_private_whole_and_alone(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert saved.stat().st_nlink == 1
    assert list(saved.parent.iterdir()) == [saved]


def test_a_backup_does_not_overwrite_unless_asked(filled_url: str, saved: Path) -> None:
    saved.write_bytes(b"mine")
    with pytest.raises(BackupExists):
        backup_database(filled_url, saved)
    assert saved.read_bytes() == b"mine"
    backup_database(filled_url, saved, overwrite=True)
    assert saved.read_bytes().startswith(b"PGDMP")


@pytest.mark.parametrize("kept", [0, 1, 100, 0.25, 0.5, 0.999, -200, -100, -50, -1])
def test_a_truncated_backup_is_refused_and_restores_nothing(target_url: str, saved: Path, kept: float) -> None:
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    with pytest.raises(BackupDamaged):
        restore_database(target_url, saved)
    assert count_tables(target_url) == 0


@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.9, 0.9999])
def test_a_backup_with_one_flipped_bit_is_refused(target_url: str, saved: Path, place: float) -> None:
    content = bytearray(saved.read_bytes())
    content[int(place * len(content))] ^= 4
    saved.write_bytes(content)
    with pytest.raises(BackupDamaged):
        restore_database(target_url, saved)
    assert count_tables(target_url) == 0


def test_a_backup_with_something_appended_is_refused(target_url: str, saved: Path) -> None:
    with saved.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(BackupDamaged):
        restore_database(target_url, saved)


def test_a_database_with_content_is_not_restored_into(filled_url: str, saved: Path) -> None:
    before = content_hash(filled_url)
    with pytest.raises(DatabaseNotEmpty):
        restore_database(filled_url, saved)
    assert content_hash(filled_url) == before


def test_a_restore_that_fails_half_way_leaves_nothing(target_url: str, saved: Path) -> None:
    """A trigger function of the same name, which is neither table nor index, makes the restore fail."""
    with psycopg.connect(target_url) as connection:
        connection.execute("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    with pytest.raises(BackupFailed, match="refuse"):
        restore_database(target_url, saved)
    assert count_tables(target_url) == 0


def test_a_missing_file_is_named(target_url: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no such backup"):
        restore_database(target_url, tmp_path / "no such backup")


def test_a_failed_backup_leaves_no_file(empty_database_url: str, tmp_path: Path) -> None:
    with psycopg.connect(empty_database_url.replace("plumbline@", "plumbline_admin@")) as connection:
        connection.execute("CREATE TABLE secret ()")
    with pytest.raises(BackupFailed, match="secret"):
        backup_database(empty_database_url, tmp_path / "backup")
    assert list(tmp_path.iterdir()) == []


def test_the_nearest_client_from_the_servers_version_upwards_is_taken(bin_dir15: Path) -> None:
    assert find_client_program_folder(15).resolve() == bin_dir15
    with pytest.raises(PostgresNotFound, match="Postgres 18"):
        find_client_program_folder(18, bin_dir15)


def test_postgres_15_is_backed_up_and_restored_into_the_newest(
    data_dir: Path, bin_dir15: Path, target_url: str, tmp_path: Path
) -> None:
    with embedded.start_server(data_dir, bin_dir=bin_dir15) as old:
        with psycopg.connect(old.url()) as connection:
            connection.execute(ROWS)
        backup_database(old.url(), tmp_path / "backup")
        restore_database(target_url, tmp_path / "backup")
        assert content_hash(target_url) == content_hash(old.url())


STAND_IN = """#!/bin/sh
[ "$1" = --version ] && echo "pg_dump (PostgreSQL) 99.0" && exit
echo "$@" > {seen}.arguments
echo "$PGPASSWORD" > {seen}.environment
"""


def test_no_password_stands_on_a_command_line(tmp_path: Path, postgres: embedded.EmbeddedServer) -> None:
    """A stand-in for pg_dump writes down its command line and environment."""
    seen, programs = tmp_path / "seen", tmp_path / "bin"
    programs.mkdir()
    (programs / "pg_dump").write_text(STAND_IN.format(seen=seen))
    (programs / "pg_dump").chmod(0o755)
    kept = postgres.data_dir / "pgpass"
    secret = kept.read_text().splitlines()[1].split(":")[4] if kept.exists() else "asked for by nobody"
    backup_database(make_conninfo(postgres.url(), password=secret, passfile=""), tmp_path / "backup", bin_dir=programs)
    assert seen.with_suffix(".environment").read_text() == f"{secret}\n"
    assert "dbname=plumbline" in seen.with_suffix(".arguments").read_text()
    assert secret not in seen.with_suffix(".arguments").read_text()
