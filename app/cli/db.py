"""`plumbline db`: the schema, and backups."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from app.cli.kit import command_database
from app.config import Settings, make_media_settings
from app.domain.errors import Place
from app.services.every_organization import list_open_organization_numbers
from app.storage import backup as backups
from app.storage import migrate
from app.storage.current_organization import DEFAULT, use_organization
from app.storage.db import Database
from app.storage.embedded.roles import find_or_create_serving_role
from app.storage.media import backup as media_backups
from app.storage.media import media_queries
from app.storage.organization_list import list_nondefault_organizations

_ABOUT_MISSING = (
    "the database and all other media are saved. Check that PLUMBLINE_DATA_DIR and PLUMBLINE_MEDIA_STORE are those of "
    "the server. If they are, add each file again (plumbline media add CAMPAIGN FILE) and repeat the backup; "
    "--without-media leaves media out"
)
File = Annotated[Path, typer.Argument(help="The backup: one file, checked by its SHA-256 before anything is restored.")]


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Upgrade, check, back up and restore the database.", no_args_is_help=True)
    group.command("upgrade")(upgrade_database)
    group.command("check")(check_schema_version)
    group.command("backup")(backup_database)
    group.command("restore")(restore_database)
    app.add_typer(group, name="db")


def upgrade_database() -> None:
    """Upgrade the schema to this version, and grant the serving role its rights."""
    with command_database.provide_owner_database_url() as url:
        find_or_create_serving_role(url)
        migrate.upgrade_schema(url)
    typer.echo("the schema matches this version")


def check_schema_version(
    or_later: Annotated[
        bool,
        typer.Option("--or-later", help="Also accept the schema of a later version, which this version can serve."),
    ] = False,
) -> None:
    """Check whether the database has exactly the schema of this version. Exit code 2 if it does not."""
    with command_database.provide_owner_database_url() as url:
        migrate.check_schema(url, or_later=or_later)
    typer.echo("this version can serve the schema" if or_later else "the schema matches this version")


def backup_database(
    file: File,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite an existing file.")] = False,
    without_media: Annotated[
        bool, typer.Option("--without-media", help="Leave out media, for example if their store has its own backup.")
    ] = False,
) -> None:
    """Write one consistent state of the database to a file, while it is in use; media go to FILE.media.tar."""
    with command_database.provide_owner_database_url() as url:
        backups.backup_database(url, file, overwrite=overwrite)
        typer.echo(f"{file}: {file.stat().st_size:,} bytes")
        if not without_media:
            _backup_media(url, file, overwrite=overwrite)


def _backup_media(url: str, file: Path, *, overwrite: bool) -> None:
    """Back up media after the database, so that they include every file in its backup; nothing if there are none.

    Raises MediaMissingFromBackup, with each missing file, after the archive has been written.
    """
    beside = file.with_name(file.name + media_backups.SUFFIX)
    sizes: dict[bytes, int] = {}
    with closing(Database(url, size=2)) as database:
        for number in list_open_organization_numbers(database):
            with use_organization(number), database.transaction() as session:
                sizes |= media_queries.load_media_sizes_by_hash(session)
        if not sizes:
            return
        store = make_media_settings(Settings.load()).require_store()
        made = media_backups.backup_media(sizes, store, beside, overwrite=overwrite)
        typer.echo(f"{beside}: {made.stored:,} files of media, {beside.stat().st_size:,} bytes")
        if made.missing:
            raise media_backups.MediaMissingFromBackup(_ABOUT_MISSING, places=_list_missing(database, made.missing))


def _list_missing(database: Database, missing: Mapping[bytes, str]) -> tuple[Place, ...]:
    """Return campaign and name of files with these bytes, preceded by the organization unless it is the default."""
    with use_organization(DEFAULT), database.transaction() as session:
        keys = {one.number: one.key for one in list_nondefault_organizations(session)}
    places = []
    for number in (DEFAULT, *keys):
        with use_organization(number), database.transaction() as session:
            organization = (keys[number],) if number in keys else ()
            places += [
                Place((*organization, row.key, row.name), missing[bytes(row.sha256)])
                for row in media_queries.load_media_by_hashes(session, list(missing))
            ]
    return tuple(places)


def restore_database(file: File) -> None:
    """Restore a backup into an empty database, completely or not at all, and upgrade it to this version's schema."""
    with command_database.provide_owner_database_url() as url:
        beside = file.with_name(file.name + media_backups.SUFFIX)
        if beside.exists():  # before the database, which must still be empty, so that this can be repeated
            n = media_backups.restore_media(make_media_settings(Settings.load()).require_store(), beside)
            typer.echo(f"{n:,} files of media restored")
        backups.restore_database(url, file)
        find_or_create_serving_role(url)
        migrate.upgrade_schema(url)
    typer.echo("restored")
