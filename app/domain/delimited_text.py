"""Reads small delimited tables that people send as text, in the form that spreadsheets write."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

SEPARATORS: Final = (",", ";", "\t")


class MalformedDelimitedText(ValueError):
    """A double quote is not closed, or occurs within a cell. line: from 1, where the row begins."""

    def __init__(self, line: int) -> None:
        super().__init__("a double quote is not closed, or stands within a cell")
        self.line = line


def read_delimited_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows of cells separated by commas, semicolons or tabs, each with its first line, from 1.

    A byte order mark is skipped. A cell in double quotes may contain separators and line ends, which become LF. Raises
    MalformedDelimitedText.

    >>> list(read_delimited_rows('key;note\\r\\nr1;"a;\\r\\nb"\\r\\nr2;\\r\\n'))
    [(1, ['key', 'note']), (2, ['r1', 'a;\\nb']), (4, ['r2', ''])]
    """
    lines = io.StringIO(text.removeprefix("\ufeff"), newline=None)
    header = next(lines, "")
    lines.seek(0)
    rows = csv.reader(lines, delimiter=max(SEPARATORS, key=header.count), strict=True)
    line = 1
    try:
        for cells in rows:
            yield line, cells
            line = rows.line_num + 1
    except csv.Error:
        raise MalformedDelimitedText(line) from None
