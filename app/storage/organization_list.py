"""The list of organizations, in a schema that all organizations share. It is created with the first organization.

`app.storage.migrate` creates and removes the schemas of organizations; nothing here reads their tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg
import sqlalchemy as sa

from app.domain.errors import Conflict, NotFound
from app.storage.current_organization import MOST
from app.storage.db import APP_ROLE, Session

SCHEMA = "plumbline_shared"
KNOWN_FOR = 5.0
"""Seconds for which a process serves an organization before it checks again that the organization is listed."""
GRANTS = (
    f"GRANT USAGE ON SCHEMA {SCHEMA} TO {APP_ROLE}",
    f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO {APP_ROLE}",
)
# Numbers are never reused: data stored by row number must not be found by a later organization.
_MADE = f"""
CREATE TABLE IF NOT EXISTS {SCHEMA}.organizations (
  number int GENERATED ALWAYS AS IDENTITY (MAXVALUE {MOST}) PRIMARY KEY,
  key text NOT NULL CHECK (key ~ '^[a-z0-9][a-z0-9-]*$' AND char_length(key) <= 63),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
  state text NOT NULL DEFAULT 'preparing' CHECK (state IN ('preparing', 'open', 'removing', 'removed')),
  created_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz)"""
_UNIQUE = (
    f"CREATE UNIQUE INDEX IF NOT EXISTS uq_organizations_key ON {SCHEMA}.organizations (key) WHERE state <> 'removed'"
)
_SHOWN = f"SELECT number, key, name, state, created_at FROM {SCHEMA}.organizations"


class OrganizationNotFound(NotFound):
    """There is no such organization."""


class OrganizationExists(Conflict):
    """There is an organization of this key already."""


class SchemaCreationNotAllowed(Conflict):
    """The owner of the schema may not make schemas in this database; grant it CREATE on the database."""

    published = "OrganizationsNotAllowed"


class TooManyOrganizations(Conflict):
    """This installation cannot have another organization."""


@dataclass(frozen=True, slots=True)
class OrganizationRecord:
    """A listed organization.

    state: preparing until all its tables exist, then open; removing until they are gone.
    """

    number: int
    key: str
    name: str
    state: str
    created_at: datetime


def ensure_organization_list(connection: sa.Connection) -> None:
    """Create the shared schema if it is missing. Raises SchemaCreationNotAllowed."""
    try:
        connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
    except sa.exc.ProgrammingError as error:
        if isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
            raise SchemaCreationNotAllowed from error
        raise
    connection.execute(sa.text(_MADE))
    connection.execute(sa.text(_UNIQUE))


def has_ever_added_organization(connection: sa.Connection | Session) -> bool:
    """Tell whether this installation has ever had an organization other than the default one."""
    return bool(connection.execute(sa.text(f"SELECT to_regclass('{SCHEMA}.organizations') IS NOT NULL")).scalar())


def list_nondefault_organizations(
    connection: sa.Connection | Session, *, only_open: bool = True
) -> Sequence[OrganizationRecord]:
    """Return the non-default organizations, by number. only_open: omit those whose tables are not ready."""
    if not has_ever_added_organization(connection):
        return ()
    states = "state = 'open'" if only_open else "state <> 'removed'"
    rows = connection.execute(sa.text(f"{_SHOWN} WHERE {states} ORDER BY number"))
    return [OrganizationRecord(*row) for row in rows]


def load_organization(connection: sa.Connection | Session, key: str) -> OrganizationRecord:
    """Return the organization with a key, open or not. Raises OrganizationNotFound."""
    for record in list_nondefault_organizations(connection, only_open=False):
        if record.key == key:
            return record
    raise OrganizationNotFound(key)


def insert_organization(connection: sa.Connection, key: str, name: str) -> OrganizationRecord:
    """Add an organization whose tables do not exist yet. Raises OrganizationExists, TooManyOrganizations."""
    if any(record.key == key for record in list_nondefault_organizations(connection, only_open=False)):
        raise OrganizationExists(key)
    insert = f"INSERT INTO {SCHEMA}.organizations (key, name) VALUES (:key, :name) RETURNING number"
    try:
        connection.execute(sa.text(insert), {"key": key, "name": name})
    except sa.exc.DataError as error:
        if isinstance(error.orig, psycopg.errors.SequenceGeneratorLimitExceeded):
            raise TooManyOrganizations(f"{MOST} have been made") from error
        raise
    return load_organization(connection, key)


def set_organization_state(connection: sa.Connection, number: int, state: str) -> None:
    """Note that an organization is open, is being removed, or is gone."""
    removed = ", removed_at = now()" if state == "removed" else ""
    update = f"UPDATE {SCHEMA}.organizations SET state = :state{removed} WHERE number = :number"
    connection.execute(sa.text(update), {"state": state, "number": number})
