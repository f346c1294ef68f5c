"""What an import and the process that reads its uploads say to each other, pickled, over one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from app.domain.errors import AppError, Place
from app.formats.base import InputFile, LineLocation, ReadContext, ReaderLimits, ReadLog, Record

INTERPRETED = ("-P", "-m", "app.services.data.isolated.reader")


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """To the reader, once: which format, of which files, and what it is told beside them."""

    format: str
    names: tuple[str, ...]
    options: Mapping[str, str]
    limits: ReaderLimits
    protocol: str | None
    skip_bad_lines: bool
    parts: bool

    @classmethod
    def from_context(
        cls, format: str, files: Sequence[InputFile], context: ReadContext, log: ReadLog, *, parts: bool
    ) -> Self:
        """From what a reader is given here."""
        names = tuple(file.name for file in files)
        told = dict(context.options), context.limits, context.protocol
        return cls(format, names, *told, log.skip_bad_lines, parts)


@dataclass(frozen=True, slots=True)
class BadLine:
    """Among records, where it was met: a bad line, and why it is one."""

    at: LineLocation
    reason: str


@dataclass(frozen=True, slots=True)
class CampaignPartStart:
    """Among records: what follows is of the campaign for this value."""

    value: str


@dataclass(frozen=True, slots=True)
class RecordsRead:
    """From the reader: what it read next."""

    items: Sequence[Record | BadLine | CampaignPartStart]


@dataclass(frozen=True, slots=True)
class FileOpened:
    """From the reader: it reads the file of this number from its start; streams are numbered as they are opened."""

    file: int


@dataclass(frozen=True, slots=True)
class BytesRequest:
    """From the reader, which waits for them: so many bytes of a stream."""

    stream: int
    size: int


@dataclass(frozen=True, slots=True)
class TasksRequest:
    """From the reader, which waits for it: what the tasks of the campaign show, or else its outline."""

    shown: bool


@dataclass(frozen=True, slots=True)
class ReaderFault:
    """From the reader, last: what it raised. after_bad_lines: its places are those that come after all bad lines."""

    kind: type[AppError]
    detail: str
    places: tuple[Place, ...]
    after_bad_lines: bool
