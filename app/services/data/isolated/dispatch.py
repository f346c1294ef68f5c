"""Reading of uploads in a separate process, so that no file delays a process that answers requests.

Only one thread at a time runs in the interpreter, and a parser that works on a large piece keeps it until it is done. A
separate process therefore reads what arrives over the network, and only records come back. That process has no database
and no settings. It asks this process for blocks of a file, or for what the campaign already holds.
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
    CampaignLookupRequest,
    FileReadingStart,
    ReaderFault,
    ReadRequest,
    RecordsRead,
    SplitCampaignStart,
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
from app.storage.processes import IdleTimeMeter

FROM: Final = 1 << 20  # unpacked bytes: the limit of a JSON body, which this process parses itself
LOOK_EVERY: Final = 0.5  # seconds
STOPPED_FOR: Final = 4.0  # seconds after which a process stopped by a signal counts as lost
Item = Record | SplitCampaignStart
T = TypeVar("T")


def is_isolation_worthwhile(format: Format, files: Sequence[InputFile], limits: ReaderLimits) -> bool:
    """Return whether reading the files takes longer than starting a process, judging by their unpacked size.

    Files whose lines are shared out among several processes are not isolated, because these processes read them.
    """
    if format.spread is not None and has_at_least_bytes(LARGE, files, limits):
        return False
    return has_at_least_bytes(FROM, files, limits)


def read_records_isolated(
    format: Format, files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[Record]:
    """Yield what the format's `read` yields, in its order, with its log and errors. Also raises ReaderLost."""
    with closing(
        _items(ReadRequest.from_context(format.name, files, context, log, parts=False), files, context, log)
    ) as items:
        yield from (item for item in items if not isinstance(item, SplitCampaignStart))


def read_by_campaign_isolated(
    format: Format, files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[tuple[str, Iterator[Record]]]:
    """Yield what the format's `parts` yields. As there, read each stream to its end before the next."""
    items = _items(ReadRequest.from_context(format.name, files, context, log, parts=True), files, context, log)
    ahead = [item for item in (next(items, None),) if item is not None]

    def part() -> Iterator[Record]:
        for item in items:
            if isinstance(item, SplitCampaignStart):
                ahead.append(item)
                return
            yield item

    with closing(items):
        while ahead:
            begins = ahead.pop()
            if isinstance(begins, SplitCampaignStart):
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
                case FileReadingStart(file):
                    streams.open(file)
                case BytesRequest(stream, size):
                    _send_to_reader(line.send_bytes, streams.read(stream, size))
                case CampaignLookupRequest(shown):
                    _send_to_reader(line.send, list(context.shown() if shown else context.outline()))
                case ReaderFault():
                    raise _make_app_error(message, log)
        log.lines += message.log.lines
        merge_read_logs(log, [message.log])


class _Streams:
    """The files that the reader reads, by stream number. Each is closed at its end."""

    def __init__(self, files: Sequence[InputFile]) -> None:
        self._files = files
        self._opened: dict[int, IO[bytes]] = {}
        self._n = 0

    def open(self, file: int) -> None:
        """Open a file."""
        self._opened[self._n] = self._files[file].open()
        self._n += 1

    def read(self, stream: int, size: int) -> bytes:
        """Return the next bytes; no bytes at the end and after it."""
        data = self._opened[stream].read(size) if stream in self._opened else b""
        if not data and stream in self._opened:
            self._opened.pop(stream).close()
        return data

    def close(self) -> None:
        """Close the files that were not read to their ends."""
        while self._opened:
            self._opened.popitem()[1].close()


def _send_to_reader(send: Callable[[T], None], what: T) -> None:
    """Send a message. Raises ReaderLost if the reader is gone."""
    try:
        send(what)
    except OSError:
        raise ReaderLost from None


def _make_app_error(fault: ReaderFault, log: ReadLog) -> AppError:
    """Make the error that the reader would have raised here, including the bad lines found in the records."""
    if fault.after_bad_lines and not fault.places:
        try:
            log.raise_bad_lines()
        except Invalid as all_of_them:
            return all_of_them
    places = (*log.bad, *fault.places) if fault.after_bad_lines else fault.places
    return fault.kind(fault.detail, places=places)


@contextmanager
def _reader(begin: ReadRequest) -> Iterator[tuple[Connection, IdleTimeMeter]]:
    """Start a reading process and connect to it. It is killed at the end of the block, whatever it does."""
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
            yield ours, IdleTimeMeter(process.pid)
        finally:
            process.kill()
            process.wait(PATIENCE)


def _next_message(line: Connection, still: IdleTimeMeter) -> object:
    """Return the next message. Raises ReaderLost if the process is gone, or was stopped by a signal for too long."""
    try:
        while not line.poll(LOOK_EVERY):
            still.update(LOOK_EVERY)
            if still.stopped >= STOPPED_FOR:
                raise ReaderLost
        return line.recv()
    except (EOFError, OSError):
        raise ReaderLost from None
