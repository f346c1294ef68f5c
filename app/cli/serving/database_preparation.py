"""Preparation of a database before it is served: checks, schema, and the link of the first admin."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from app.services.access import tokens
from app.storage import embedded
from app.storage.db import APP_ROLE, Database, Session, translate_database_errors
from app.storage.embedded.roles import find_or_create_serving_role
from app.storage.schema_revisions import is_schema_current_at_url
from app.storage.server_checks import check_server_at_url

LINK_FILE = "first-admin-link"
ENDS = "It expires in a day. Use it to create your own token under Tokens; otherwise the next start creates a new link."


def prepare_database(url: str, *, upgrade: bool) -> str | None:
    """Make a database ready to be served: durable, with this or a later version's schema; return the serving role.

    Raises ServerNotDurable, PostgresTooOld, or SchemaBehind if the schema must not be upgraded.
    """
    check_server_at_url(url)
    role = APP_ROLE if find_or_create_serving_role(url) else None
    check_server_at_url(url, serving_role=role)
    if not (upgrade and is_schema_current_at_url(url)):
        from app.storage import migrate  # this import loads Alembic, which few starts need

        if upgrade:
            migrate.upgrade_schema(url)
        else:
            migrate.check_schema(url, or_later=True)
    return role


def prepare_database_and_print_address(url: str, origin: str, data_dir: Path, *, upgrade: bool) -> str | None:
    """Prepare the database, then print its address; return the serving role. Raises the errors of both steps."""
    with translate_database_errors():
        role = prepare_database(url, upgrade=upgrade)
        print_address_and_admin_link(url, role, origin, data_dir)
        return role


def print_address_and_admin_link(url: str, role: str | None, origin: str, data_dir: Path) -> None:
    """Print the service's address and, if there is no admin yet, how to become one.

    The link is a secret: it is printed to a terminal, else written to a file that only we can read, and never logged.
    """
    database = Database(url, size=2, role=role)
    try:
        with database.transaction() as session:
            _forget_ended(session, data_dir / LINK_FILE)
            issued = tokens.create_first_admin_token(session)
            link = f"{origin}/#token={issued.secret}" if issued else None
            # Within the transaction: a link that could not be delivered is no valid credential.
            shown = _hand_over(link, data_dir) if link else None
    finally:
        database.close()
    typer.echo(f"Plumbline at {origin} (documentation of the interface: {origin}/docs)")
    if shown:
        typer.echo(shown)


def _forget_ended(session: Session, file: Path) -> None:
    """Remove the file with a first admin's link that is no longer valid."""
    try:
        tokens.authenticate_secret(session, file.read_text().strip().partition("#token=")[2])
    except tokens.BadCredential:
        file.unlink(missing_ok=True)
    except FileNotFoundError:
        pass


def _hand_over(link: str, data_dir: Path) -> str:
    if sys.stdout.isatty():
        return f"First admin: {link}\n{ENDS}"
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    embedded.write_private_file(data_dir / LINK_FILE, f"{link}\n")
    return f"The link of the first admin is in {data_dir / LINK_FILE}\n{ENDS}"
