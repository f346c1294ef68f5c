"""Reading of uploads in a process of its own, so that no file, however it is made, holds up a process that answers.

One thread at a time has the interpreter, and a parser that works on a large piece keeps it until it is done. What
arrives over the network is therefore read beside; only records come back. The other process has no database and no
settings: what a reader asks for, a block of a file or what the campaign holds already, it asks for here.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Final

from app.domain.errors import AppError, Invalid
from app.formats._base import Format, Input, Limits, ReadContext, ReadLog, Record
from app.services.apart_messages import (
    INTERPRETED,
    Asked,
    BadLine,
    Begin,
    Done,
    Fault,
    Given,
    Opened,
    PartBegins,
    Read,
)
from app.services.spread import LARGE, PATIENCE, ReaderLost, add_logs, at_least, environment
from app.storage.processes import Stillness

FROM: Final = 1 << 20  # bytes unpacked: the limit of a body of JSON, which is parsed where it arrives
LOOK_EVERY: Final = 0.5  # seconds
STOPPED_FOR: Final = 4.0  # seconds after which one that a signal has stopped is given up
Item = Record | PartBegins


def is_worthwhile(format: Format, files: Sequence[Input], limits: Limits) -> bool:
    """Whether files take longer to read than a process takes to start, by what is in them, packed or not.

    Those of which the lines are shared out among several processes are read by these.
    """
    if format.spread is not None and at_least(LARGE, files, limits):
        return False
    return at_least(FROM, files, limits)


def records(format: Format, files: Sequence[Input], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """What the format's `read` gives, in its order, and what it notes and raises. Raises ReaderLost, too."""
    for item in _items(Begin.of(format.name, files, context, log, parts=False), files, context, log):
        if not isinstance(item, PartBegins):
            yield item


def parts(
    format: Format, files: Sequence[Input], context: ReadContext, log: ReadLog
) -> Iterator[tuple[str, Iterator[Record]]]:
    """What the format's `parts` gives; as there, each stream is to be read to its end before the next."""
    items = _items(Begin.of(format.name, files, context, log, parts=True), files, context, log)
    ahead = [item for item in (next(items, None),) if item is not None]

    def part() -> Iterator[Record]:
        for item in items:
            if isinstance(item, PartBegins):
                ahead.append(item)
                return
            yield item

    while ahead:
        begins = ahead.pop()
        if isinstance(begins, PartBegins):
            yield begins.value, part()


def _items(begin: Begin, files: Sequence[Input], context: ReadContext, log: ReadLog) -> Iterator[Item]:
    with _reader(begin) as (line, still), ExitStack() as opened:
        streams: list[Callable[[int], bytes]] = []
        while not isinstance(message := _next(line, still), Done):
            match message:
                case Given(items):
                    for item in items:
                        if isinstance(item, BadLine):
                            log.bad_line(item.at, item.reason)
                        else:
                            yield item
                case Opened(file):
                    streams.append(opened.enter_context(closing(files[file].open())).read)
                case Read(stream, size):
                    line.send_bytes(streams[stream](size))
                case Asked(shown):
                    line.send(list(context.shown() if shown else context.outline()))
                case Fault():
                    raise _as_here(message, log)
        log.lines += message.log.lines
        add_logs(log, [message.log])


def _as_here(fault: Fault, log: ReadLog) -> AppError:
    """What the reader would have raised here, where bad lines were found in the records, too."""
    if fault.after_bad_lines and not fault.places:
        try:
            log.finish()
        except Invalid as all_of_them:
            return all_of_them
    places = (*log.bad, *fault.places) if fault.after_bad_lines else fault.places
    return fault.kind(fault.detail, places=places)


@contextmanager
def _reader(begin: Begin) -> Iterator[tuple[Connection, Stillness]]:
    """A process that reads, and the line to it; it ends with the block, whatever it does."""
    ours, theirs = Pipe()
    with closing(ours):
        with closing(theirs):
            process = subprocess.Popen(
                [sys.executable, *INTERPRETED, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment(),
                pass_fds=[theirs.fileno()],
            )
        try:
            ours.send(begin)
            yield ours, Stillness(process.pid)
        finally:
            process.kill()
            process.wait(PATIENCE)


def _next(line: Connection, still: Stillness) -> object:
    """What it says next. Raises ReaderLost where it is gone, or stopped by a signal for long."""
    try:
        while not line.poll(LOOK_EVERY):
            still.look(LOOK_EVERY)
            if still.stopped >= STOPPED_FOR:
                raise ReaderLost
        return line.recv()
    except (EOFError, OSError):
        raise ReaderLost from None
