"""Number ranges of organizations, so that no two organizations have rows with the same number."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa

from app.storage.current_organization import SPAN

_COUNTERS = """
SELECT quote_ident(c.relname) AS table, quote_ident(a.attname) AS column, s.seqmin AS first, s.seqmax AS last
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> '' AND NOT a.attisdropped
JOIN pg_sequence s ON s.seqrelid = pg_get_serial_sequence(quote_ident(c.relname), a.attname)::regclass
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' ORDER BY 1"""


_IDENTITY = re.compile(r"\bGENERATED ALWAYS AS IDENTITY\b(?! *\()")


def install_id_range_for_new_tables(engine: sa.Engine, organization: int) -> None:
    """Make tables created through an engine use the organization's number range from the start.

    After Citus has distributed a table, this can no longer be changed.
    """
    first, last = _bounds(organization)
    counted = f"GENERATED ALWAYS AS IDENTITY (MINVALUE {first} MAXVALUE {last} START {first})"

    def change(
        _connection: Any, _cursor: Any, statement: str, given: Any, _context: Any, _many: bool
    ) -> tuple[str, Any]:
        return _IDENTITY.sub(counted, statement), given

    sa.event.listen(engine, "before_cursor_execute", change, retval=True)


def set_id_range_of_schema_tables(connection: sa.Connection, organization: int) -> None:
    """Make the tables of the current schema use the organization's number range. Tables already in it do not change.

    A table that a migration has just created is empty, because migrations must not number rows. A distributed table
    already uses the range (`install_id_range_for_new_tables`).
    """
    first, last = _bounds(organization)
    for counter in _list_others(connection, organization):
        alter = f"ALTER TABLE {counter.table} ALTER COLUMN {counter.column}"
        connection.execute(sa.text(f"{alter} SET MINVALUE {first} SET MAXVALUE {last} SET START {first} RESTART"))


def find_misnumbered_tables(connection: sa.Connection, organization: int) -> list[str]:
    """Return the tables of the current schema that number outside the organization's range."""
    return [counter.table for counter in _list_others(connection, organization)]


def _list_others(connection: sa.Connection, organization: int) -> list[sa.Row[tuple[str, str, int, int]]]:
    bounds = _bounds(organization)
    return [one for one in connection.execute(sa.text(_COUNTERS)) if (one.first, one.last) != bounds]


def _bounds(organization: int) -> tuple[int, int]:
    return organization * SPAN + 1, (organization + 1) * SPAN - 1
