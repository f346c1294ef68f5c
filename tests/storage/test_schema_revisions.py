"""Whether a database has this version's schema is asked with few statements, however many organizations there are."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from app.storage import migrate, organization_schemas
from app.storage.schema_revisions import is_schema_current
from tests.spine import plumbline

STALE = {
    "the default organization is behind": "UPDATE alembic_version SET version_num = '2026_11_20_spine'",
    "another organization is behind": "UPDATE organization_1.alembic_version SET version_num = '2026_11_20_spine'",
    "there is no schema": "DROP TABLE alembic_version",
    "the queue is behind": "COMMENT ON SCHEMA procrastinate IS 'steps of procrastinate up to 00.sql'",
    "there is no queue": "DROP SCHEMA procrastinate CASCADE",
    "a right is missing": "REVOKE SELECT ON judgments FROM plumbline_app",
    "a right is too much": "GRANT UPDATE ON judgments TO plumbline_app",
    "a right of an organization is missing": "REVOKE SELECT ON organization_1.scores FROM plumbline_app",
}


class CountingConnection:
    """A connection that counts its statements."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.statements = 0

    def execute(self, *given: Any) -> psycopg.Cursor[Any]:
        self.statements += 1
        return self.connection.execute(*given)


@pytest.fixture
def template(organized_template: str) -> str:
    return organized_template


def ask(url: str) -> tuple[bool, int]:
    with psycopg.connect(url, autocommit=True) as connection:
        counting = CountingConnection(connection)
        return is_schema_current(counting), counting.statements  # type: ignore[arg-type]


def test_more_organizations_take_no_more_statements(database_url: str) -> None:
    before = ask(database_url)
    organization_schemas.add_organization(database_url, "third", "Third")
    assert ask(database_url) == before == (True, 4)


@pytest.mark.parametrize("change", STALE.values(), ids=STALE)
def test_what_an_upgrade_would_mend_is_noticed(database_url: str, change: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(change.encode())
    assert ask(database_url)[0] is False


def test_an_empty_database_has_no_schema(empty_database_url: str) -> None:
    assert ask(empty_database_url) == (False, 1)


def test_a_command_upgrades_organizations_that_are_behind(database_url: str) -> None:
    migrate.downgrade_schema(database_url, "-1")
    assert not ask(database_url)[0]
    assert b"no such campaign" in plumbline(database_url, "rank", "no-such-campaign").stderr
    assert ask(database_url)[0]
