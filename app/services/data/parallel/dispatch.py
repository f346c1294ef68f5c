"""Reading of large files by two child processes, each of which gets whole documents; this process merges.

Python reads on one core only, and reading takes most of an import's time. Lines are shared out by document, so no
process needs the lines of another. The result does not depend on which process is faster: chunks are taken in turns,
and their number and order follow from the files alone (docs/decisions/0013).
"""

from __future__ import annotations

import fcntl
import os
import queue
import subprocess
import sys
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final, Self, TypeVar
from zlib import crc32

from app import formats
from app.domain.errors import AppError, Invalid, Place, StorageFull, Unavailable
from app.formats.base import (
    MOST_ERRORS,
    Format,
    InputFile,
    LineLocation,
    MultiprocessReadHooks,
    ReadContext,
    ReaderLimits,
    ReadLog,
    Record,
    TooManyErrors,
)
from app.services.data.parallel.messages import (
    INTERPRETED,
    CampaignFactsAndLog,
    ChunkEnd,
    CopyBlock,
    FileStart,
    LineBatch,
    LinesEnd,
    ReaderDone,
    ReaderRefusal,
    ReaderStart,
    StartOfRecordReading,
)
from app.storage.imports.copy_format import CopyBuffer

READERS: Final = 2  # fixed, not the number of cores, because the stored order of items depends on it
LARGE: Final = 16 << 20  # unpacked bytes of all files that justify half a second to start the readers
HAND: Final = 1 << 18  # characters in one batch of lines
LETTERS: Final = 16  # messages that may wait for a reader
HELD: Final = 1 << 20  # capacity of a pipe in bytes
MOST_REMEMBERED: Final = 100_000
PATIENCE: Final = 5.0  # seconds for a reader to end by itself
Sent = TypeVar("Sent")


class ReaderLost(Unavailable):
    """A process that read the files ended too early; nothing was stored."""


@dataclass(frozen=True, slots=True)
class CopyChunk:
    """COPY lines with everything in the files about some documents, and the numbers of their records."""

    lines: CopyBuffer
    n_records: int
    n_judgments: int
    n_voids: int


class ReaderProcess:
    """One reading process; see `app.services.data.parallel.reader`."""

    def __init__(self, begin: ReaderStart) -> None:
        (theirs_in, ours_out), (ours_in, theirs_out) = _pipe(), _pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, *INTERPRETED, str(theirs_in), str(theirs_out)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=make_reader_environment(),
                pass_fds=[theirs_in, theirs_out],
            )
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._from, self._to = Connection(ours_in, writable=False), Connection(ours_out, readable=False)
        self._numbers = array("q")
        self._lines: list[str] = []
        self._size = 0
        self._letters: queue.Queue[object] = queue.Queue(LETTERS)
        self._chunks: queue.Queue[CopyChunk | ReaderDone | AppError] = queue.Queue(1)
        self._threads = [threading.Thread(target=self._post, name="deal", daemon=True)]
        self._threads[0].start()
        self.send(begin)

    def send(self, message: object) -> None:
        """Send a message when the reader listens.

        If the reader is gone, the caller learns it when waiting for an answer.
        """
        self._letters.put(message)

    def add_line(self, number: int, line: str) -> bool:
        """Add a line to the batch, and return whether the reader has found too many bad lines."""
        self._numbers.append(number)
        self._lines.append(line)
        self._size += len(line)
        return self._size > HAND and self.send_waiting_lines()

    def send_waiting_lines(self) -> bool:
        """Send the lines that wait, and return whether the reader wants no more."""
        if self._lines:
            self.send(LineBatch(self._numbers.tobytes(), "\n".join(self._lines).encode()))
            self._numbers, self._lines, self._size = array("q"), [], 0
        return self._from.poll()

    def send_end_of_lines(self) -> None:
        """Tell the reader that there are no more lines."""
        self.send_waiting_lines()
        self.send(LinesEnd())

    def receive_campaign_facts_and_log(self) -> CampaignFactsAndLog:
        """Return what the lines say, after all were sent. Raises Invalid, StorageFull and ReaderLost."""
        while True:
            message = self._received()
            if isinstance(message, AppError):
                raise message
            if isinstance(message, CampaignFactsAndLog):
                return message

    def start_reading_records(self, judge: StartOfRecordReading) -> None:
        """Let the reader go on to the records, one chunk ahead of the caller."""
        self.send(judge)
        self._threads.append(threading.Thread(target=self._receive, name="read", daemon=True))
        self._threads[-1].start()

    def receive_chunk_or_final_log(self) -> CopyChunk | ReaderDone:
        """Return the next chunk, or the final log. Raises Invalid, StorageFull and ReaderLost."""
        message = self._chunks.get()
        if isinstance(message, AppError):
            raise message
        return message

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._letters.put(None)
        for thread in self._threads:
            while thread.is_alive():
                with suppress(queue.Empty):
                    self._chunks.get(timeout=0.01)
        self._from.close()
        self._to.close()

    def _post(self) -> None:
        """Send the queued messages. Once the reader is gone, discard them."""
        gone = False
        while (message := self._letters.get()) is not None:
            if not gone:
                try:
                    self._to.send(message)
                except OSError:
                    gone = True

    def _receive(self) -> None:
        """Put chunks into the queue until there are no more."""
        held = CopyBuffer()
        while True:
            message = self._received()
            if isinstance(message, CopyBlock):
                held.add_block(message.table, message.data)
            elif isinstance(message, ChunkEnd):
                self._chunks.put(CopyChunk(held, message.n_records, message.n_judgments, message.n_voids))
                held = CopyBuffer()
            elif isinstance(message, ReaderDone | AppError):
                self._chunks.put(message)
                return

    def _received(self) -> object:
        """Return the next message, or an error if the reader refuses the input or is gone."""
        try:
            message = self._from.recv()
        except (EOFError, OSError):
            return ReaderLost()
        if isinstance(message, ReaderRefusal):
            kind = StorageFull if message.is_disk_full else Invalid
            return kind(message.detail, places=message.places)
        return message


