"""A server that can lose what it confirmed is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from app.storage import embedded
from app.storage.server_checks import DatabaseNotUnicode, ServerNotDurable, check_server_at_url
from tests.working import until


@pytest.fixture(scope="module")
def careless(scratch: Path) -> Iterator[embedded.EmbeddedServer]:
    """A server of this module's own, to be misconfigured."""
    with embedded.start_server(scratch / "careless") as server:
        yield server


def admin(server: embedded.EmbeddedServer, statement: str) -> None:
    with psycopg.connect(server.url("admin"), autocommit=True) as connection:
        connection.execute(statement)


def test_our_own_server_passes(empty_database_url: str) -> None:
    check_server_at_url(empty_database_url, serving_role="plumbline_app")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_does_not_store_unicode_is_refused(careless: embedded.EmbeddedServer, encoding: str) -> None:
    name = f"in_{encoding.lower()}"
    admin(careless, f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(DatabaseNotUnicode, match=f"its encoding is {encoding}"):
        check_server_at_url(make_conninfo(careless.url(), dbname=name))


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
def test_a_server_with_a_safeguard_off_is_refused(careless: embedded.EmbeddedServer, setting: str) -> None:
    check_server_at_url(careless.url())
    (careless.cluster.folder / "local.conf").write_text(f"{setting} = off\n")
    admin(careless, "SELECT pg_reload_conf()")
    with pytest.raises(ServerNotDurable, match=f"{setting} is off"):
        _check_until_refused(careless)
    (careless.cluster.folder / "local.conf").write_text("")
    admin(careless, "SELECT pg_reload_conf()")
    _check_until_accepted(careless)


def _check_until_refused(server: embedded.EmbeddedServer) -> None:
    until(lambda: not _accepted(server), "it is refused: a reload takes a moment")
    check_server_at_url(server.url())


def _check_until_accepted(server: embedded.EmbeddedServer) -> None:
    until(lambda: _accepted(server), "it is accepted again")
    check_server_at_url(server.url())


def _accepted(server: embedded.EmbeddedServer) -> bool:
    try:
        check_server_at_url(server.url())
    except ServerNotDurable:
        return False
    return True


@pytest.mark.parametrize(
    ("carrier", "named"),
    [
        ("ROLE plumbline", "role plumbline"),
        ("ROLE plumbline_app", "role plumbline_app"),
        ("DATABASE plumbline", "database plumbline"),
        ("ROLE plumbline IN DATABASE plumbline", "role plumbline in database plumbline"),
    ],
)
def test_a_safeguard_off_for_one_role_or_database_is_refused(
    careless: embedded.EmbeddedServer, carrier: str, named: str
) -> None:
    check_server_at_url(careless.url(), serving_role="plumbline_app")
    admin(careless, f"ALTER {carrier} SET synchronous_commit = off")
    try:
        with pytest.raises(ServerNotDurable, match=f"synchronous_commit is off for {named}"):
            check_server_at_url(careless.url(), serving_role="plumbline_app")
    finally:
        admin(careless, f"ALTER {carrier} RESET synchronous_commit")


def test_a_setting_of_a_role_that_does_not_serve_is_its_own_affair(careless: embedded.EmbeddedServer) -> None:
    admin(careless, "ALTER ROLE plumbline_admin SET synchronous_commit = off")
    check_server_at_url(careless.url(), serving_role="plumbline_app")
    admin(careless, "ALTER ROLE plumbline_admin RESET synchronous_commit")
