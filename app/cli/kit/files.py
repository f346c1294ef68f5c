"""Writes files completely or not at all."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from app.domain.errors import Invalid, Place


def write_file_atomically(chunks: Iterable[bytes], output: Path | None) -> None:
    """Write chunks to a file, completely or not at all; without `output`, to standard output."""
    if output is None:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        return
    partial = output.with_name(output.name + ".part")
    try:
        with partial.open("wb") as file:
            file.writelines(chunks)
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)


def write_files_to_new_folder(files: Iterable[tuple[str, Iterable[bytes]]], folder: Path) -> None:
    """Write all files or none, into a new or empty folder. Raises Invalid."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Invalid("a folder cannot be written", places=(Place((str(folder),), "already exists and is not empty"),))
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for path, chunks in files:
            file = partial / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as out:
                out.writelines(chunks)
        partial.chmod(0o755)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
