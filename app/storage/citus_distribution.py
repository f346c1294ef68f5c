"""Organizations on the nodes of Citus: all tables of an organization are on one node (decision 48).

Without Citus, nothing here has any effect. The coordinator keeps the tables of the default organization, the list of
organizations and the queue. Only Citus knows the node of an organization: statements go to the coordinator, as they
would to a single server.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.domain.errors import Conflict
from app.storage.current_organization import organization_schema

# Without Citus, no code reads these settings. Triggers check references between rows; Citus allows them on single-node
# tables only with the first setting. With the second, changes to one schema go to its node over one connection.
MIGRATION_SETTINGS = ("citus.enable_unsafe_triggers = on", "citus.multi_shard_modify_mode = 'sequential'")

# References of the large tables, which statement-level triggers check on other databases (decision 9): child → (column,
# parent, its key). The transition tables of such a trigger cannot be joined with a table distributed by Citus.
REFERENCES = {
    "outputs": (("system_id", "systems", "id"), ("segment_id", "segments", "id")),
    "items": (("task_id", "tasks", "id"), ("document_id", "documents", "id")),
    "credits": (("item_id", "items", "id"), ("system_id", "systems", "id")),
    "judgments": (
        ("item_id", "items", "id"),
        ("segment_id", "segments", "id"),
        ("rater_id", "raters", "id"),
        ("version", "versions", "n"),
    ),
    "scores": (("profile_id", "profiles", "id"), ("judgment_id", "judgments", "id")),
}
CHECKED_AGAIN = ("items", "credits")
"""Children whose rows may later get other references."""
LOOKED_UP = {"judgments": "segment_id", "scores": "judgment_id", "credits": "system_id"}
"""Columns that a foreign key searches before a parent row is deleted, and that otherwise have no index."""
COLLECTED_FIRST = "random() >= 0"
"""A condition, always true, for a query whose rows are inserted.

If a node could insert from its own tables and the query has a stable function but no volatile one, Citus 14.0 generates
a statement that it cannot parse (`RebuildQueryStrings`). With a volatile function, it collects the rows first.
"""
_WITH_CITUS = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
_DISTRIBUTED = "SELECT EXISTS (SELECT FROM pg_dist_schema WHERE schemaid = to_regnamespace(:schema))"

_STABLE_DEFAULTS = """
SELECT quote_ident(c.relname) AS table, quote_ident(a.attname) AS column
FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
WHERE c.relnamespace = current_schema()::regnamespace AND pg_get_expr(d.adbin, d.adrelid) = 'now()' ORDER BY 1, 2"""


class CitusMissing(Conflict):
    """This database has no Citus, so that there are no nodes; organizations share it."""


def has_citus(connection: sa.Connection | Session) -> bool:
    """Tell whether this database is the coordinator of a Citus cluster."""
    return bool(connection.execute(sa.text(_WITH_CITUS)).scalar())


def is_organization_schema_distributed(connection: sa.Connection | Session, organization: int) -> bool:
    """Tell whether the tables of an organization are distributed."""
    if not has_citus(connection):
        return False
    return bool(connection.execute(sa.text(_DISTRIBUTED), {"schema": organization_schema(organization)}).scalar())


def distribute_organization_schema(connection: sa.Connection, organization: int) -> bool:
    """Let Citus put an organization's tables, found by the search path, on one node; return whether this happened.

    Nothing happens without Citus, or if they are already distributed. Writes to the organization wait meanwhile.
    """
    if not has_citus(connection) or is_organization_schema_distributed(connection, organization):
        return False
    _declare_references(connection)
    set_time_defaults_to_clock(connection)
    schema = organization_schema(organization)
    connection.execute(sa.text("SELECT citus_schema_distribute(CAST(:schema AS regnamespace))"), {"schema": schema})
    return True


def set_time_defaults_to_clock(connection: sa.Connection) -> None:
    """Let omitted times default to the clock, not the transaction's start; `COLLECTED_FIRST` gives the reason."""
    for column in connection.execute(sa.text(_STABLE_DEFAULTS)).all():
        change = f"ALTER TABLE {column.table} ALTER COLUMN {column.column} SET DEFAULT clock_timestamp()"
        _run(connection, change)


def _declare_references(connection: sa.Connection) -> None:
    """Check by foreign keys what triggers with transition tables check elsewhere; a restored backup may have them."""
    if connection.execute(sa.text(_DECLARED), {"name": _key_name("outputs", "system_id", "systems")}).scalar():
        return
    parents = sorted({parent for references in REFERENCES.values() for _, parent, _ in references})
    for child, references in REFERENCES.items():
        _run(connection, f"DROP TRIGGER {child}_refer ON {child}")
        if child in CHECKED_AGAIN:
            _run(connection, f"DROP TRIGGER {child}_refer_again ON {child}")
        if child in LOOKED_UP:
            column = LOOKED_UP[child]
            _run(connection, f"CREATE INDEX {_index_name(child)} ON {child} (campaign_id, {column})")
        for column, parent, key in references:
            refers = f"FOREIGN KEY (campaign_id, {column}) REFERENCES {parent} (campaign_id, {key})"
            _run(connection, f"ALTER TABLE {child} ADD CONSTRAINT {_key_name(child, column, parent)} {refers}")
    for parent in parents:
        _run(connection, f"DROP TRIGGER {parent}_needed ON {parent}")


_DECLARED = """
SELECT EXISTS (SELECT FROM pg_constraint WHERE connamespace = current_schema()::regnamespace AND conname = :name)"""


def _run(connection: sa.Connection, statement: str) -> None:
    connection.execute(sa.text(statement))


def _key_name(child: str, column: str, parent: str) -> str:
    return f"fk_{child}_campaign_id_{column}_{parent}"


def _index_name(child: str) -> str:
    return f"ix_{child}_{LOOKED_UP[child]}_distributed"


ADDED = frozenset(
    {_index_name(child) for child in LOOKED_UP}
    | {_key_name(child, column, parent) for child, refs in REFERENCES.items() for column, parent, _ in refs}
)
"""Foreign keys and indexes that only distributed tables have, and the models therefore lack."""
