"""Connections through a pooler that takes no settings when a connection starts."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from app.storage.connections import AsyncConnectionWithStartupOptions, ConnectionWithStartupOptions
from app.storage.db import Database

OPTIONS = "-c timezone=UTC -c lock_timeout=1500 -c search_path=one,public -c role=plumbline_app"
ASKED = """SELECT current_user, current_setting('timezone'), current_setting('lock_timeout'),
current_setting('search_path')"""
SET = ("plumbline_app", "UTC", "1500ms", "one,public")


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Refuses options as PgBouncer does; what it refused."""
    refused: list[str] = []
    connect, connect_async = psycopg.Connection.connect.__func__, psycopg.AsyncConnection.connect.__func__

    def check(given: dict[str, Any]) -> None:
        if "options" in given:
            refused.append(given["options"])
            raise psycopg.OperationalError("connection failed: FATAL:  unsupported startup parameter: options")

    def pooled(cls: Any, conninfo: str = "", **given: Any) -> Any:
        check(given)
        return connect(cls, conninfo, **given)

    async def pooled_async(cls: Any, conninfo: str = "", **given: Any) -> Any:
        check(given)
        return await connect_async(cls, conninfo, **given)

    monkeypatch.setattr(psycopg.Connection, "connect", classmethod(pooled))
    monkeypatch.setattr(psycopg.AsyncConnection, "connect", classmethod(pooled_async))
    return refused


@pytest.mark.parametrize("autocommit", [True, False])
def test_settings_hold_although_the_start_of_a_connection_takes_none(
    database_url: str, refusing: list[str], *, autocommit: bool
) -> None:
    with ConnectionWithStartupOptions.connect(database_url, autocommit=autocommit, options=OPTIONS) as connection:
        assert refusing == [OPTIONS]
        connection.rollback()
        assert connection.execute(ASKED).fetchone() == SET

    async def asked() -> object:
        made = await AsyncConnectionWithStartupOptions.connect(database_url, autocommit=autocommit, options=OPTIONS)
        async with made as connection:
            await connection.rollback()
            return await (await connection.execute(ASKED)).fetchone()

    assert asyncio.run(asked()) == SET


def test_the_service_serves_under_its_role_through_a_pooler(database_url: str, refusing: list[str]) -> None:
    for watched in (False, True):
        database = Database(database_url, size=1, role="plumbline_app", watched=watched)
        with database.transaction() as session:
            assert session.execute(sa.text("SELECT current_user")).scalar() == "plumbline_app"
        database.close()
    assert len(refusing) >= 2


def test_a_connection_whose_settings_cannot_be_set_is_closed(
    database_url: str, refusing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    for kind in (psycopg.Connection, psycopg.AsyncConnection):
        begin = kind.__init__
        monkeypatch.setattr(
            kind, "__init__", lambda self, *given, begin=begin: made.append(self) or begin(self, *given)
        )
    with pytest.raises(psycopg.Error, match="no_such_role"):
        ConnectionWithStartupOptions.connect(database_url, options="-c role=no_such_role")
    with pytest.raises(psycopg.Error, match="no_such_role"):
        asyncio.run(AsyncConnectionWithStartupOptions.connect(database_url, options="-c role=no_such_role"))
    assert [(len(refusing), connection.closed) for connection in made] == [(2, True), (2, True)]


def test_what_is_refused_for_another_reason_is_not_tried_again(database_url: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="no_such_role"):
        ConnectionWithStartupOptions.connect(database_url, options="-c role=no_such_role")
