"""The serving role, on our server and on one whose owner may do less or more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from app.storage import embedded
from app.storage.embedded.roles import find_or_create_serving_role


@pytest.fixture(scope="module")
def own(scratch: Path) -> Iterator[embedded.EmbeddedServer]:
    """A server of this module's own, whose roles change."""
    with embedded.start_server(scratch / "roles") as server:
        yield server


@pytest.fixture
def bare(own: embedded.EmbeddedServer) -> embedded.EmbeddedServer:
    """A server as an administrator would give it: it has the owner of the database and no serving role."""
    administer(own, "DROP ROLE IF EXISTS plumbline_app; ALTER ROLE plumbline NOCREATEROLE")
    return own


def administer(server: embedded.EmbeddedServer, statement: str) -> None:
    with psycopg.connect(server.url("admin"), autocommit=True) as connection:
        connection.execute(statement)


def acts_as(url: str, role: str) -> tuple[str, str]:
    """The role at work after connecting as one that serves under another, and after trying to shed it."""
    with psycopg.connect(url, options=f"-c role={role}") as connection:
        before = connection.execute("SELECT current_user").fetchone()
        connection.execute("RESET ROLE")
        after = connection.execute("SELECT current_user").fetchone()
    assert before
    assert after
    return before[0], after[0]


def test_the_owner_of_our_own_server_serves_as_the_lesser_role(postgres: embedded.EmbeddedServer) -> None:
    role = find_or_create_serving_role(postgres.url())
    assert role == "plumbline_app"
    assert acts_as(postgres.url(), role) == ("plumbline_app", "plumbline_app")


def test_the_lesser_role_cannot_touch_what_the_owner_owns(
    postgres: embedded.EmbeddedServer, empty_database_url: str
) -> None:
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("CREATE TABLE mine ()")
    with psycopg.connect(empty_database_url, options="-c role=plumbline_app") as connection:
        for statement in (
            "DROP TABLE mine",
            "CREATE TABLE another ()",
            "CREATE ROLE another",
            "ALTER TABLE mine ADD x int",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement)


def test_an_owner_who_may_not_create_roles_serves_alone(bare: embedded.EmbeddedServer) -> None:
    assert find_or_create_serving_role(bare.url()) is None


def test_an_owner_who_may_not_act_as_an_existing_role_serves_alone(bare: embedded.EmbeddedServer) -> None:
    administer(bare, "CREATE ROLE plumbline_app")
    assert find_or_create_serving_role(bare.url()) is None


@pytest.mark.parametrize("version", ["newest", pytest.param("15", marks=pytest.mark.soak)])
def test_an_owner_who_may_create_roles_has_the_lesser_role_made(
    data_dir: Path, version: str, request: pytest.FixtureRequest
) -> None:
    with ExitStack() as stack:
        if version == "newest":
            server = request.getfixturevalue("bare")
        else:
            bin_dir = request.getfixturevalue("bin_dir15")
            server = stack.enter_context(embedded.start_server(data_dir, bin_dir=bin_dir))
            administer(server, "DROP ROLE plumbline_app")
        administer(server, "ALTER ROLE plumbline CREATEROLE")
        assert find_or_create_serving_role(server.url()) == find_or_create_serving_role(server.url()) == "plumbline_app"
        assert acts_as(server.url(), "plumbline_app")[0] == "plumbline_app"


def test_a_migrated_database_keeps_judgments_from_the_lesser_role(database_url: str) -> None:
    with psycopg.connect(database_url, options="-c role=plumbline_app") as connection:
        connection.execute("SELECT count(*) FROM judgments")
        for statement in ("UPDATE judgments SET revision = revision", "DELETE FROM judgments", "TRUNCATE judgments"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement)
