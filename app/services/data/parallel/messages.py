"""The messages between an import and the processes that read for it, pickled, over two pipes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.errors import Place
from app.formats.base import ReaderLimits, ReadLog

INTERPRETED = ("-P", "-m", "app.services.data.parallel.reader")


@dataclass(frozen=True, slots=True)
class ReaderStart:
    """Sent to a reader, first: the format, the files, and the reader's parameters."""

    format: str
    names: tuple[str, ...]
    options: Mapping[str, str]
    limits: ReaderLimits
    protocol: str | None


@dataclass(frozen=True, slots=True)
class FileStart:
    """Sent to a reader: the start of a file, with its first line."""

    file: str
    number: int
    line: str


@dataclass(frozen=True, slots=True)
class LineBatch:
    """Sent to a reader: lines of the current file. numbers: int64 of each; text: the lines, joined by line feeds."""

    numbers: bytes
    text: bytes


@dataclass(frozen=True, slots=True)
class StartOfRecordReading:
    """Sent to a reader after all lines, when the campaign is known: make records, in chunks of `chunk` judgments."""

    protocol: str
    options: Mapping[str, object]
    skip_bad_lines: bool
    by_segment: bool
    chunk: int


@dataclass(frozen=True, slots=True)
class LinesEnd:
    """Sent to a reader: there are no more lines."""


@dataclass(frozen=True, slots=True)
class TooManyBadLinesMessage:
    """Sent by a reader: there are too many bad lines, so send no more lines."""


@dataclass(frozen=True, slots=True)
class CampaignFactsAndLog:
    """Sent by a reader after all lines: what they say about the campaign, and the log."""

    campaign_facts: object
    log: ReadLog


@dataclass(frozen=True, slots=True)
class CopyBlock:
    """Sent by a reader: COPY lines of one staging table."""

    table: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ChunkEnd:
    """Sent by a reader: the blocks since the last chunk form a chunk, with these counts."""

    n_records: int
    n_judgments: int
    n_voids: int


@dataclass(frozen=True, slots=True)
class ReaderDone:
    """Sent by a reader, last: the log of making records, without what was sent before."""

    log: ReadLog


@dataclass(frozen=True, slots=True)
class ReaderRefusal:
    """Sent by a reader, last: the input is not valid, or there is no space to sort it (is_disk_full)."""

    detail: str
    places: tuple[Place, ...]
    is_disk_full: bool = False
