"""Back up a database to one file, and restore it from there.

The file is in pg_dump's custom format, followed by a trailer of fixed length with the length and the SHA-256 of the
dump. So a truncated or altered file is detected before anything is restored.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.domain.errors import AppError, Conflict, Invalid
from app.storage.db import translate_database_errors
from app.storage.embedded.binaries import find_client_program_folder
from app.storage.embedded.folders import fsync_folder

CHUNK = 1 << 20
_TRAILER = "\nplumbline-backup 1 {length:020d} {digest}\n"
_TRAILER_LENGTH = len(_TRAILER.format(length=0, digest="0" * 64))

_CONTENT = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
  AND n.nspname NOT LIKE 'pg\\_temp%'
  AND NOT EXISTS (
      SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype = 'e')
"""
_WITH_CITUS = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
_EXTENSIONS_LEFT_OUT = 17
"""The first pg_dump that can leave out extensions: these belong to the administrator, as do their comments."""
_UNDISTRIBUTED = "-c citus.enable_ddl_propagation=off"
"""Restored tables belong to the coordinator until their organization is distributed."""


class BackupExists(Conflict):
    """A file of this name exists already."""


class BackupDamaged(Invalid):
    """This backup is truncated or altered; nothing was restored."""


class DatabaseNotEmpty(Conflict):
    """A backup can be restored only into an empty database."""


class BackupFailed(AppError):
    """The backup or restore failed; nothing was changed."""


def backup_database(url: str, file: Path, *, bin_dir: Path | None = None, overwrite: bool = False) -> None:
    """Write one consistent state of the database to a file of mode 0600; it appears once it is whole and on disk.

    Raises BackupExists, unless overwrite is set; PostgresNotFound without a suitable pg_dump; BackupFailed.
    """
    if file.exists() and not overwrite:
        raise BackupExists(str(file))
    major = _server_major(url)
    program = find_client_program_folder(major, bin_dir) / "pg_dump"
    # Unlogged tables hold data that can be recreated: stored responses, which another database must not return.
    options = ["--format=custom", "--no-owner", "--no-privileges", "--no-password", "--no-unlogged-table-data"]
    options += ["--exclude-extension=*"] if major >= _EXTENSIONS_LEFT_OUT else []
    scratch = file.with_name(f".{file.name}.{os.urandom(8).hex()}")
    handle = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            with _client(program, options, url, stdout=subprocess.PIPE) as process:
                _copy_with_trailer(cast("IO[bytes]", process.stdout), out)
            out.flush()
            os.fsync(handle)
        _publish(scratch, file, overwrite=overwrite)
    finally:
        scratch.unlink(missing_ok=True)
    fsync_folder(file.absolute().parent)


def _publish(scratch: Path, file: Path, *, overwrite: bool) -> None:
    if overwrite:
        scratch.replace(file)
        return
    try:
        file.hardlink_to(scratch)  # unlike a rename, this refuses an existing file
    except FileExistsError as error:
        raise BackupExists(str(file)) from error


def _copy_with_trailer(source: IO[bytes], out: BinaryIO) -> None:
    digest, length = hashlib.sha256(), 0
    while block := source.read(CHUNK):
        digest.update(block)
        length += len(block)
        out.write(block)
    out.write(_TRAILER.format(length=length, digest=digest.hexdigest()).encode("ascii"))


def restore_database(url: str, file: Path, *, bin_dir: Path | None = None) -> None:
    """Restore a backup into an empty database: everything or nothing.

    A backup contains no owners and privileges: the connecting role owns the restored objects, and the next schema
    upgrade grants the serving role its privileges.

    Raises BackupDamaged, DatabaseNotEmpty, PostgresNotFound or BackupFailed.
    """
    with _open_backup(file) as source:
        length = verify_backup_and_measure_dump(source)
        major = _server_major(url)
        with_citus = _require_empty(url)
        program = find_client_program_folder(major, bin_dir) / "pg_restore"
        options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", "--no-password"]
        source.seek(0)
        settings = _UNDISTRIBUTED if with_citus else ""
        with _client(program, options, url, settings=settings, stdin=subprocess.PIPE) as process:
            _feed(source, length, cast("IO[bytes]", process.stdin))


@contextmanager
def _open_backup(file: Path) -> Iterator[BinaryIO]:
    try:
        source = file.open("rb")
    except OSError as error:
        raise Invalid(f"{file}: {error.strerror}") from error
    with source:
        yield source


def verify_backup_and_measure_dump(source: BinaryIO) -> int:
    """Verify the checksum of an opened backup, and return the length of its dump.

    Raises BackupDamaged.
    """
    length = source.seek(0, os.SEEK_END) - _TRAILER_LENGTH
    if length < 0:
        raise BackupDamaged("it is too short")
    source.seek(0)
    digest, rest = hashlib.sha256(), length
    while rest and (block := source.read(min(CHUNK, rest))):
        digest.update(block)
        rest -= len(block)
    if source.read() != _TRAILER.format(length=length, digest=digest.hexdigest()).encode("ascii"):
        raise BackupDamaged("its checksum does not fit")
    return length


def _feed(source: BinaryIO, length: int, sink: IO[bytes]) -> None:
    try:
        while length and (block := source.read(min(CHUNK, length))):
            sink.write(block)
            length -= len(block)
    except BrokenPipeError:
        pass  # the program has ended with an error, which its caller reports
    finally:
        with suppress(BrokenPipeError):
            sink.close()


def _require_empty(url: str) -> bool:
    """Tell whether the database has Citus. Raises DatabaseNotEmpty if it has any objects of its own."""
    with translate_database_errors(), psycopg.connect(_libpq(url)) as connection:
        row = connection.execute(_CONTENT).fetchone()
        citus = connection.execute(_WITH_CITUS).fetchone()
    if row and row[0]:
        raise DatabaseNotEmpty(f"it holds {row[0]} tables, indexes or sequences")
    return bool(citus and citus[0])


def _server_major(url: str) -> int:
    with translate_database_errors(), psycopg.connect(_libpq(url)) as connection:
        return connection.info.server_version // 10_000


def _libpq(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


@contextmanager
def _client(
    program: Path,
    options: list[str],
    url: str,
    *,
    settings: str = "",
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Postgres client. The password is in the environment, because every user can read a command line.

    Raises BackupFailed with the client's message if the client fails. If our code fails, it kills the client.
    """
    parameters = conninfo_to_dict(_libpq(url))
    secret = parameters.pop("password", None)
    if settings:
        parameters["options"] = f"{parameters.get('options', '')} {settings}".strip()
    environment = {**os.environ, **({"PGPASSWORD": str(secret)} if secret else {})}
    command = [str(program), *options, f"--dbname={make_conninfo('', **parameters)}"]
    with (
        tempfile.TemporaryFile() as messages,
        subprocess.Popen(command, env=environment, stdin=stdin, stdout=stdout, stderr=messages) as process,
    ):
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        if process.wait() != 0:
            messages.seek(0)
            lines = messages.read().decode("utf-8", "replace").strip().splitlines()
            raise BackupFailed(
                f"{program.name}: {' | '.join(([line for line in lines if 'error:' in line] or lines)[-3:])}"
            )
