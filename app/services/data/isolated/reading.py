"""Reading of uploads in a process of its own, so that no file, however it is made, holds up a process that answers.

One thread at a time has the interpreter, and a parser that works on a large piece keeps it until it is done. What
arrives over the network is therefore read beside; only records come back. The other process has no database and no
settings: what a reader asks for, a block of a file or what the campaign holds already, it asks for here.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Final, TypeVar

from app.domain.errors import AppError, Invalid
from app.formats.base import Format, InputFile, ReadContext, ReaderLimits, ReadLog, Record
from app.services.data.isolated.messages import (
    INTERPRETED,
    BadLine,
    BytesRequest,
    CampaignPartStart,
    FileOpened,
    ReaderFault,
    ReadRequest,
    RecordsRead,
    TasksRequest,
)
from app.services.data.parallel.dispatch import (
    LARGE,
    PATIENCE,
    ReaderLost,
    has_at_least_bytes,
    make_reader_environment,
    merge_read_logs,
)
from app.services.data.parallel.messages import ReaderDone
from app.storage.processes import ProcessIdleWatch

FROM: Final = 1 << 20  # bytes unpacked: the limit of a body of JSON, which is parsed where it arrives
LOOK_EVERY: Final = 0.5  # seconds
STOPPED_FOR: Final = 4.0  # seconds after which one that a signal has stopped is given up
Item = Record | CampaignPartStart
T = TypeVar("T")


def is_isolation_worthwhile(format: Format, files: Sequence[InputFile], limits: ReaderLimits) -> bool:
    """Whether files take longer to read than a process takes to start, by what is in them, packed or not.

    Those of which the lines are shared out among several processes are read by these.
    """
    if format.spread is not None and has_at_least_bytes(LARGE, files, limits):
        return False
    return has_at_least_bytes(FROM, files, limits)


def read_records_isolated(
    format: Format, files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[Record]:
    """What the format's `read` gives, in its order, and what it notes and raises. Raises ReaderLost, too."""
    with closing(
        _items(ReadRequest.from_context(format.name, files, context, log, parts=False), files, context, log)
    ) as items:
        yield from (item for item in items if not isinstance(item, CampaignPartStart))


def read_parts_isolated(
    format: Format, files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[tuple[str, Iterator[Record]]]:
    """What the format's `read_parts_isolated` gives; as there, each stream is to be read to its end before the next."""
    items = _items(ReadRequest.from_context(format.name, files, context, log, parts=True), files, context, log)
    ahead = [item for item in (next(items, None),) if item is not None]

    def part() -> Iterator[Record]:
        for item in items:
            if isinstance(item, CampaignPartStart):
                ahead.append(item)
                return
            yield item

    with closing(items):
        while ahead:
            begins = ahead.pop()
            if isinstance(begins, CampaignPartStart):
                yield begins.value, part()


def _items(
    begin: ReadRequest, files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Generator[Item, None, None]:
    with _reader(begin) as (line, still), closing(_Streams(files)) as streams:
        while not isinstance(message := _next_message(line, still), ReaderDone):
            match message:
                case RecordsRead(items):
                    for item in items:
                        if isinstance(item, BadLine):
                            log.record_bad_line(item.at, item.reason)
                        else:
                            yield item
                case FileOpened(file):
                    streams.open(file)
                case BytesRequest(stream, size):
                    _send_to_reader(line.send_bytes, streams.read(stream, size))
                case TasksRequest(shown):
                    _send_to_reader(line.send, list(context.shown() if shown else context.outline()))
                case ReaderFault():
                    raise _make_app_error(message, log)
        log.lines += message.log.lines
        merge_read_logs(log, [message.log])


class _Streams:
    """The files that the reader reads, by the number of each reading; one is closed where it ends."""

    def __init__(self, files: Sequence[InputFile]) -> None:
        self._files = files
        self._opened: dict[int, IO[bytes]] = {}
        self._n = 0

    def open(self, file: int) -> None:
        """Begin a file."""
        self._opened[self._n] = self._files[file].open()
        self._n += 1

    def read(self, stream: int, size: int) -> bytes:
        """What comes next; nothing at the end, and after it."""
        data = self._opened[stream].read(size) if stream in self._opened else b""
        if not data and stream in self._opened:
            self._opened.pop(stream).close()
        return data

    def close(self) -> None:
        """Close those that were not read to their ends."""
        while self._opened:
            self._opened.popitem()[1].close()


def _send_to_reader(send: Callable[[T], None], what: T) -> None:
    """Raises ReaderLost where nobody is there to hear it."""
    try:
        send(what)
    except OSError:
        raise ReaderLost from None


def _make_app_error(fault: ReaderFault, log: ReadLog) -> AppError:
    """What the reader would have raised here, where bad lines were found in the records, too."""
    if fault.after_bad_lines and not fault.places:
        try:
            log.raise_bad_lines()
        except Invalid as all_of_them:
            return all_of_them
    places = (*log.bad, *fault.places) if fault.after_bad_lines else fault.places
    return fault.kind(fault.detail, places=places)


@contextmanager
def _reader(begin: ReadRequest) -> Iterator[tuple[Connection, ProcessIdleWatch]]:
    """A process that reads, and the line to it; it ends with the block, whatever it does."""
    ours, theirs = Pipe()
    with closing(ours):
        with closing(theirs):
            process = subprocess.Popen(
                [sys.executable, *INTERPRETED, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=make_reader_environment(),
                pass_fds=[theirs.fileno()],
            )
        try:
            _send_to_reader(ours.send, begin)
            yield ours, ProcessIdleWatch(process.pid)
        finally:
            process.kill()
            process.wait(PATIENCE)


def _next_message(line: Connection, still: ProcessIdleWatch) -> object:
    """What it says next. Raises ReaderLost where it is gone, or stopped by a signal for long."""
    try:
        while not line.poll(LOOK_EVERY):
            still.update(LOOK_EVERY)
            if still.stopped >= STOPPED_FOR:
                raise ReaderLost
        return line.recv()
    except (EOFError, OSError):
        raise ReaderLost from None
