"""Connections with their own settings, even through a pooler that accepts no settings at connection start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Self

import psycopg

_TAKES_NONE = "unsupported startup parameter"
_SETTING = re.compile(r"-c (\w+)=(\S+)")


class ConnectionWithStartupOptions(psycopg.Connection[Any]):
    """A connection with `options`. PgBouncer refuses options at connection start, so they are then set afterwards.

    They hold until the connection ends, so a pooler must keep one server connection for each client (session pooling).
    """

    @classmethod
    def connect(cls, conninfo: str = "", **given: Any) -> Self:
        """Connect as psycopg does. options: settings like `-c timezone=UTC -c role=reader`."""
        try:
            return super().connect(conninfo, **given)
        except psycopg.OperationalError as error:
            if not _is_refused(error, given):
                raise
        connection = super().connect(conninfo, **_without_options(given))
        try:
            connection.execute(*_set_options(given), prepare=False)
            connection.autocommit = given.get("autocommit", False)
        except BaseException:
            connection.close()
            raise
        return connection


class AsyncConnectionWithStartupOptions(psycopg.AsyncConnection[Any]):
    """The asynchronous counterpart of `ConnectionWithStartupOptions`, for the event loop."""

    @classmethod
    async def connect(cls, conninfo: str = "", **given: Any) -> Self:
        """Connect as `ConnectionWithStartupOptions.connect` does."""
        try:
            return await super().connect(conninfo, **given)
        except psycopg.OperationalError as error:
            if not _is_refused(error, given):
                raise
        connection = await super().connect(conninfo, **_without_options(given))
        try:
            await connection.execute(*_set_options(given), prepare=False)
            await connection.set_autocommit(given.get("autocommit", False))
        except BaseException:
            await connection.close()
            raise
        return connection


def _is_refused(error: psycopg.OperationalError, given: Mapping[str, Any]) -> bool:
    return bool(given.get("options")) and _TAKES_NONE in str(error)


def _without_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without options and with autocommit: a rollback would undo the settings."""
    return {**{name: value for name, value in given.items() if name != "options"}, "autocommit": True}


def _set_options(given: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return a statement that applies the options as settings, and its parameters."""
    settings = _SETTING.findall(given["options"])
    calls = ", ".join(["set_config(%s, %s, false)"] * len(settings))
    return f"SELECT {calls}", [word for setting in settings for word in setting]
