"""The database roles: one owns the schema and migrates it, the other serves and has fewer rights."""

from __future__ import annotations

import psycopg
from psycopg import errors, sql

from app.storage.db import APP_ROLE
from app.storage.embedded.settings import APP, DATABASE, OWNER

_ROLES_LOCK = 7_215_340_912


def find_or_create_serving_role(url: str) -> str | None:
    """Return the role to serve under, created if missing; None to serve as the owner. url: the owner's.

    The result is None if the owner may neither create roles nor act as this role. Everything then works, but only the
    triggers keep tables append-only.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [_ROLES_LOCK])
        if not _may_act(connection):
            try:
                if not _exists(connection, APP_ROLE):
                    connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(APP_ROLE)))
                connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(APP_ROLE)))
            except (errors.InsufficientPrivilege, errors.DuplicateObject, errors.UniqueViolation):
                pass  # the code below checks whether it worked anyway
        return APP_ROLE if _may_act(connection) else None


def _may_act(connection: psycopg.Connection) -> bool:
    if not _exists(connection, APP_ROLE):
        return False
    try:
        with connection.transaction():
            connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(APP_ROLE)))
    except errors.InsufficientPrivilege:
        return False
    return True


def _exists(connection: psycopg.Connection, role: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone() is not None


def ensure_roles_and_database(admin_url: str, passwords: dict[str, str]) -> None:
    """Create the two login roles and the database of an embedded cluster, if they are missing.

    The owner acts as the serving role with SET ROLE; the serving role can also log in by itself. Neither is a
    superuser, and neither can create roles or databases.
    """
    with psycopg.connect(admin_url, autocommit=True) as connection:
        for role in (OWNER, APP):
            if not _exists(connection, role):
                create = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD {}")
                connection.execute(create.format(sql.Identifier(role), sql.Literal(passwords.get(role))))
        connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(APP), sql.Identifier(OWNER)))
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0").format(
                    sql.Identifier(DATABASE), sql.Identifier(OWNER)
                )
            )
