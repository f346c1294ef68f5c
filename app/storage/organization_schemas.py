"""Create the schema of an organization with all its tables, and remove it; only the owner can do this."""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg
import sqlalchemy as sa

from app.storage import citus_distribution, migrate, organization_list
from app.storage.current_organization import DEFAULT, SPAN, organization_schema
from app.storage.migrate import LockedMigrationConnection
from app.storage.organization_list import KNOWN_FOR, OrganizationRecord, SchemaCreationNotAllowed
from app.storage.queue_schema import SCHEMA as QUEUE
from app.storage.serving_rights import grant_rights_to_serving_role


def add_organization(
    url: str, key: str, name: str, *, prepare: Callable[[int], None] = lambda _: None
) -> OrganizationRecord:
    """Create an organization. If an earlier attempt was interrupted, complete it under its original name.

    prepare: further work needed to create it, called with its number; repeated after an interruption.

    Raises SchemaBehind, OrganizationExists, SchemaCreationNotAllowed, TooManyOrganizations.
    """
    with LockedMigrationConnection(url) as connection:
        migrate.require_head_revision(connection)
        organization_list.ensure_organization_list(connection)
        grant_rights_to_serving_role(connection, DEFAULT)
        begun = [
            one
            for one in organization_list.list_nondefault_organizations(connection, only_open=False)
            if one.key == key
        ]
        record = begun[0] if begun and begun[0].state == "preparing" else None
        record = record or organization_list.insert_organization(connection, key, name)
        try:
            connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {organization_schema(record.number)}"))
        except sa.exc.ProgrammingError as error:
            if isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
                raise SchemaCreationNotAllowed from error
            raise
        connection.commit()
    migrate.upgrade_organization_schema(url, record.number)
    place_organization_on_citus_node(url, record.number)
    prepare(record.number)
    with LockedMigrationConnection(url) as connection:
        organization_list.set_organization_state(connection, record.number, "open")
        connection.commit()
        return organization_list.load_organization(connection, key)


def place_organization_on_citus_node(url: str, number: int) -> bool:
    """Put the tables of an organization on a Citus node, if the server has Citus; return whether they were moved."""
    with LockedMigrationConnection(url, number) as connection:
        done = citus_distribution.distribute_organization_schema(connection, number)
        connection.commit()
        return done


def remove_organization(url: str, key: str, *, patience: float | None = None) -> None:
    """Delete an organization with all its data, permanently; call it again after an interruption.

    patience: seconds until no process serves it any longer; None: `KNOWN_FOR`.

    Raises OrganizationNotFound, and DatabaseBusy if another transaction still reads its tables.
    """
    with LockedMigrationConnection(url) as connection:
        number = organization_list.load_organization(connection, key).number
        organization_list.set_organization_state(connection, number, "removing")
        connection.commit()
        time.sleep(KNOWN_FOR if patience is None else patience)
        connection.execute(sa.text("SET LOCAL lock_timeout = '5s'"))
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {organization_schema(number)} CASCADE"))
        connection.execute(sa.text(f"SET LOCAL search_path = {QUEUE}"))  # its triggers name no schema
        gone = "DELETE FROM procrastinate_jobs WHERE (args->>'job')::bigint BETWEEN :first AND :last"
        connection.execute(sa.text(gone), {"first": number * SPAN, "last": (number + 1) * SPAN - 1})
        organization_list.set_organization_state(connection, number, "removed")
        connection.commit()
