"""Release bundles given to commands, as archives or folders: checked, and ranked again in an empty database."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.domain.errors import Invalid, Place
from app.services.data import bundle_check
from app.services.data.bundle_check import BundleVerification
from app.storage import embedded, migrate
from app.storage.db import APP_ROLE, Database
from app.storage.embedded.roles import find_or_create_serving_role


@contextmanager
def verify_and_open_bundle(path: Path) -> Iterator[Path]:
    """Open an archive or a folder; yield a folder whose files are the same as in the release.

    Raises Invalid if there is no such file, and BundleAltered with the name of a file that was changed.
    """
    if path.is_dir():
        bundle_check.check_bundle_checksums(path)
        yield path
    elif path.is_file():
        with tempfile.TemporaryDirectory(prefix="plumbline-") as name:
            bundle_check.unpack_bundle(path, Path(name))
            yield Path(name)
    else:
        raise Invalid("a bundle cannot be read", places=(Place((str(path),), "there is no such file"),))


def verify_and_reproduce_bundle(path: Path) -> BundleVerification:
    """Check an archive or a folder, then import and rank it in an empty database.

    Raises as `verify_and_open_bundle`.
    """
    with verify_and_open_bundle(path) as folder, tempfile.TemporaryDirectory(prefix="plumbline-") as name:
        Path(name).chmod(0o755)  # under root, another user runs the database server
        with _empty(Path(name) / "data") as database:
            return bundle_check.reproduce_bundle(folder, database)


@contextmanager
def _empty(folder: Path) -> Iterator[Database]:
    """Start an empty database that lasts as long as it is in use."""
    with embedded.start_server(folder) as server:
        url = server.url("owner")
        role = find_or_create_serving_role(url)
        migrate.upgrade_schema(url)
        handle = Database(url, size=2, role=role and APP_ROLE)
        try:
            yield handle
        finally:
            handle.close()


def print_bundle_verification(verification: BundleVerification) -> None:
    """Print the result of a verification on standard output."""
    ranked = ", ".join(verification.rankings) or "no recipe, because nothing could be ranked"
    sys.stdout.write(f"{verification.campaign}: {verification.files:,} files are unchanged since release\n")
    for what in verification.beside:
        sys.stdout.write(f"{what}: as released; it also describes things outside the data, such as the plan\n")
    sys.stdout.write(f"{verification.judgments:,} judgments, imported again, give identical rankings by {ranked}\n")
