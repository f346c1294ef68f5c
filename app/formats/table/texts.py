"""Delimited files of texts, read through a column map: one row per segment, or one per system's output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app.formats.base import (
    CampaignRow,
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
from app.formats.kit.column_map import ColumnMap
from app.formats.kit.names import KeyAssigner
from app.formats.kit.parallel_lines import make_single_line_document_name
from app.formats.kit.reading import record_unread_names, refuse_file
from app.formats.kit.row_cells import RowCells, parse_position, split_cells
from app.formats.kit.table_lines import read_table_lines
from app.formats.kit.whitespace import WhitespaceStripper

ONLY = "all"


def read_texts(files: Sequence[InputFile], columns: ColumnMap, context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield a test set, or a part of one. Raises Invalid with every bad line, unless they are skipped."""
    strip, texts = WhitespaceStripper(log), _Texts(columns, context, log)
    at = LineLocation(files[0].name if files else "", 1)
    source, target = columns.constants.get("source_language"), columns.constants.get("target_language")
    yield CampaignRow(at, columns.protocol, source, target, options=dict(columns.options) or None)
    for file in files:
        for record in texts.read(file):
            yield strip(record)
    log.raise_bad_lines()


class _Texts:
    """Reads rows in order. Without a column `position` the rows of a document are numbered in order, file by file."""

    def __init__(self, columns: ColumnMap, context: ReadContext, log: ReadLog) -> None:
        self._map, self._context, self._log = columns, context, log
        self._documents, self._systems = KeyAssigner("document", log), KeyAssigner("system", log)
        self._told: set[str] = set()
        self._counts: dict[tuple[str, str], int] = {}

    def read(self, file: InputFile) -> Iterator[Record]:
        """Yield the records of a file."""
        header: Mapping[str, int] | None = None
        self._counts.clear()
        for number, line in read_table_lines(file, self._map, self._context.limits, self._log):
            at = LineLocation(file.name, number)
            try:
                line_cells = split_cells(line, self._map)
                if header is None:
                    header, is_header = self._header(line_cells, at)
                    if is_header:
                        continue
                if len(line_cells) != len(header):
                    raise ValueError(f"there are {len(line_cells)} columns where {len(header)} are needed")
                records = list(self._row(RowCells(line_cells, header, self._map), at))
            except ValueError as fault:
                self._log.record_bad_line(at, str(fault))
                continue
            yield from records

    def _header(self, line_cells: Sequence[str], at: LineLocation) -> tuple[Mapping[str, int], bool]:
        """Return the index of each column, and whether this line is a header. Raises Invalid if a column is missing."""
        names = list(self._map.header or (name.strip() for name in line_cells))
        missing = sorted(self._map.needed_columns() - set(names))
        if missing:
            refuse_file(self._log, at, f"the header lacks {', '.join(missing)}; found {', '.join(names)[:500]}")
        if len(set(names)) < len(names):
            refuse_file(self._log, at, "the header names a column twice")
        record_unread_names(self._log, "columns", set(names) - self._map.needed_columns() - {""})
        said = [name.strip().casefold() for name in line_cells]
        return {name: n for n, name in enumerate(names)}, said == [name.casefold() for name in names]

    def _row(self, cells: RowCells, at: LineLocation) -> Iterator[Record]:
        """Yield the records of one row. Raises ValueError before the first record."""
        reason = cells.find_skip_reason()
        if reason is not None:
            self._log.dropped[reason] += 1
            return
        system = cells.get("system").strip()
        if "system" in self._map.columns and not system:
            raise ValueError("the system is empty")
        name, position = self._place(cells, system)
        key = self._documents.assign_key(name)[0]
        domain = cells.get("domain").strip()
        if key not in self._told:
            self._told.add(key)
            yield DocumentRecord(at, key, name, domain=domain or None, position=len(self._told))
        source = cells.get("source") if "source" in self._map.columns else None
        references = {reference: cells.get_by_column_name(column) for reference, column in self._map.references.items()}
        said = cells.get("instructions").strip() if "instructions" in self._map.columns else ""
        if source is not None or references or said:
            yield SegmentRow(at, key, position, source, references or None, {"instructions": said} if said else None)
        outputs = {system: cells.get("target")} if system else {}
        outputs |= {one: cells.get_by_column_name(column) for one, column in self._map.outputs.items()}
        for system_name, text in outputs.items():
            of, is_new = self._systems.assign_key(system_name)
            if is_new:
                yield SystemRecord(at, of, system_name)
            yield OutputRow(at, of, key, position, text)

    def _place(self, cells: RowCells, system: str) -> tuple[str, int]:
        """Return the name of the row's document, and its position there. Raises ValueError if it has none."""
        name = cells.get_required_name("document", ONLY)
        position = self._position(cells, name, system)
        return (make_single_line_document_name(position), 1) if self._map.each_row else (name, position)

    def _position(self, cells: RowCells, document: str, system: str) -> int:
        if "position" in self._map.columns:
            return parse_position(cells.get("position").strip(), self._map.first_position)
        count = self._counts[document, system] = self._counts.get((document, system), 0) + 1
        return count
