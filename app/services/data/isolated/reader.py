"""A process that reads the files of an import: `python -m app.services.data.isolated.reader HANDLE`.

It receives blocks and returns records. It ends when its connection closes, so it never outlives the import.
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from multiprocessing.connection import Connection
from typing import IO, Any

from app import formats
from app.domain.errors import AppError, NotFound
from app.formats.base import InputFile, LineLocation, ReadContext, ReadLog, Record
from app.services.data.isolated.messages import (
    BadLine,
    BytesRequest,
    CampaignLookupRequest,
    FileReadingStart,
    ReaderFault,
    ReadRequest,
    RecordsRead,
    SplitCampaignStart,
)
from app.services.data.parallel.messages import ReaderDone

AT_ONCE = 500  # records in one message
BLOCK = 1 << 18


@dataclass
class _Outbox:
    """Items that have been read but not yet sent."""

    line: Connection
    held: list[Record | BadLine | SplitCampaignStart] = field(default_factory=list)
    streams: int = 0

    def give(self, item: Record | BadLine | SplitCampaignStart) -> None:
        """Add an item, and send the items when there are enough."""
        self.held.append(item)
        if len(self.held) >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Send the items that are held."""
        if self.held:
            self.line.send(RecordsRead(self.held))
            self.held = []

    def ask(self, *, shown: bool) -> Any:
        """Ask for what the campaign already has."""
        self.flush()
        self.line.send(CampaignLookupRequest(shown))
        return self.line.recv()

    def open(self, file: int) -> IO[bytes]:
        """Open a file from its start."""
        self.line.send(FileReadingStart(file))
        self.streams += 1
        return io.BufferedReader(_Stream(self.line, self.streams - 1), BLOCK)


class _Stream(io.RawIOBase):
    """A file that the importing process holds."""

    def __init__(self, line: Connection, stream: int) -> None:
        self._line, self._stream = line, stream

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the file's content allows."""
        self._line.send(BytesRequest(self._stream, len(buffer)))
        data = self._line.recv_bytes(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Log(ReadLog):
    """A log that also sends each bad line among the records, at the place where it was found."""

    outbox: _Outbox

    def record_bad_line(self, at: LineLocation, reason: str) -> None:
        """Send and record a bad line. Raises TooManyErrors."""
        self.outbox.give(BadLine(at, reason))
        super().record_bad_line(at, reason)


def main(connection_handle: int) -> None:
    """Read for the process at the other end of the connection, and end when it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal signals both; the import ends and closes the connection
    with Connection(connection_handle) as ours, suppress(EOFError, ConnectionError):
        begin: ReadRequest = ours.recv()
        outbox = _Outbox(ours)
        log = _Log(skip_bad_lines=begin.skip_bad_lines)
        log.outbox = outbox
        try:
            for item in _items(begin, outbox, log):
                outbox.give(item)
        except AppError as error:
            outbox.flush()
            ours.send(_fault(error, log))
            return
        outbox.flush()
        ours.send(ReaderDone(_rest(log)))


def _items(begin: ReadRequest, outbox: _Outbox, log: ReadLog) -> Iterator[Record | SplitCampaignStart]:
    reader = formats.get_format(begin.format)
    ask = partial(outbox.ask, shown=False), partial(outbox.ask, shown=True)
    context = ReadContext(begin.options, begin.limits, begin.protocol, *ask)
    files = [InputFile(name, partial(outbox.open, n)) for n, name in enumerate(begin.names)]
    if begin.parts and reader.parts is not None:
        streams = reader.parts(files, context, log)
        return chain.from_iterable(_with_head(value, stream) for value, stream in streams)
    if not begin.parts and reader.read is not None:
        return iter(reader.read(files, context, log))
    raise NotFound(f"{begin.format} is not read")


def _with_head(value: str, stream: Iterable[Record]) -> Iterator[Record | SplitCampaignStart]:
    yield SplitCampaignStart(value)
    yield from stream


def _fault(error: AppError, log: ReadLog) -> ReaderFault:
    """Describe an error, without the bad lines that were already sent; the receiver may know of more."""
    after = error.places[: len(log.bad)] == tuple(log.bad)
    return ReaderFault(type(error), error.detail, error.places[len(log.bad) :] if after else error.places, after)


def _rest(log: ReadLog) -> ReadLog:
    """Return the log without the bad lines."""
    return ReadLog(log.skip_bad_lines, log.lines, log.mapped, log.repaired, log.dropped, log.notes)


if __name__ == "__main__":
    main(int(sys.argv[1]))
