"""External merge sort of byte strings in bounded memory, so that no reader depends on the order of lines.

UTF-8 bytes sort like code points, and NUL (which a line cannot contain) sorts before everything: fields joined by NUL
sort field by field.
"""

from __future__ import annotations

import errno
import os
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import IO, Final, Self

from app.domain.errors import StorageFull

RUN_BYTES: Final = 12 << 20
FAN_IN: Final = 48
BLOCK: Final = 1 << 16
MERGE_BYTES: Final = 8 << 20
OVERHEAD: Final = 41  # of a bytes object and its place in the list
Run = tuple[int, int]


class ExternalSorter:
    """Takes byte strings without a line feed in any order, and yields them sorted.

    run_bytes: bytes held in memory before they are spilled to an anonymous temporary file. fan_in: runs merged at once;
    if there are more, some are merged into one first, so that memory stays bounded.
    """

    def __init__(self, run_bytes: int = RUN_BYTES, fan_in: int = FAN_IN) -> None:
        self._held: list[bytes] = []
        self._size = 0
        self._longest = 0
        self._run_bytes = run_bytes
        self._fan_in = fan_in
        self._levels: list[list[Run]] = [[]]
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the temporary file."""
        if self._file is not None:
            self._file.close()

    def add(self, entry: bytes) -> None:
        """Add one entry. Raises StorageFull if the temporary file cannot grow."""
        self._held.append(entry)
        self._size += len(entry) + OVERHEAD
        if self._size > self._run_bytes:
            self._spill()

    def __iter__(self) -> Iterator[bytes]:
        """Yield all entries in order; works only once, because it frees what it yields."""
        self._held.sort()
        held, self._held = self._held, []
        runs = [run for level in self._levels for run in level]
        while len(runs) > 2 * self._merge_width():
            runs = [*runs[self._merge_width() :], self._merge(runs[: self._merge_width()])]
        try:
            yield from _merge_runs([*map(self._read, runs), _slices(held)]) if runs else held
        finally:
            self.close()

    def _merge_width(self) -> int:
        """Return how many runs may be merged at once: fewer if entries are long, as one per run is in memory."""
        return max(2, min(self._fan_in, MERGE_BYTES // (self._longest + BLOCK)))

    def _spill(self) -> None:
        self._held.sort()
        longest = max(map(len, self._held))
        self._longest = max(self._longest, longest)
        self._levels[0].append(self._write(self._held))
        self._held, self._size = [], 0
        for depth, level in enumerate(self._levels):
            if len(level) < self._merge_width():
                return
            if depth + 1 == len(self._levels):
                self._levels.append([])
            self._levels[depth + 1].append(self._merge(level))
            self._levels[depth] = []

    def _merge(self, runs: list[Run]) -> Run:
        return self._write(_merge_runs([*map(self._read, runs)]))

    def _write(self, entries: Iterable[bytes]) -> Run:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=BLOCK)  # noqa: SIM115 (closed when the entries were given)
        start = self._file.seek(0, os.SEEK_END)
        try:
            self._file.writelines(entry + b"\n" for entry in entries)
            self._file.flush()
        except OSError as fault:
            if fault.errno == errno.ENOSPC:
                raise StorageFull("no space left for sorting the file") from fault
            raise
        return start, self._file.tell()

    def _read(self, run: Run) -> Iterator[list[bytes]]:
        """Yield the entries of a run in batches."""
        if self._file is None:
            return
        at, end = run
        carry = b""
        while at < end:
            block = os.pread(self._file.fileno(), min(BLOCK, end - at), at)
            at += len(block)
            parts = (carry + block).split(b"\n")
            carry = parts.pop()
            if parts:
                yield parts


def _slices(entries: list[bytes], size: int = 1000) -> Iterator[list[bytes]]:
    for at in range(0, len(entries), size):
        yield entries[at : at + size]


def _merge_runs(runs: list[Iterator[list[bytes]]]) -> Iterator[bytes]:
    """Yield all entries of sorted runs in order.

    All entries up to the smallest of the runs' last loaded entries can be yielded at once: sorting them is one pass
    over runs, in C.
    """
    heads = [(head, run) for run in runs if (head := next(run, []))]
    while heads:
        bound = min(head[-1] for head, _ in heads)
        ready: list[bytes] = []
        left = []
        for head, run in heads:
            at = bisect_right(head, bound)
            ready += head[:at]
            rest = head[at:] or next(run, [])
            if rest:
                left.append((rest, run))
        heads = left
        ready.sort()
        yield from ready
