"""Find the schema that this version needs, and check whether a database has it, without Alembic.

Alembic takes longer to load than most commands take to run. Only code that changes a schema needs it
(`app.storage.migrate`).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from app.storage.current_organization import DEFAULT, organization_schema
from app.storage.organization_list import SCHEMA as SHARED
from app.storage.queue_schema import QUEUE_MARK, list_queue_migrations
from app.storage.queue_schema import SCHEMA as QUEUE
from app.storage.serving_rights import has_exact_serving_rights

_REVISION = re.compile(r"""^(down_)?revision = (?:"(\w+)"|None)$""", re.MULTILINE)
# The tables that the statement on revisions needs, the last migration of the queue, and the organizations.
_TABLES = f"""
SELECT to_regclass('public.alembic_version') IS NOT NULL, to_regclass('{SHARED}.organizations') IS NOT NULL,
  (SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = '{QUEUE}')"""
_ORGANIZATIONS = f"SELECT number FROM {SHARED}.organizations WHERE state = 'open'"


def find_migrations_folder() -> Path:
    """Return the folder of migrations: next to the package in a checkout, inside it when installed from a wheel."""
    packaged = Path(__file__).parent / "_migrations"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "migrations"


@cache
def _list_predecessors() -> dict[str, str | None]:
    """Map every revision to its predecessor, as the files of the migrations state them."""
    predecessors: dict[str, str | None] = {}
    for file in (find_migrations_folder() / "versions").glob("*.py"):
        named = {bool(down): name or None for down, name in _REVISION.findall(file.read_text(encoding="utf-8"))}
        revision = named[False]
        assert revision is not None  # noqa: S101  (only a first migration has no predecessor)
        predecessors[revision] = named[True]
    return predecessors


@cache
def find_head_revision() -> str:
    """Return the revision that this version needs."""
    predecessors = _list_predecessors()
    (head,) = predecessors.keys() - predecessors.values()
    return head


def list_known_revisions() -> frozenset[str | None]:
    """Return all revisions that this version knows, and None for an empty database."""
    return frozenset({None, *_list_predecessors()})


def is_schema_current_at_url(url: str) -> bool:
    """Call `is_schema_current` on a separate connection."""
    with psycopg.connect(url, autocommit=True) as connection:
        return is_schema_current(connection)


def is_schema_current(connection: psycopg.Connection[Any]) -> bool:
    """Tell whether an upgrade would change nothing, for all organizations, the queue and the serving role's rights.

    The number of statements does not depend on the number of organizations. If the schema is not current, another
    process may be upgrading it now.
    """
    migrated, shared, mark = connection.execute(_TABLES.encode()).fetchone() or (False, False, None)
    if not migrated or mark != f"{QUEUE_MARK}{list_queue_migrations()[-1]}":
        return False
    numbers = [number for (number,) in connection.execute(_ORGANIZATIONS.encode())] if shared else []
    schemas = [organization_schema(number) for number in (DEFAULT, *numbers)]
    revisions = " UNION ".join(f"SELECT version_num FROM {schema}.alembic_version" for schema in schemas)
    if connection.execute(revisions.encode()).fetchall() != [(find_head_revision(),)]:
        return False
    return has_exact_serving_rights(connection, schemas)