def make_reader_environment() -> dict[str, str]:
    """Return this process's environment without the program's settings, and with its module search path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLUMBLINE_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _pipe() -> tuple[int, int]:
    """Create a pipe (reading end, writing end) with a large buffer, so that neither side waits on a busy machine."""
    ends = os.pipe()
    with suppress(OSError):  # the user's other pipes may have used up the limit
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, HELD)
    return ends


class RemoteRecords:
    """A record that stands for all records held by other processes. The receiver takes their chunks, or closes it."""

    def __init__(self, readers: Sequence[ReaderProcess], log: ReadLog, *, by_segment: bool) -> None:
        self._readers, self._log, self._by_segment = readers, log, by_segment
        self.n_judgments = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers:
            reader.close()

    def chunks(self, protocol: str, options: Mapping[str, object], size: int) -> Iterator[CopyChunk]:
        """Yield chunks of at least `size` judgments, in turns, in an order that depends only on the files.

        Raises Invalid if reading cannot continue; bad lines go to the log. Raises StorageFull and ReaderLost.
        """
        judge = StartOfRecordReading(protocol, dict(options), self._log.skip_bad_lines, self._by_segment, size)
        for reader in self._readers:
            reader.start_reading_records(judge)
        left = list(self._readers)
        while left:
            for reader in tuple(left):
                message = reader.receive_chunk_or_final_log()
                if isinstance(message, ReaderDone):
                    left.remove(reader)
                    merge_read_logs(self._log, [message.log])
                    continue
                self.n_judgments += message.n_judgments
                yield message


def read_records_parallel(
    format: Format, files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[Record | RemoteRecords]:
    """Yield the records of the files. For large files, yield the campaign's record and one that stands for all others.

    Raises Invalid as the format's `read` does, StorageFull, and ReaderLost.
    """
    if format.read is None:
        return
    if format.spread is None or not has_at_least_bytes(LARGE, files, context.limits):
        yield from format.read(files, context, log)
        return
    names = tuple(file.name for file in files)
    begin = ReaderStart(format.name, names, dict(context.options), context.limits, context.protocol)
    with ExitStack() as stack:
        readers: list[ReaderProcess] = []
        for _ in range(READERS):
            readers.append(ReaderProcess(begin))
            stack.callback(readers[-1].close)
        facts = _share_out_lines(format.spread, readers, files, context.limits, log)
        yield format.spread.make_campaign_row(names, facts)
        elsewhere = RemoteRecords(readers, log, by_segment=format.by_segment)
        yield elsewhere
    if format.spread.finish_log is not None:
        format.spread.finish_log(context, log)
    log.raise_bad_lines()
    if format.spread.requires_judgments and not elsewhere.n_judgments:
        raise Invalid(f"there are no judgments in {', '.join(names)}")


def has_at_least_bytes(size: int, files: Sequence[InputFile], limits: ReaderLimits) -> bool:
    """Return whether the files, unpacked, have at least `size` bytes."""
    total = 0
    for file in files:
        with suppress(Invalid):  # the reader will report the fault
            for block in formats.read_byte_blocks(file, limits, ReadLog()):
                total += len(block)
                if total >= size:
                    return True
    return False


def _share_out_lines(
    spread: MultiprocessReadHooks,
    readers: Sequence[ReaderProcess],
    files: Sequence[InputFile],
    limits: ReaderLimits,
    log: ReadLog,
) -> list[object]:
    """Share out all lines, and return what the readers learned about the campaign.

    Raises Invalid with the first bad lines.
    """
    own = ReadLog(skip_bad_lines=True)
    order = [file.name for file in files]
    try:
        for file in files:
            if _deal_file(spread, readers, file, limits, own):
                break
    except Invalid as fault:
        for reader in readers:
            reader.send_end_of_lines()
        first = merge_bad_lines([own, *(reader.receive_campaign_facts_and_log().log for reader in readers)], order)
        raise type(fault)(fault.detail, places=(*first, *fault.places[-1:])) from None
    for reader in readers:
        reader.send_end_of_lines()
    facts = [reader.receive_campaign_facts_and_log() for reader in readers]
    log.lines += own.lines
    logs = [own, *(one.log for one in facts)]
    merge_read_logs(log, logs)
    log.bad[:] = merge_bad_lines(logs, order)
    if log.n_bad > MOST_ERRORS and not log.skip_bad_lines:
        raise TooManyErrors(f"{MOST_ERRORS} bad lines and more; nothing was stored", places=tuple(log.bad))
    log.raise_bad_lines()
    return [one.campaign_facts for one in facts]


def _deal_file(
    spread: MultiprocessReadHooks, readers: Sequence[ReaderProcess], file: InputFile, limits: ReaderLimits, own: ReadLog
) -> bool:
    """Share out the lines of one file, and return whether there were too many bad ones to continue. Raises Invalid."""
    deals = [reader.add_line for reader in readers]
    known: dict[str, int] = {}
    lines = formats.read_lines(file, limits, own)
    for number, line in lines:
        about, is_data = spread.make_document_finder(LineLocation(file.name, number), line, own)
        for reader in readers:
            reader.send_waiting_lines()
            reader.send(FileStart(file.name, number, line))
        if is_data:
            deals[_share(about(line))](number, line)
        break
    for number, line in lines:
        name = about(line)
        share = known.get(name)
        if share is None:
            if len(known) >= MOST_REMEMBERED:
                known.clear()
            share = known[name] = _share(name)
        if deals[share](number, line):
            return True
    return own.n_bad > MOST_ERRORS


def _share(name: str) -> int:
    """Return the reader that gets the lines about a document; the same on every machine."""
    return crc32(name.encode()) % READERS


def merge_read_logs(log: ReadLog, others: Sequence[ReadLog]) -> None:
    """Add the logs of other readers, except the number of lines."""
    for other in others:
        for noun, names in other.mapped.items():
            log.mapped.setdefault(noun, {}).update(names)
        for counts, more in ((log.repaired, other.repaired), (log.dropped, other.dropped), (log.notes, other.notes)):
            counts.update(more)
        log.n_bad += other.n_bad
        log.bad += other.bad[: MOST_ERRORS - len(log.bad)]


def merge_bad_lines(logs: Sequence[ReadLog], order: Sequence[str]) -> list[Place]:
    """Return the first bad lines of all readers, in the order in which a single reader would have found them."""
    rank = {name: i for i, name in enumerate(order)}
    places = [place for log in logs for place in log.bad]
    return sorted(places, key=lambda place: (rank[str(place.loc[0])], int(place.loc[1])))[:MOST_ERRORS]
