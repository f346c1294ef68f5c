"""`plumbline bundle` and `release`: everything about a campaign that can be published, and whether it holds."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from app.cli.kit import context
from app.cli.kit.files import fill_folder, write_file
from app.client import remote as _remote
from app.config import Settings, media_policy
from app.domain.errors import Invalid, Place
from app.services.data import bundle as bundles
from app.services.data import bundle_check
from app.services.data.bundle_check import BundleVerification
from app.storage import embedded, migrate
from app.storage.db import APP_ROLE, Database
from app.storage.embedded.roles import prepare_serving_role

VERIFY = "verify"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("bundle")(bundle)
    app.command("release")(release)


def bundle(
    campaign: Annotated[str, typer.Argument(help=f"Key of the campaign; or {VERIFY}, followed by a bundle.")],
    file: Annotated[Path | None, typer.Argument(help=f"With {VERIFY}: a bundle or an unpacked bundle folder.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The archive to write.")] = None,
    server: _remote.Server = None,
) -> None:
    """Write the release bundle of a campaign as a tar archive; or check one and rank it again.

    `plumbline bundle verify FILE` needs no database of yours: it starts an empty one, and ends it.
    """
    if campaign == VERIFY and file is not None:
        _print_verification(_verify_bundle(file))
        return
    if file is not None:
        raise Invalid("the options are not valid", places=(Place(("FILE",), f"goes with {VERIFY}; write with -o"),))
    if (remote := _remote.find_configured_remote(server)) is not None:
        write_file(_archive(remote, campaign), output)
        return
    with context.database() as database:
        write_file(bundles.stream_bundle_archive(database, campaign, media_policy(Settings.load()).store), output)


def release(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder, new or empty.")],
    server: _remote.Server = None,
) -> None:
    """Fill a folder with the release bundle of a campaign, and verify it."""
    if (remote := _remote.find_configured_remote(server)) is not None:
        fill_folder(fetch_archive(remote, campaign), output)
    else:
        with context.database() as database:
            fill_folder(bundles.make_bundle_files(database, campaign, media_policy(Settings.load()).store), output)
    _print_verification(_verify_bundle(output))


def fetch_archive(remote: _remote.Remote, campaign: str) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The files of a server's archive, once it is here and as it was made.

    Raises ServerRefusal, ServerUnreachable, Altered.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-") as name:
        archive, folder = Path(name) / "bundle.tar", Path(name) / "bundle"
        write_file(_archive(remote, campaign), archive)
        folder.mkdir()
        bundle_check.unpack_bundle(archive, folder)
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            with file.open("rb") as content:
                yield file.relative_to(folder).as_posix(), iter(lambda: content.read(_remote.PIECE), b"")


def _archive(remote: _remote.Remote, campaign: str) -> Iterator[bytes]:
    return remote.pieces(f"/v1/campaigns/{quote(campaign, safe='')}/exports/{bundles.NAME}")


def _verify_bundle(given: Path) -> BundleVerification:
    """Check an archive or a folder, then import and rank it in an empty database."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as name:
        Path(name).chmod(0o755)  # under root another user runs the server
        folder = given
        if given.is_dir():
            bundle_check.check_bundle_folder(given)
        elif given.is_file():
            folder = Path(name) / "bundle"
            folder.mkdir()
            bundle_check.unpack_bundle(given, folder)
        else:
            raise Invalid("a bundle cannot be read", places=(Place((str(given),), "there is no such file"),))
        with _empty(Path(name) / "data") as database:
            return bundle_check.reproduce_bundle(folder, database)


@contextmanager
def _empty(folder: Path) -> Iterator[Database]:
    """A database with nothing in it, as long as it is in use."""
    with embedded.start_server(folder) as server:
        url = server.url("owner")
        role = prepare_serving_role(url)
        migrate.upgrade_schema(url)
        handle = Database(url, size=2, role=role and APP_ROLE)
        try:
            yield handle
        finally:
            handle.close()


def _print_verification(verified: BundleVerification) -> None:
    ranked = ", ".join(verified.rankings) or "no recipe, because nothing could be ranked"
    sys.stdout.write(f"{verified.campaign}: {verified.files:,} files are unchanged since release\n")
    for what in verified.beside:
        sys.stdout.write(f"{what}: as released; it also describes things outside the data, such as the plan\n")
    sys.stdout.write(f"{verified.judgments:,} judgments, imported again, rank to identical numbers by {ranked}\n")
