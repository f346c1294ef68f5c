"""What an import and the processes that read for it say to each other, pickled, over two pipes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.errors import Place
from app.formats.base import ReaderLimits, ReadLog

INTERPRETED = ("-P", "-m", "app.services.data.parallel.reader")


@dataclass(frozen=True, slots=True)
class ReaderStart:
    """To a reader, first: which format, of which files, and what it is told beside them."""

    format: str
    names: tuple[str, ...]
    options: Mapping[str, str]
    limits: ReaderLimits
    protocol: str | None


@dataclass(frozen=True, slots=True)
class FileStart:
    """To a reader: a file begins, with this first line."""

    file: str
    number: int
    line: str


@dataclass(frozen=True, slots=True)
class LineBatch:
    """To a reader: lines of the file that began last. numbers: int64 of each; text: the lines, joined by line feeds."""

    numbers: bytes
    text: bytes


@dataclass(frozen=True, slots=True)
class RecordReadingStart:
    """To a reader, when all lines are dealt and the campaign is known: go on to the records, so many to a chunk."""

    protocol: str
    options: Mapping[str, object]
    skip_bad_lines: bool
    by_segment: bool
    chunk: int


@dataclass(frozen=True, slots=True)
class LinesEnd:
    """To a reader: there are no more lines."""


@dataclass(frozen=True, slots=True)
class StopReading:
    """From a reader: so many lines are bad that no more are wanted."""


@dataclass(frozen=True, slots=True)
class ReaderFacts:
    """From a reader, when all lines are taken in: what they say of the campaign, and what was seen in them."""

    campaign_facts: object
    log: ReadLog


@dataclass(frozen=True, slots=True)
class CopyBlock:
    """From a reader: COPY lines of one staging table."""

    table: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ChunkEnd:
    """From a reader: the blocks since the last chunk are one; what is in it."""

    n_records: int
    n_judgments: int
    n_voids: int


@dataclass(frozen=True, slots=True)
class ReaderDone:
    """From a reader, last: what was seen in making records, but for what it told before."""

    log: ReadLog


@dataclass(frozen=True, slots=True)
class ReaderRefusal:
    """From a reader, last: the input is not valid, or there is no space for sorting it (full)."""

    detail: str
    places: tuple[Place, ...]
    is_disk_full: bool = False
