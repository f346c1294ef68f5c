"""The messages between an import and the process that reads its uploads, pickled, over one connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from app.domain.errors import AppError, Place
from app.formats.base import InputFile, LineLocation, ReadContext, ReaderLimits, ReadLog, Record

INTERPRETED = ("-P", "-m", "app.services.data.isolated.reader")


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Sent to the reader, once: the format, the files, and the reader's parameters."""

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
        """Make the request from the arguments of a reader in this process."""
        names = tuple(file.name for file in files)
        told = dict(context.options), context.limits, context.protocol
        return cls(format, names, *told, log.skip_bad_lines, parts)


@dataclass(frozen=True, slots=True)
class BadLine:
    """An item among records, at the place where a bad line was found: the line and the reason."""

    at: LineLocation
    reason: str


@dataclass(frozen=True, slots=True)
class SplitCampaignStart:
    """An item among records: the records that follow belong to the campaign for this value."""

    value: str


@dataclass(frozen=True, slots=True)
class RecordsRead:
    """Sent by the reader: the records that it read next."""

    items: Sequence[Record | BadLine | SplitCampaignStart]


@dataclass(frozen=True, slots=True)
class FileReadingStart:
    """Sent by the reader: it reads the file with this number from its start.

    Streams are numbered as they are opened.
    """

    file: int


@dataclass(frozen=True, slots=True)
class BytesRequest:
    """Sent by the reader, which waits for the answer: a request for up to `size` bytes of a stream."""

    stream: int
    size: int


@dataclass(frozen=True, slots=True)
class CampaignLookupRequest:
    """Sent by the reader, which waits for the answer: a request for what tasks show, or for the campaign's outline."""

    shown: bool


@dataclass(frozen=True, slots=True)
class ReaderFault:
    """Sent by the reader, last: the error raised. after_bad_lines: whether its places follow all bad lines."""

    kind: type[AppError]
    detail: str
    places: tuple[Place, ...]
    after_bad_lines: bool
