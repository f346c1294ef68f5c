"""The database handle: one committer, kinds of error instead of the driver's, numbers as they were written."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text

from app.domain.errors import Invalid
from app.storage import db
from app.storage.db import APP_ROLE, Database, driver_connection


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    found = Database(database_url, size=2, role=APP_ROLE)
    yield found
    found.close()


def test_a_transaction_commits_at_its_end_and_not_after_an_error(database: Database) -> None:
    add = text("INSERT INTO people (key) VALUES (:key)")
    with database.transaction() as session:
        session.execute(add, {"key": "kept"})
    with pytest.raises(db.ConcurrentChange), database.transaction() as session:
        session.execute(add, [{"key": "lost"}, {"key": "kept"}])
    with database.transaction() as session:
        assert session.execute(text("SELECT key FROM people")).scalars().all() == ["kept"]


def test_a_snapshot_sees_one_state_and_writes_nothing(database: Database) -> None:
    count = text("SELECT count(*) FROM people")
    with database.transaction(snapshot=True) as reader:
        assert reader.execute(count).scalar() == 0
        with database.transaction() as writer:
            writer.execute(text("INSERT INTO people (key) VALUES ('p')"))
        assert reader.execute(count).scalar() == 0
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), database.transaction(snapshot=True) as reader:
        reader.execute(text("INSERT INTO people (key) VALUES ('q')"))


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("INSERT INTO people (key) VALUES ('not a key')", db.ValueNotStorable),
        ("INSERT INTO people (key) VALUES (NULL)", db.ValueNotStorable),
        ("INSERT INTO people (key) VALUES ('p'), ('p')", db.ConcurrentChange),
        ("SELECT (2 ^ 40)::bigint::int", db.ValueNotStorable),
        ("SELECT length(repeat('x', 1 << 30))", db.DatabaseLimitExceeded),
    ],
)
def test_what_the_database_refuses_is_one_of_our_kinds(
    database: Database, statement: str, kind: type[Exception]
) -> None:
    with pytest.raises(kind), database.transaction() as session:
        session.execute(text(statement))


def test_a_connection_that_ends_in_a_transaction_is_a_database_that_is_down(database: Database) -> None:
    with pytest.raises(db.DatabaseDown), database.transaction() as session:
        session.execute(text("SET ROLE NONE")).connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))


def test_a_killed_connection_does_not_fail_the_next_transaction(database: Database) -> None:
    with database.transaction() as session:
        pid = session.execute(text("SELECT pg_backend_pid()")).scalar()
    with psycopg.connect(database.url) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    database.ping()


def test_every_connection_in_use_is_said_within_the_bound(database: Database) -> None:
    with database.transaction() as one, database.transaction() as two:
        for session in (one, two):
            session.execute(text("SELECT 1"))
        with pytest.raises(db.DatabaseBusy) as refused:
            database.ping()
    assert refused.value.retry_after == 1


@pytest.mark.parametrize("number", [1e300, 1e22, 5e-324, 2**62, -(2**63), -9.3e18, 9.3e18, 0.1 + 0.2, 1.5])
def test_numbers_in_json_come_back_as_they_were(database: Database, number: float) -> None:
    with database.transaction() as session:
        back = session.execute(text("SELECT CAST(:n AS jsonb)"), {"n": repr(number)}).scalar()
    assert (back, type(back)) == (number, type(number))


@pytest.mark.parametrize("url", ["nothing", "mysql://localhost/x", "sqlite:///x"])
def test_another_kind_of_address_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="postgresql://"):
        Database(url)


def test_a_connection_in_use_while_the_database_is_closed_is_closed_when_it_comes_back(database: Database) -> None:
    """Else whoever collects the pool of then finds it open, at any time."""
    with database.transaction() as session:
        connection = driver_connection(session)
        database.close()
        assert session.execute(text("SELECT 1")).scalar() == 1
        assert not connection.closed
    assert connection.closed
    with database.transaction() as session:
        again = driver_connection(session)
    assert not again.closed, "a later transaction's stays, for the next one"
    database.close()
    assert again.closed
