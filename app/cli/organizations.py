"""`plumbline organizations`: the organizations that share this installation."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from typing import Annotated

import typer
from rich.console import Console

from app.cli.kit import command_database
from app.cli.kit.output_formats import Json, write_to_stdout
from app.cli.kit.terminal import make_rich_table
from app.domain.errors import Invalid, Place
from app.domain.keys import is_valid_organization_key
from app.reports.kit.table import Table
from app.services.access import tokens
from app.storage import citus_distribution, organization_list, organization_schemas
from app.storage.citus_distribution import CitusMissing
from app.storage.current_organization import use_organization
from app.storage.db import Database
from app.storage.embedded.roles import find_or_create_serving_role
from app.storage.migrate import LockedMigrationConnection

LONGEST_NAME = 200
Organization = Annotated[str, typer.Argument(help="Key of the organization.")]


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Organizations that share this installation.", no_args_is_help=True)
    group.command("add")(add_organization)
    group.command("list")(list_organizations)
    group.command("distribute")(move_organization_to_node)
    group.command("remove")(remove_organization)
    app.add_typer(group, name="organizations")


def add_organization(
    organization: Organization,
    name: Annotated[str | None, typer.Option(help="Name that people see; default: its key.")] = None,
) -> None:
    """Create an organization with its own tables. If the command was interrupted, run it again."""
    if not is_valid_organization_key(organization):
        why = "at most 63 lower-case letters, digits and hyphens, with no hyphen first"
        raise Invalid("this cannot be a key", places=(Place(("organization",), why),))
    name = name or organization
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(places=(Place(("--name",), f"must be at most {LONGEST_NAME} printable characters"),))
    with command_database.provide_owner_database_url() as url:
        find_or_create_serving_role(url)
        organization_schemas.add_organization(url, organization, name, prepare=partial(_issue_owner_token, url))
    typer.echo(f"{organization} is ready")


def _issue_owner_token(url: str, number: int) -> None:
    with closing(Database(url, size=2)) as database, use_organization(number), database.transaction() as session:
        issued = tokens.create_first_admin_token(session)
        if issued is not None:  # printed within the transaction: if printing fails, there is no token
            typer.echo(f"Its owner's token, for one day: {issued.secret}")


def list_organizations(as_json: Json = False) -> None:
    """List organizations by number, without the default one, which has no number."""
    with command_database.provide_owner_database_url() as url, LockedMigrationConnection(url) as connection:
        records = organization_list.list_nondefault_organizations(connection, only_open=False)
    if as_json:
        items = [{"key": r.key, "name": r.name, "state": r.state, "made": r.created_at.isoformat()} for r in records]
        write_to_stdout([json.dumps({"items": items, "next": None}, ensure_ascii=False).encode()])
        return
    rows = tuple((str(r.number), r.key, r.name, r.state, f"{r.created_at:%Y-%m-%d %H:%M}") for r in records)
    shown = Table(("Number", "Key", "Name", "State", "Made"), ("right", "left", "left", "left", "left"), rows)
    Console().print(make_rich_table(shown, f"{len(records)} organizations"))


def move_organization_to_node(organization: Organization) -> None:
    """Move an organization that is older than Citus to one of its nodes. Nobody can write to it meanwhile."""
    with command_database.provide_owner_database_url() as url:
        with LockedMigrationConnection(url) as connection:
            number = organization_list.load_organization(connection, organization).number
            if not citus_distribution.has_citus(connection):
                raise CitusMissing
        done = organization_schemas.place_organization_on_citus_node(url, number)
    typer.echo(f"{organization} is on a node" if done else f"{organization} was on a node already")


def remove_organization(
    organization: Organization,
    confirmed: Annotated[
        bool, typer.Option("--with-all-data", help="Confirm that all its data are to be deleted.")
    ] = False,
) -> None:
    """Delete an organization with all its campaigns, judgments and people, for good."""
    if not confirmed:
        why = "write --with-all-data: its campaigns, judgments and people are deleted, and only a backup has them then"
        raise Invalid("this deletes everything", places=(Place(("--with-all-data",), why),))
    with command_database.provide_owner_database_url() as url:
        organization_schemas.remove_organization(url, organization)
    typer.echo(f"{organization} is removed")
