"""Line-aligned files: the same line of each is the same segment, and one file may name its document."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import islice

from app.domain.keys import convert_name_to_key
from app.formats.base import (
    DocumentRecord,
    InputFile,
    LineLocation,
    OutputRow,
    ReadContext,
    ReadLog,
    Record,
    SegmentRow,
    SystemRecord,
)
from app.formats.kit.reading import read_lines, refuse_file
from app.formats.kit.whitespace import WhitespaceStripper

Place = tuple[str, int]
Named = Callable[[str], tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class FileRoles:
    """The role of each file.

    references and systems: by name. skipped: number of lines to skip at the start, by file name.
    """

    source: InputFile | None
    docs: InputFile | None
    references: Mapping[str, InputFile]
    systems: Mapping[str, InputFile]
    human: frozenset[str] = frozenset()
    skipped: Mapping[str, int] = field(default_factory=dict)

    def in_reading_order(self) -> list[InputFile]:
        """Return every file, in the order in which lines are read."""
        alone = [file for file in (self.docs, self.source) if file is not None]
        return [*alone, *self.references.values(), *self.systems.values()]


@dataclass(frozen=True, slots=True)
class LineDocumentMapping:
    """How lines are assigned to documents.

    named: document and domain in a line of the file of documents. only: the single document of all lines, if no file
    states more; None uses the documents that the campaign has, in their order. each_line: instead, each line is its own
    document. seen: called with the place of each line.
    """

    named: Named
    only: str | None = None
    each_line: bool = False
    seen: Callable[[Place], None] | None = None


def read_line_aligned_files(
    roles: FileRoles, document_mapping: LineDocumentMapping, context: ReadContext, log: ReadLog
) -> Iterator[Record]:
    """Yield the test set of all files. Raises Invalid if their numbers of lines differ, or if they are empty."""
    for name, file in roles.systems.items():
        yield SystemRecord(
            LineLocation(file.name, 1), _key(log, "system", name), name, "human" if name in roles.human else "mt"
        )
    placed = (
        _iterate_known_segments(context)
        if roles.docs is None and document_mapping.only is None and not document_mapping.each_line
        else None
    )
    documents = _Documents(roles, document_mapping, log, placed)
    strip = WhitespaceStripper(log)
    at: Mapping[str, LineLocation] = {}
    said = False
    for at, row in _rows(roles, context, log):
        said = said or any(map(str.strip, row.values()))
        for record in documents.segment(at, row):
            yield strip(record)
    if not said and not log.n_bad:
        refuse_file(log, LineLocation(roles.in_reading_order()[0].name, 1), "there is nothing but white space")
    if placed is not None and next(placed, None) is not None:
        last = max(at.values(), key=lambda place: place.line, default=LineLocation(roles.in_reading_order()[0].name, 0))
        refuse_file(
            log, LineLocation(last.file, last.line + 1), "the files end here, and the campaign has more segments"
        )


def make_single_line_document_name(n: int) -> str:
    """Return the name of the nth document that is a single line.

    >>> make_single_line_document_name(12)
    'text-12'
    """
    return f"text-{n}"


class _Documents:
    """Assigns keys and positions line by line. placed: places of the lines, if the campaign gives them."""

    def __init__(
        self, roles: FileRoles, placing: LineDocumentMapping, log: ReadLog, placed: Iterator[Place] | None
    ) -> None:
        self._roles, self._placing, self._log, self._placed = roles, placing, log, placed
        self._next: dict[str, int] = {}

    def segment(self, at: Mapping[str, LineLocation], row: Mapping[str, str]) -> Iterator[Record]:
        """Yield the records of one line of all files."""
        roles, where = self._roles, next(iter(at.values()))
        declared, (key, position) = self._place(where, row)
        if self._placing.seen is not None:
            self._placing.seen((key, position))
        if declared is not None:
            yield declared
        source = None if roles.source is None else row[roles.source.name]
        references = {name: row[file.name] for name, file in roles.references.items()}
        if source is not None or references or self._placed is None:
            yield SegmentRow(where, key, position, source, references or None)
        for system, file in roles.systems.items():
            yield OutputRow(at[file.name], convert_name_to_key(system), key, position, row[file.name])

    def _place(self, where: LineLocation, row: Mapping[str, str]) -> tuple[DocumentRecord | None, Place]:
        if self._placed is not None:
            place = next(self._placed, None)
            if place is None:
                refuse_file(self._log, where, "the campaign has fewer segments than the files have lines")
            return None, place
        docs = self._roles.docs
        if docs is not None:
            name, domain = self._placing.named(row[docs.name])
        elif self._placing.each_line:
            name, domain = make_single_line_document_name(len(self._next) + 1), None
        else:
            name, domain = self._placing.only or "all", None
        key = _key(self._log, "document", name)
        position = self._next[key] = self._next.get(key, 0) + 1
        declared = DocumentRecord(where, key, name, domain=domain, position=len(self._next)) if position == 1 else None
        return declared, (key, position)


def _iterate_known_segments(context: ReadContext) -> Iterator[Place] | None:
    """Return the segments that the campaign has already, in their order; None if it has none."""
    outline = context.outline()
    return ((key, n) for key, length in outline for n in range(1, length + 1)) if outline else None


def _rows(
    roles: FileRoles, context: ReadContext, log: ReadLog
) -> Iterator[tuple[Mapping[str, LineLocation], Mapping[str, str]]]:
    """Yield the lines of all files in parallel."""
    files = roles.in_reading_order()
    ahead = [roles.skipped.get(file.name, 0) for file in files]
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(_stream(file, context, log))) for file in files]
        for stream, n in zip(streams, ahead, strict=True):
            next(islice(stream, n, n), None)
        number = 0
        while True:
            number += 1
            at = {file.name: LineLocation(file.name, number + n) for file, n in zip(files, ahead, strict=True)}
            row = [next(stream, None) for stream in streams]
            ended = [file.name for file, line in zip(files, row, strict=True) if line is None]
            if len(ended) == len(files):
                return
            if ended:
                refuse_file(log, at[ended[0]], "the file ends here, and others go on")
            if roles.docs is not None and not (row[0] or "").strip():
                log.record_bad_line(at[roles.docs.name], "no document is named")
                continue
            yield at, dict(zip((file.name for file in files), map(str, row), strict=True))


def _stream(file: InputFile, context: ReadContext, log: ReadLog) -> Generator[str, None, None]:
    """Yield every line; an unreadable one is a bad line and is replaced by an empty one."""
    expected = 1
    for number, line in read_lines(file, context.limits, log, empty=True):
        while expected < number:
            expected += 1
            yield ""
        expected += 1
        yield line


def count_lines(file: InputFile, context: ReadContext) -> int:
    """Count the lines of a file; faults are reported when the file is read again."""
    return sum(1 for _ in _stream(file, context, ReadLog(skip_bad_lines=True)))


def parse_list_option(options: Mapping[str, str], name: str) -> list[str]:
    """Return the values of an option that takes several, separated by commas."""
    return [part.strip() for part in options.get(name, "").split(",") if part.strip()]


def index_input_files_by_name(files: Sequence[InputFile]) -> Mapping[str, InputFile]:
    """Return files by their names."""
    return {file.name: file for file in files}


def _key(log: ReadLog, noun: str, name: str) -> str:
    key = convert_name_to_key(name)
    if key != name:
        log.record_mapped_name(noun, name, key)
    return key
