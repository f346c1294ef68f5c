"""The roles in the database: one owns the schema and migrates it, one serves and can do less."""

from __future__ import annotations

import psycopg
from psycopg import errors, sql

from app.storage.db import APP_ROLE
from app.storage.embedded.settings import APP, DATABASE, OWNER

_ROLES_LOCK = 7_215_340_912


def prepare_serving_role(url: str) -> str | None:
    """The role to serve under after connecting with the owner's URL, made if it is missing; None to serve as the owner.

    None is the answer of a server whose owner may neither create roles nor act as this one: everything works, and
    append-only rests on the triggers alone.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [_ROLES_LOCK])
        if not _may_act(connection):
            try:
                if not _exists(connection, APP_ROLE):
                    connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(APP_ROLE)))
                connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(APP_ROLE)))
            except (errors.InsufficientPrivilege, errors.DuplicateObject, errors.UniqueViolation):
                pass  # whether it worked out all the same is asked below
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


def create_roles_and_database(admin_url: str, passwords: dict[str, str]) -> None:
    """Make the two login roles and the database of an embedded cluster, as far as they are missing.

    The owner acts as the serving role with SET ROLE; the serving role can also log in by itself. Neither is a
    superuser, creates roles or creates databases.
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
