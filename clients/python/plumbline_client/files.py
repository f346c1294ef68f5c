"""Files on this side: their hashes, their parts, and writing one as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PIECE = 1 << 18  # bytes
PART = 8 << 20  # bytes of a large upload that are sent at a time


def hash_file(path: Path) -> str:
    """SHA-256 in hexadecimal."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def files_by_name(files: Iterable[Path | str]) -> dict[str, Path]:
    """Files by the name under which the server keeps them. Raises ValueError for two of one name."""
    named: dict[str, Path] = {}
    for file in map(Path, files):
        if file.name in named:
            raise ValueError(f"{named[file.name]} and {file} are both named {file.name}; an import has each name once")
        named[file.name] = file
    return named


def read_part(path: Path, offset: int) -> bytes:
    """At most `PART` bytes from an offset."""
    with path.open("rb") as content:
        content.seek(offset)
        return content.read(PART)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that is there as a whole or not at all: beside its place first."""
    beside = path.with_name(f"{path.name}.part")
    try:
        with beside.open("wb") as content:
            yield content
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
