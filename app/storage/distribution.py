"""Organizations on the nodes of Citus: all tables of one on one node (decision 48). Without Citus nothing here acts.

The coordinator keeps the tables of the default organization, the list of organizations and the queue. Which node has an
organization, Citus knows alone: statements go to the coordinator, as they do to a single server.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.domain.errors import Conflict
from app.storage.organizations import organization_schema

# Where Citus is not loaded, these are settings that nobody reads. Rows are referred to by triggers, which Citus has on
# tables of one node only if it is told so; and whatever changes one schema goes to its node over one connection.
MIGRATION_SETTINGS = ("citus.enable_unsafe_triggers = on", "citus.multi_shard_modify_mode = 'sequential'")

# The references of the large tables, which triggers of whole statements hold elsewhere (decision 9): child → (column,
# parent, its key). What such a trigger is given cannot be joined with a table that Citus distributes.
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
"""Children whose rows may come to name others."""
LOOKED_UP = {"judgments": "segment_id", "scores": "judgment_id", "credits": "system_id"}
"""Columns by which a declared key looks whether a parent may go, and that have no index elsewhere."""
COLLECTED_FIRST = "random() >= 0"
"""A condition for a query whose rows are inserted: it always holds. Citus 14.0 writes a statement that it cannot read
itself where a node could insert from its own tables and the query has a stable function, unless there is a volatile one
(`RebuildQueryStrings`); then it collects the rows first.
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
    """Whether this database is the coordinator's of a Citus cluster."""
    return bool(connection.execute(sa.text(_WITH_CITUS)).scalar())


def is_organization_distributed(connection: sa.Connection | Session, organization: int) -> bool:
    """Whether the tables of an organization are distributed."""
    if not has_citus(connection):
        return False
    return bool(connection.execute(sa.text(_DISTRIBUTED), {"schema": organization_schema(organization)}).scalar())


def distribute_organization(connection: sa.Connection, organization: int) -> bool:
    """Let Citus put the tables of an organization, which is in the search path, on one of its nodes; whether it did.

    Nothing happens without Citus, or where that was done. Nobody can write to the organization meanwhile.
    """
    if not has_citus(connection) or is_organization_distributed(connection, organization):
        return False
    _declare_references(connection)
    use_clock_for_default_times(connection)
    schema = organization_schema(organization)
    connection.execute(sa.text("SELECT citus_schema_distribute(CAST(:schema AS regnamespace))"), {"schema": schema})
    return True


def use_clock_for_default_times(connection: sa.Connection) -> None:
    """Let times that nobody gives be those of the clock, not of the transaction's begin; why: `COLLECTED_FIRST`."""
    for column in connection.execute(sa.text(_STABLE_DEFAULTS)).all():
        change = f"ALTER TABLE {column.table} ALTER COLUMN {column.column} SET DEFAULT clock_timestamp()"
        _run(connection, change)


def _declare_references(connection: sa.Connection) -> None:
    """Hold by declared keys what triggers with transition tables hold elsewhere; a restored backup may have them."""
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
"""Keys and indexes that only distributed tables have, so that the models do not."""
