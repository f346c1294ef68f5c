"""`plumbline db`: the schema, and backups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.kit import context
from app.storage import backup as backups
from app.storage import migrate
from app.storage.embedded.roles import prepare_serving_role

File = Annotated[Path, typer.Argument(help="The backup: one file, checked by its SHA-256 before anything is restored.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="The schema of the database, and its backups.", no_args_is_help=True)
    for command in (upgrade, check, backup, restore):
        group.command(command.__name__)(command)
    app.add_typer(group, name="db")


def upgrade() -> None:
    """Bring the schema to this version, and grant the serving role what it may do."""
    with context.owner_url() as url:
        prepare_serving_role(url)
        migrate.upgrade_schema(url)
    typer.echo("the schema matches this version")


def check() -> None:
    """Say whether the database has exactly the schema of this version; exit code 2 where it has not."""
    with context.owner_url() as url:
        migrate.check_schema(url)
    typer.echo("the schema matches this version")


def backup(
    file: File,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite an existing file.")] = False,
) -> None:
    """Write one consistent state of the database to a file, while it is in use."""
    with context.owner_url() as url:
        backups.backup_database(url, file, overwrite=overwrite)
    typer.echo(f"{file}: {file.stat().st_size:,} bytes")


def restore(file: File) -> None:
    """Restore a backup into an empty database, all of it or nothing, and bring it to the schema of this version."""
    with context.owner_url() as url:
        backups.restore_database(url, file)
        prepare_serving_role(url)
        migrate.upgrade_schema(url)
    typer.echo("restored")
