"""The media part of a backup: one tar archive with all files known to the database, named by their hashes."""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from app.domain.errors import NotFound
from app.storage.backup import CHUNK, BackupDamaged, BackupExists
from app.storage.embedded.folders import fsync_folder
from app.storage.media.stores import MediaBytesMissing, MediaStore

SUFFIX = ".media.tar"


class MediaMissingFromBackup(NotFound):
    """Some media are not in the backup, because their bytes are not where they were stored."""


@dataclass(frozen=True, slots=True)
class MediaBackupResult:
    """The result of a backup. stored: number of files. missing: hashes of files whose bytes are missing, and why."""

    stored: int
    missing: Mapping[bytes, str]


def backup_media(
    sizes: Mapping[bytes, int], store: MediaStore, file: Path, *, overwrite: bool = False
) -> MediaBackupResult:
    """Write the files with these hashes to an archive of mode 0600, which appears once it is whole and on disk.

    A file whose bytes are missing from the store is left out and reported: one lost file must not prevent the backup of
    all others. Raises BackupExists, unless overwrite is set.
    """
    if file.exists() and not overwrite:
        raise BackupExists(str(file))
    missing: dict[bytes, str] = {}
    scratch = file.with_name(f".{file.name}.{os.urandom(8).hex()}")
    handle = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
                for sha256, size in sorted(sizes.items()):
                    if reason := _add(archive, store, sha256, size):
                        missing[sha256] = reason
            out.flush()
            os.fsync(handle)
        scratch.replace(file)
    finally:
        scratch.unlink(missing_ok=True)
    fsync_folder(file.absolute().parent)
    return MediaBackupResult(len(sizes) - len(missing), missing)


def _add(archive: tarfile.TarFile, store: MediaStore, sha256: bytes, size: int) -> str:
    """Add a file to an archive; if its bytes are not all there, return the reason instead."""
    head = tarfile.TarInfo(sha256.hex())
    head.size = size
    with tempfile.TemporaryFile() as held:
        try:
            for piece in store.read(sha256, 0, size):
                held.write(piece)
        except MediaBytesMissing:
            return "it is not there"
        if held.tell() != size:
            return f"it has {held.tell():,} bytes in place of {size:,}"
        held.seek(0)
        archive.addfile(head, cast("BinaryIO", held))
    return ""


def restore_media(store: MediaStore, file: Path) -> int:
    """Store the files of an archive again; return their number. Raises BackupDamaged if one does not fit its name."""
    n = 0
    try:
        with tarfile.open(file, "r:") as archive:
            for head in archive:
                content = archive.extractfile(head) if head.isreg() else None
                if content is None:
                    raise BackupDamaged(f"{head.name} is no file")
                _restore_file(store, head.name, cast("BinaryIO", content))
                n += 1
    except (tarfile.TarError, EOFError) as error:
        raise BackupDamaged(str(error)) from None
    return n


def _restore_file(store: MediaStore, name: str, content: BinaryIO) -> None:
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile() as held:
        while block := content.read(CHUNK):
            digest.update(block)
            held.write(block)
        held.flush()
        if digest.hexdigest() != name:
            raise BackupDamaged(f"{name} has another hash")
        store.put(Path(held.name), digest.digest())
