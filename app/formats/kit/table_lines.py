"""Rows of a delimited file: a cell in double quotes may extend over several lines of the file."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain

from app.formats.base import InputFile, LineLocation, ReaderLimits, ReadLog
from app.formats.kit.column_map import ColumnMap
from app.formats.kit.reading import read_lines

Numbered = tuple[int, str]
BLANK = "the line is empty"


def read_table_lines(file: InputFile, columns: ColumnMap, limits: ReaderLimits, log: ReadLog) -> Iterator[Numbered]:
    """Yield the number of the first line (from 1) and the text of each row; line ends within a row are LF.

    Only maps with quoting have rows of several lines. If a quote is never closed, the following lines are not lost: its
    line is its own row, which `split_cells` refuses.

    Raises Invalid as `read_lines` does.
    """
    if not columns.quoting:
        return read_lines(file, limits, log)
    return _without_blanks(_rows(read_lines(file, limits, log, empty=True), columns, limits), file.name, log)


def _rows(lines: Iterator[Numbered], columns: ColumnMap, limits: ReaderLimits) -> Iterator[Numbered]:
    returned: deque[Numbered] = deque()
    while (at := returned.popleft() if returned else next(lines, None)) is not None:
        number, line = at
        if '"' in line:
            covers_whole_file, taken = _take_row(line, chain(_drain(returned), lines), columns, limits)
            if covers_whole_file:
                line = "\n".join((line, *(text for _, text in taken)))
            else:
                returned.extendleft(reversed(taken))
        yield number, line


def _drain(lines: deque[Numbered]) -> Iterator[Numbered]:
    while lines:
        yield lines.popleft()


def _take_row(
    first: str, lines: Iterable[Numbered], columns: ColumnMap, limits: ReaderLimits
) -> tuple[bool, list[Numbered]]:
    """Return whether the row that begins with `first` ends properly, and the further lines read to check this."""
    taken: list[Numbered] = []

    def pull() -> Iterator[str]:
        size = len(first)
        yield f"{first}\n"
        for number, line in lines:
            taken.append((number, line))
            size += len(line) + 1
            if size > limits.line_bytes:
                return
            yield f"{line}\n"

    try:
        next(csv.reader(pull(), delimiter=columns.delimiter, strict=True))
    except csv.Error:
        return False, taken
    return True, taken


def _without_blanks(rows: Iterator[Numbered], file: str, log: ReadLog) -> Iterator[Numbered]:
    """Yield non-empty rows; an empty one is a bad line, but is tolerated at the very end."""
    blank = 0
    for number, row in rows:
        if blank:
            log.record_bad_line(LineLocation(file, blank), BLANK)
            blank = 0
        if row:
            yield number, row
        else:
            blank = number
    if blank:
        log.repaired["empty line at the end"] += 1
