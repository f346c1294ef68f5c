"""A process that reads some of the lines of an import: `python -m app.services.data.parallel.reader IN OUT`.

It receives lines, sorts them, makes, validates and scores their records, and returns COPY lines. It ends when its pipe
closes, so it never outlives the import.
"""

from __future__ import annotations

import signal
import sys
from array import array
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from app import formats, protocols
from app.domain.errors import Invalid, StorageFull
from app.formats.base import MOST_ERRORS, DocumentSubsetReader, ReadContext, ReadLog
from app.protocols.base import parse_scoring_options
from app.services.data.parallel.messages import (
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
    TooManyBadLinesMessage,
)
from app.services.data.staging_writer import StagingWriter, reduce_garbage_collection
from app.storage.imports.copy_format import CopyBuffer


@dataclass(slots=True)
class _EarlierCounts:
    """The counts of earlier chunks."""

    records: int = 0
    judgments: int = 0
    voids: int = 0


def main(input_pipe: int, output_pipe: int) -> None:
    """Read for the process at the other ends of two pipes, and end when they close."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both; the import ends and closes the pipes
    with (
        Connection(input_pipe, writable=False) as inbox,
        Connection(output_pipe, readable=False) as outbox,
        suppress(EOFError, ConnectionError),
        reduce_garbage_collection(),
    ):
        try:
            _read(inbox, outbox)
        except Invalid as fault:
            outbox.send(ReaderRefusal(fault.detail, fault.places))
        except StorageFull as fault:
            outbox.send(ReaderRefusal(fault.detail, (), is_disk_full=True))


def _read(inbox: Connection, outbox: Connection) -> None:
    begin: ReaderStart = inbox.recv()
    spread = formats.get_format(begin.format).spread
    if spread is None:
        raise Invalid(f"{begin.format} is read by one process")
    log = ReadLog(skip_bad_lines=True)  # the import decides whether to skip them, because it has all of them
    context = ReadContext(begin.options, begin.limits, begin.protocol)
    with closing(spread.make_reader(begin.names, context, log)) as part:
        _take_in(inbox, outbox, part, log)
        outbox.send(CampaignFactsAndLog(part.campaign_facts(), log))
        _send_chunks(outbox, part, inbox.recv(), log)


def _take_in(inbox: Connection, outbox: Connection, part: DocumentSubsetReader, log: ReadLog) -> None:
    said = False
    while not isinstance(message := inbox.recv(), LinesEnd):
        if isinstance(message, FileStart):
            part.begin_file_with_first_line(message.file, message.number, message.line)
        elif isinstance(message, LineBatch):
            take, numbers = part.add_line, array("q", message.numbers)
            for number, line in zip(numbers, message.text.decode().split("\n"), strict=True):
                take(number, line)
        if log.n_bad > MOST_ERRORS and not said:
            said = True
            outbox.send(TooManyBadLinesMessage())


def _send_chunks(outbox: Connection, part: DocumentSubsetReader, judge: StartOfRecordReading, log: ReadLog) -> None:
    """Make records, and send the staged lines chunk by chunk. Raises Invalid."""
    _forget(log, skip_bad_lines=judge.skip_bad_lines)
    protocol = protocols.get_protocol(judge.protocol)
    judged_by = protocol, parse_scoring_options(protocol, judge.options)
    stage = StagingWriter(lambda: judged_by, CopyBuffer(lambda table, data: outbox.send(CopyBlock(table, data))))
    counted = _EarlierCounts()
    for record in part.records():
        if stage.n_held >= judge.chunk and stage.starts_next_document_or_segment(record, by_segment=judge.by_segment):
            _end_chunk(outbox, stage, counted)
        stage.add_record(record, log)
    _end_chunk(outbox, stage, counted)
    outbox.send(ReaderDone(log))


def _end_chunk(outbox: Connection, stage: StagingWriter, counted: _EarlierCounts) -> None:
    stage.lines.pack_lines()
    new = _EarlierCounts(stage.n_records, stage.n_judgments, stage.n_voids)
    counts = new.records - counted.records, new.judgments - counted.judgments, new.voids - counted.voids
    outbox.send(ChunkEnd(*counts))
    counted.records, counted.judgments, counted.voids = new.records, new.judgments, new.voids
    stage.start_chunk()


def _forget(log: ReadLog, *, skip_bad_lines: bool) -> None:
    """Restart all counts, because the earlier ones have been sent."""
    log.skip_bad_lines = skip_bad_lines
    log.n_bad = 0
    for seen in (log.mapped, log.repaired, log.dropped, log.notes, log.bad):
        seen.clear()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
