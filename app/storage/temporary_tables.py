"""Temporary tables beside tables that Citus distributes: it joins the two only where a temporary one is a subquery.

What such a subquery has is then sent to the node, once for each statement. Everywhere else statements stay as they are.
"""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.distribution import has_citus

_KEY = "temporary tables apart"  # of what is kept with a connection
NAMES = ("staged_[a-z]+", "placed", "resolved", "told", "scored", "sealed_rows", "rescored", "corrected")
_READ = re.compile(rf"(?<!DELETE )\b(FROM|JOIN)\s+({'|'.join(NAMES)})\b(?![.(])(\s+(?:AS\s+)?[a-z]\w*)?")


def prepare_for_temporary_tables(session: Session) -> None:
    """Let the statements of this connection read temporary tables so that Citus, where it is, can join them."""
    kept = session.connection().info
    if _KEY not in kept:
        kept[_KEY] = has_citus(session)


def reads_temporary_tables_as_subqueries(session: Session) -> bool:
    """Whether the statements of this connection read temporary tables so, and not as they are written."""
    return bool(session.connection().info.get(_KEY))


def replace_temporary_tables_by_subqueries(statement: str) -> str:
    """The statement with each temporary table that it reads as a subquery.

    >>> replace_temporary_tables_by_subqueries("SELECT n FROM placed JOIN items i ON i.id = n")
    'SELECT n FROM (SELECT * FROM placed OFFSET 0) placed JOIN items i ON i.id = n'
    """
    apart = _READ.sub(lambda m: f"{m[1]} (SELECT * FROM {m[2]} OFFSET 0){m[3] or f' {m[2]}'}", statement)
    return apart.replace("(SELECT FROM ", "(SELECT 1 FROM ")  # of a subquery without columns it cannot keep the rows


def install_temporary_table_subqueries(engine: sa.Engine) -> None:
    """Change statements so where `prepare_for_temporary_tables` said so."""

    def change(connection: sa.Connection, _cursor: Any, statement: str, given: Any, _context: Any, _many: bool) -> Any:
        return (replace_temporary_tables_by_subqueries(statement) if connection.info.get(_KEY) else statement), given

    sa.event.listen(engine, "before_cursor_execute", change, retval=True)
