"""Several files in a tar archive whose bytes depend only on these files."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterable, Iterator

BLOCK = 1 << 18
IN_MEMORY = 4 << 20
ZEROS = b"\0" * tarfile.RECORDSIZE


def stream_tar(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """Stream the archive. Only one file is held at a time, in memory if it is small."""
    total = 0
    for path, chunks in files:
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as held:
            for chunk in chunks:
                held.write(chunk)
            size = held.tell()
            head = _tar_header(path, size)
            yield head
            held.seek(0)
            while block := held.read(BLOCK):
                yield block
        rest = -size % tarfile.BLOCKSIZE
        if rest:
            yield ZEROS[:rest]
        total += len(head) + size + rest
    yield ZEROS[: 2 * tarfile.BLOCKSIZE]
    total += 2 * tarfile.BLOCKSIZE
    yield ZEROS[: -total % tarfile.RECORDSIZE]


def _tar_header(path: str, size: int) -> bytes:
    """Return the header of a file, without owner and time."""
    head = tarfile.TarInfo(path)
    head.size, head.mode = size, 0o644
    return head.tobuf(tarfile.PAX_FORMAT, "utf-8")
