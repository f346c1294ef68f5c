"""How many blocks of the database a question touches, as a figure that depends on no clock."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql

from app.storage.db import Database

MODES = ("force_custom_plan", "force_generic_plan")
PARAMETER = re.compile(r"%\((\w+)\)s")


@contextmanager
def filled(url: str, statements: str) -> Iterator[Database]:
    """A database after some statements of its owner, under the serving role. url: of the owner."""
    with psycopg.connect(url) as connection:
        connection.execute(statements.encode())
    handle = Database(url, size=2, role="plumbline_app")
    yield handle
    handle.close()


def touched(connection: psycopg.Connection[Any], statement: str, values: dict[str, Any], mode: str) -> int:
    """Blocks that a statement touches, by the plan of this mode."""
    order = list(dict.fromkeys(PARAMETER.findall(statement)))
    numbered = PARAMETER.sub(lambda found: f"${order.index(found[1]) + 1}", statement).replace("%%", "%")
    given = sql.SQL(", ").join(sql.Literal(values[name]) for name in order)
    with connection.transaction(force_rollback=True):
        connection.execute(f"SET LOCAL plan_cache_mode = {mode}".encode())
        connection.execute(f"PREPARE asked AS {numbered}".encode())
        call = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE asked")
        call = call + sql.SQL("(") + given + sql.SQL(")") if order else call
        told = connection.execute(call).fetchone()
        connection.execute("DEALLOCATE asked")
    plan = (told[0] if isinstance(told[0], list) else json.loads(told[0]))[0]["Plan"]  # type: ignore[index]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def costs(database: Database, url: str, ask: Callable[[], object]) -> dict[str, int]:
    """Blocks that all reading statements of a question touch, by the mode of their plans. url: of the owner."""
    seen: list[tuple[str, dict[str, Any]]] = []

    def look(_: sa.Connection, __: object, statement: str, parameters: Any, *___: object) -> None:
        if statement.lstrip().split(None, 1)[0] in {"SELECT", "WITH"}:
            seen.append((statement, dict(parameters)))

    engine = database._engine
    sa.event.listen(engine, "before_cursor_execute", look)
    try:
        ask()
    finally:
        sa.event.remove(engine, "before_cursor_execute", look)
    with psycopg.connect(url) as connection:
        return {mode: sum(touched(connection, *one, mode) for one in seen) for mode in MODES}
