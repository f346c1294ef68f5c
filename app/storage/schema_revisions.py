"""Which schema this version needs, and whether a database has it, without Alembic.

Alembic takes longer to load than most commands take to run, and only who changes a schema needs it
(`app.storage.migrate`).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from app.storage.organization_list import SCHEMA as SHARED
from app.storage.organizations import DEFAULT, organization_schema
from app.storage.queue_schema import QUEUE_MARK, list_queue_migrations
from app.storage.queue_schema import SCHEMA as QUEUE
from app.storage.serving_rights import has_exact_serving_rights

_REVISION = re.compile(r"""^(down_)?revision = (?:"(\w+)"|None)$""", re.MULTILINE)
# What the statement on revisions needs to exist, the last migration of the queue, and the organizations.
_TABLES = f"""
SELECT to_regclass('public.alembic_version') IS NOT NULL, to_regclass('{SHARED}.organizations') IS NOT NULL,
  (SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = '{QUEUE}')"""
_ORGANIZATIONS = f"SELECT number FROM {SHARED}.organizations WHERE state = 'open'"


def find_migrations_folder() -> Path:
    """The migrations: beside the package in a checkout, inside it when installed from a wheel."""
    packaged = Path(__file__).parent / "_migrations"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "migrations"


@cache
def _list_predecessors() -> dict[str, str | None]:
    """Every revision with the one before it, as their files say."""
    predecessors: dict[str, str | None] = {}
    for file in (find_migrations_folder() / "versions").glob("*.py"):
        named = {bool(down): name or None for down, name in _REVISION.findall(file.read_text(encoding="utf-8"))}
        revision = named[False]
        assert revision is not None  # noqa: S101  (only a first migration has no predecessor)
        predecessors[revision] = named[True]
    return predecessors


@cache
def find_head_revision() -> str:
    """The revision that this version needs."""
    predecessors = _list_predecessors()
    (head,) = predecessors.keys() - predecessors.values()
    return head


def list_known_revisions() -> frozenset[str | None]:
    """Every revision that this version knows, and none at all."""
    return frozenset({None, *_list_predecessors()})


def is_schema_current_at_url(url: str) -> bool:
    """`is_schema_current` on a connection of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        return is_schema_current(connection)


def is_schema_current(connection: psycopg.Connection[Any]) -> bool:
    """Whether an upgrade would change nothing: for all organizations, the queue and the rights of the serving role.

    Their number does not change the number of statements. If it is not current, somebody may be upgrading it now.
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
