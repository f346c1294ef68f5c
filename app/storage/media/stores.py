"""Stores for the bytes of media: files named by their hash, in a folder or in a remote store."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from app.domain.errors import Conflict, NotFound
from app.storage.embedded.folders import fsync_folder

PIECE = 1 << 18
_NAME = re.compile("[0-9a-f]{64}")


class MediaBytesMissing(NotFound):
    """The file is known, but its bytes are not where they are stored; restore them from a backup."""


class MediaStoreNotConfigured(Conflict):
    """This installation has no place for media; set PLUMBLINE_DATA_DIR or PLUMBLINE_MEDIA_STORE."""

    published = "NoMediaStore"


class MediaStore(Protocol):
    """A store of files by the SHA-256 of their bytes. A stored file never changes."""

    def put(self, source: Path, sha256: bytes) -> None:
        """Store a file; an existing one stays. The source stays as well."""

    def read(self, sha256: bytes, start: int, length: int) -> Iterator[bytes]:
        """Yield a file's bytes in pieces from a position on. Raises MediaBytesMissing before the first piece."""

    def remove(self, sha256: bytes) -> None:
        """Delete a file; do nothing if it does not exist."""

    def list_hashes_with_times(self) -> Iterator[tuple[bytes, float]]:
        """Yield the hash of each stored file with the time of its arrival, in seconds since 1970."""


class FolderMediaStore:
    """A store in a folder: `ab/abcd…`, by the hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, sha256: bytes) -> Path:
        """Return the path of a file."""
        name = sha256.hex()
        return self.folder / name[:2] / name

    def put(self, source: Path, sha256: bytes) -> None:
        """Store a copy, which is on disk before it gets its name."""
        path = self.path(sha256)
        if path.exists():
            os.utime(path)  # so that a cleanup does not delete it
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        scratch = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
        try:
            with source.open("rb") as given, scratch.open("xb") as out:
                shutil.copyfileobj(given, out, 1 << 20)
                out.flush()
                os.fsync(out.fileno())
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)
        fsync_folder(path.parent)

    def read(self, sha256: bytes, start: int, length: int) -> Iterator[bytes]:
        """Return the bytes in pieces."""
        try:
            file = self.path(sha256).open("rb")
        except FileNotFoundError:
            raise MediaBytesMissing from None
        return _pieces(file, start, length)

    def remove(self, sha256: bytes) -> None:
        """Delete a file."""
        self.path(sha256).unlink(missing_ok=True)

    def list_hashes_with_times(self) -> Iterator[tuple[bytes, float]]:
        """Yield the hash of each stored file with the time of its arrival."""
        for path in sorted(self.folder.glob("[0-9a-f][0-9a-f]/*")):
            if _NAME.fullmatch(path.name):
                yield bytes.fromhex(path.name), path.stat().st_mtime


def _pieces(file: BinaryIO, start: int, length: int) -> Iterator[bytes]:
    with file:
        file.seek(start)
        while length > 0 and (piece := file.read(min(PIECE, length))):
            length -= len(piece)
            yield piece


def hash_file(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
