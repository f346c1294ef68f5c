"""Joins of temporary tables with tables distributed by Citus, which needs the temporary table in a subquery.

The content of such a subquery is then sent to the node, once per statement. Other statements stay unchanged.
"""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.citus_distribution import has_citus

_KEY = "temporary tables apart"  # key in the info of a connection
NAMES = ("staged_[a-z]+", "placed", "resolved", "told", "scored", "sealed_rows", "rescored", "corrected")
_READ = re.compile(rf"(?<!DELETE )\b(FROM|JOIN)\s+({'|'.join(NAMES)})\b(?![.(])(\s+(?:AS\s+)?[a-z]\w*)?")


def enable_temporary_table_subqueries(session: Session) -> None:
    """Let this connection's statements read temporary tables in a form that Citus, if present, can join."""
    kept = session.connection().info
    if _KEY not in kept:
        kept[_KEY] = has_citus(session)


def reads_temporary_tables_as_subqueries(session: Session) -> bool:
    """Tell whether this connection's statements read temporary tables as subqueries."""
    return bool(session.connection().info.get(_KEY))


def replace_temporary_tables_by_subqueries(statement: str) -> str:
    """Return the statement with each temporary table that it reads as a subquery.

    >>> replace_temporary_tables_by_subqueries("SELECT n FROM placed JOIN items i ON i.id = n")
    'SELECT n FROM (SELECT * FROM placed OFFSET 0) placed JOIN items i ON i.id = n'
    """
    apart = _READ.sub(lambda m: f"{m[1]} (SELECT * FROM {m[2]} OFFSET 0){m[3] or f' {m[2]}'}", statement)
    return apart.replace("(SELECT FROM ", "(SELECT 1 FROM ")  # without columns, a subquery would lose its rows


def install_temporary_table_subqueries(engine: sa.Engine) -> None:
    """Change statements in this way on connections prepared by `enable_temporary_table_subqueries`."""

    def change(connection: sa.Connection, _cursor: Any, statement: str, given: Any, _context: Any, _many: bool) -> Any:
        return (replace_temporary_tables_by_subqueries(statement) if connection.info.get(_KEY) else statement), given

    sa.event.listen(engine, "before_cursor_execute", change, retval=True)
