"""Media beside a backup of the database: one tar archive of all files that the database knows, each by its hash."""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, cast

from app.domain.errors import Invalid
from app.storage.backup import CHUNK, BackupDamaged, BackupExists
from app.storage.embedded.folders import sync_folder
from app.storage.media.files import MediaStore

SUFFIX = ".media.tar"


def backup_media(sizes: Mapping[bytes, int], store: MediaStore, file: Path, *, overwrite: bool = False) -> int:
    """Write files by their hashes; how many. A file of mode 0600, which appears when it is whole and on disk.

    Raises BackupExists, unless overwriting is asked for, and MediaBytesMissing for one that is not where it was stored.
    """
    if file.exists() and not overwrite:
        raise BackupExists(str(file))
    scratch = file.with_name(f".{file.name}.{os.urandom(8).hex()}")
    handle = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
                for sha256, size in sorted(sizes.items()):
                    _add(archive, store, sha256, size)
            out.flush()
            os.fsync(handle)
        scratch.replace(file)
    finally:
        scratch.unlink(missing_ok=True)
    sync_folder(file.absolute().parent)
    return len(sizes)


def _add(archive: tarfile.TarFile, store: MediaStore, sha256: bytes, size: int) -> None:
    head = tarfile.TarInfo(sha256.hex())
    head.size = size
    with tempfile.TemporaryFile() as held:
        for piece in store.read(sha256, 0, size):
            held.write(piece)
        if held.tell() != size:
            raise Invalid(f"the stored file {sha256.hex()} has {held.tell()} bytes in place of {size}")
        held.seek(0)
        archive.addfile(head, cast("BinaryIO", held))


def restore_media(store: MediaStore, file: Path) -> int:
    """Store all files of an archive again; how many. Raises BackupDamaged where one is not what its name says."""
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
