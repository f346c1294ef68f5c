"""`plumbline bundle` and `release`: everything in a campaign that can be published, and its verification."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from app.cli.kit import command_database
from app.cli.kit.bundles import print_bundle_verification, verify_and_reproduce_bundle
from app.cli.kit.files import write_file_atomically, write_files_to_new_folder
from app.client import remote_server as _remote
from app.config import Settings, make_media_settings
from app.domain.errors import Invalid, Place
from app.services.data import bundle as bundles
from app.services.data import bundle_check

VERIFY = "verify"


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("bundle")(write_or_verify_bundle)
    app.command("release")(write_release_folder)


def write_or_verify_bundle(
    campaign: Annotated[str, typer.Argument(help=f"Key of the campaign; or {VERIFY}, followed by a bundle.")],
    file: Annotated[Path | None, typer.Argument(help=f"With {VERIFY}: a bundle or an unpacked bundle folder.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The archive to write.")] = None,
    server: _remote.Server = None,
) -> None:
    """Write the release bundle of a campaign as a tar archive; or check one and rank it again.

    `plumbline bundle verify FILE` needs no database: it starts an empty one and stops it at the end.
    """
    if campaign == VERIFY and file is not None:
        print_bundle_verification(verify_and_reproduce_bundle(file))
        return
    if file is not None:
        raise Invalid("the options are not valid", places=(Place(("FILE",), f"goes with {VERIFY}; write with -o"),))
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        write_file_atomically(_archive(remote, campaign), output)
        return
    with command_database.upgrade_and_open_database() as database:
        write_file_atomically(
            bundles.stream_bundle_archive(database, campaign, make_media_settings(Settings.load()).store), output
        )


def write_release_folder(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder, new or empty.")],
    server: _remote.Server = None,
) -> None:
    """Fill a folder with the release bundle of a campaign, and verify it."""
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        write_files_to_new_folder(fetch_bundle_files(remote, campaign), output)
    else:
        with command_database.upgrade_and_open_database() as database:
            write_files_to_new_folder(
                bundles.make_bundle_files(database, campaign, make_media_settings(Settings.load()).store), output
            )
    print_bundle_verification(verify_and_reproduce_bundle(output))


def fetch_bundle_files(remote: _remote.RemoteServer, campaign: str) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield the files of a server's archive, after it has been downloaded completely and checked.

    Raises ServerRefusal, ServerUnreachable, BundleAltered.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-") as name:
        archive, folder = Path(name) / "bundle.tar", Path(name) / "bundle"
        write_file_atomically(_archive(remote, campaign), archive)
        folder.mkdir()
        bundle_check.unpack_bundle(archive, folder)
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            with file.open("rb") as content:
                yield file.relative_to(folder).as_posix(), iter(lambda: content.read(_remote.PIECE), b"")


def _archive(remote: _remote.RemoteServer, campaign: str) -> Iterator[bytes]:
    return remote.stream_body(f"/v1/campaigns/{quote(campaign, safe='')}/exports/{bundles.NAME}")
