"""Read `xlsx`: rows of all sheets, from an untrusted file."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import IO, NamedTuple
from xml.etree.ElementTree import ParseError

from app.formats.base import InputFile, LineLocation, ReaderLimits, ReadLog
from app.formats.kit.reading import RATIO_FROM, refuse_file
from app.formats.xlsx.writer import HIDDEN, Address

PACKED = 256 << 20
UNPACKED = 1 << 30
MOST_PARTS = 20_000
MOST_SHEETS, MOST_ROWS = 500, 200_000  # a row can claim any number, and all rows before it are read as empty
HEAD = 4096
BLOCK = 1 << 18
COLUMNS = 7
# Errors of the library for parts that are missing, truncated or inconsistent; lxml's errors are SyntaxErrors.
BROKEN = (
    zipfile.BadZipFile, zlib.error, ParseError, SyntaxError, KeyError, ValueError, TypeError, AttributeError,
    IndexError, EOFError, OverflowError, NotImplementedError, RuntimeError,
)  # fmt: skip


class SheetRow(NamedTuple):
    """One row below a heading. number: in its sheet. address: task, item, segment."""

    at: LineLocation
    sheet: str
    number: int
    score: object
    address: Address


@dataclass(frozen=True, slots=True)
class _Cells:
    sheet: str
    number: int
    values: tuple[object, ...]


def read_sheet_rows(file: InputFile, limits: ReaderLimits, log: ReadLog) -> Iterator[SheetRow]:
    """Yield rows of all sheets with our columns. Lines count over all sheets. Raises Invalid if it is no workbook."""
    with tempfile.TemporaryFile() as held:
        copy_file_within_limit(file, held, log)
        check_workbook(file, held, limits, log)
        n = n_sheets = 0
        for cells in _read_cells(file, held, log):
            n += 1
            log.lines += 1
            if n > limits.lines:
                refuse_file(log, LineLocation(file.name, n), f"more than {limits.lines:,} lines")
            at = LineLocation(file.name, n)
            if cells.number == 1:
                ours = tuple(cells.values[4:7]) == HIDDEN
                n_sheets += ours
                log.dropped["sheets without the columns task, item and segment"] += not ours
                continue
            if ours and cells.number > MOST_ROWS:
                refuse_file(log, at, f"sheet {cells.sheet} has more than {MOST_ROWS:,} rows")
            if ours and any(value is not None for value in cells.values):
                row = _row(cells, at, log)
                if row is not None:
                    yield row
        if not n_sheets:
            refuse_file(log, LineLocation(file.name, 0), "no sheet has the columns task, item and segment")
    for what in [what for what, count in log.dropped.items() if not count]:
        del log.dropped[what]


def _row(cells: _Cells, at: LineLocation, log: ReadLog) -> SheetRow | None:
    task, item, segment = cells.values[4:7]
    if not isinstance(task, str) or not isinstance(item, int) or not isinstance(segment, int):
        log.record_bad_line(at, f"sheet {cells.sheet}, row {cells.number}: the hidden columns must stay as they are")
        return None
    return SheetRow(at, cells.sheet, cells.number, cells.values[3], (task.removeprefix("'"), item, segment))


def _read_cells(file: InputFile, held: IO[bytes], log: ReadLog) -> Iterator[_Cells]:
    """Yield the cells of every row of every sheet."""
    from openpyxl import load_workbook

    try:
        book = load_workbook(held, read_only=True, data_only=True)
        with closing(book):
            if len(book.worksheets) > MOST_SHEETS:
                refuse_file(log, LineLocation(file.name, 0), f"more than {MOST_SHEETS} sheets")
            for sheet in book.worksheets:
                rows = sheet.iter_rows(max_row=MOST_ROWS + 1, max_col=COLUMNS, values_only=True)
                for number, values in enumerate(rows, 1):
                    padded = (*values, *(None,) * (COLUMNS - len(values)))
                    yield _Cells(str(sheet.title)[:40], number, padded)
    except BROKEN as fault:
        refuse_file(
            log, LineLocation(file.name, 0), f"this is no spreadsheet that can be read ({type(fault).__name__})"
        )


def copy_file_within_limit(file: InputFile, copy: IO[bytes], log: ReadLog) -> None:
    """Copy a file of limited size, so that it can be read at any position. Raises Invalid."""
    size = 0
    with closing(file.open()) as raw:
        while block := raw.read(BLOCK):
            size += len(block)
            if size > PACKED:
                refuse_file(log, LineLocation(file.name, 0), f"more than {PACKED:,} bytes")
            copy.write(block)
    copy.seek(0)


def check_workbook(file: InputFile, copy: IO[bytes], limits: ReaderLimits, log: ReadLog) -> None:
    """Raise Invalid for a file that is not a zip archive, unpacks to too much, or declares entities."""
    try:
        with zipfile.ZipFile(copy) as archive:
            parts = archive.infolist()
            packed, unpacked = sum(p.compress_size for p in parts), sum(p.file_size for p in parts)
            bomb = unpacked > RATIO_FROM and unpacked > limits.ratio * packed
            if len(parts) > MOST_PARTS or unpacked > min(UNPACKED, limits.unpacked_bytes) or bomb:
                refuse_file(log, LineLocation(file.name, 0), "unpacks to too much for a spreadsheet")
            for part in parts:
                with archive.open(part) as stream:
                    head = stream.read(HEAD).upper()
                if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
                    refuse_file(log, LineLocation(file.name, 0), "declares entities, as no spreadsheet does")
    except BROKEN as fault:
        refuse_file(
            log, LineLocation(file.name, 0), f"this is no spreadsheet that can be read ({type(fault).__name__})"
        )
    copy.seek(0)
