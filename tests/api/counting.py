"""What goes to the database while a block lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
import pytest

Counting = Callable[[], AbstractContextManager[list[str]]]
MAKES_READY = "CREATE OR REPLACE FUNCTION pg_temp."


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Every statement that goes to the database, on either kind of connection, while a block lasts.

    But for those by which the pool makes a further connection ready, whenever it gets one: no request waits for that.
    """

    @contextmanager
    def count() -> Iterator[list[str]]:
        said: list[str] = []
        now, later = psycopg.Cursor.execute, psycopg.AsyncCursor.execute

        def note(query: Any) -> None:
            if MAKES_READY not in (text := query.decode() if isinstance(query, bytes) else str(query)):
                said.append(text)

        def execute(cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
            note(query)
            return now(cursor, query, *args, **kwargs)

        async def execute_later(cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
            note(query)
            return await later(cursor, query, *args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(psycopg.Cursor, "execute", execute)
            patch.setattr(psycopg.AsyncCursor, "execute", execute_later)
            yield said

    return count
