"""Workbooks with any columns, as tables: the first sheet, with one line for each non-empty row."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date, datetime
from typing import IO

from app.domain.errors import Invalid
from app.formats.base import InputFile, LineLocation, ReaderLimits, ReadLog
from app.formats.kit.column_map import ColumnMap
from app.formats.kit.reading import refuse_file
from app.formats.xlsx.reader import BROKEN, MOST_ROWS, check_workbook, copy_file_within_limit

MOST_COLUMNS = 1000
SUFFIX = ".xlsx"
LINE_END = re.compile(r"\r\n?")
ARCHIVE = b"PK\x03\x04"  # first bytes of every non-empty zip archive


def convert_workbooks_to_delimited_text(
    columns: ColumnMap, files: Sequence[InputFile], limits: ReaderLimits, log: ReadLog
) -> tuple[ColumnMap, list[InputFile]]:
    """Convert workbooks to delimited text, and adapt the map; other files are unchanged.

    A workbook is recognized by name and first bytes. A file with only the name is read as text, because the page that
    shows a workbook sends its first sheet as text. Raises Invalid if there are both kinds.
    """
    books = [file.name.lower().endswith(SUFFIX) and _is_archive(file) for file in files]
    if not any(books):
        return columns, list(files)
    if not all(books):
        raise Invalid("workbooks and delimited files cannot be read through one map; save all of them as one kind")
    cut = columns.model_copy(update={"delimiter": ",", "quoting": True})
    return cut, [InputFile(file.name, lambda file=file: _open_first_sheet(file, limits, log)) for file in files]  # type: ignore[misc]  # the file of this turn


def _is_archive(file: InputFile) -> bool:
    with closing(file.open()) as data:
        return data.read(len(ARCHIVE)) == ARCHIVE


def _open_first_sheet(file: InputFile, limits: ReaderLimits, log: ReadLog) -> IO[bytes]:
    """Return the first sheet as text, from its start. Raises Invalid if it is not a workbook."""
    made = tempfile.TemporaryFile()  # noqa: SIM115  (whoever reads it closes it)
    try:
        with tempfile.TemporaryFile() as held:
            copy_file_within_limit(file, held, log)
            check_workbook(file, held, limits, log)
            for cells in _rows(file, held, log):
                line = io.StringIO()
                csv.writer(line, lineterminator="\n").writerow(cells)
                made.write(line.getvalue().encode())
    except BaseException:
        made.close()
        raise
    made.seek(0)
    return made


def _rows(file: InputFile, held: IO[bytes], log: ReadLog) -> Iterator[list[str]]:
    """Yield the cells of non-empty rows, at least as many as the heading has."""
    from openpyxl import load_workbook

    width = 0
    try:
        with closing(load_workbook(held, read_only=True, data_only=True)) as book:
            rows = book.worksheets[0].iter_rows(max_row=MOST_ROWS + 1, max_col=MOST_COLUMNS, values_only=True)
            for number, values in enumerate(rows, 1):
                cells = [_text(value) for value in values]
                while cells and not cells[-1]:
                    cells.pop()
                if number > MOST_ROWS and cells:
                    refuse_file(log, LineLocation(file.name, number), f"the sheet has more than {MOST_ROWS:,} rows")
                width = width or len(cells)
                if cells:
                    yield cells + [""] * (width - len(cells))
    except BROKEN as fault:
        refuse_file(
            log, LineLocation(file.name, 0), f"this is no spreadsheet that can be read ({type(fault).__name__})"
        )


def _text(value: object) -> str:
    """Return a cell as it would be typed: integers without a point, times in ISO 8601, line ends as LF."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, datetime | date):
        value = value.isoformat()
    return "" if value is None else LINE_END.sub("\n", str(value)).strip()
