"""A table of raters, as a vendor's coordinator sends it: a header with column names, then one rater per line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.domain.delimited_text import MalformedDelimitedText, read_delimited_rows
from app.domain.errors import Invalid, Place

COLUMNS = ("rater", "state", "team", "capacity", "capacity_unit", "languages", "person", "name", "email", "note")
CONTACT = ("name", "email", "note")
ATTRIBUTE = "attribute."
ALIASES = {"e-mail": "email", "mail": "email"}
"""Other names of columns in vendors' tables."""
_LANGUAGES = re.compile(r"[\s,;]+")


@dataclass(frozen=True, slots=True)
class RaterTableLine:
    """A line of the table. line: from 1, with the header as line 1. values: fields of an enrolment, without empty ones.

    key: empty if the table has no column of keys.
    """

    line: int
    key: str
    values: Mapping[str, object]


def parse_rater_table(text: str, *, keyless: bool = False) -> list[RaterTableLine]:
    """Parse the raters of a table with columns separated by commas, semicolons or tabs.

    Columns are `COLUMNS` and `attribute.NAME`; `rater` is required unless the table may be keyless.

    Raises Invalid naming the line.
    """
    lines = read_delimited_rows(text)
    try:
        header = [_column(name) for name in next(lines, (1, []))[1]]
        _check_header(header, keyless=keyless)
        rows = [_row(line, header, cells) for line, cells in lines if any(cell.strip() for cell in cells)]
    except MalformedDelimitedText as error:
        raise _fault(error.line, str(error)) from None
    if not rows:
        raise _fault(2, "there is no rater below the header")
    return rows


def _column(heading: str) -> str:
    name = heading.strip().lower()
    return ALIASES.get(name, name)


def _check_header(header: list[str], *, keyless: bool) -> None:
    if "rater" not in header and not keyless:
        raise _fault(1, f"the header must name the column rater; others are {', '.join(COLUMNS[1:])}, {ATTRIBUTE}NAME")
    for name in header:
        if name not in COLUMNS and not (name.startswith(ATTRIBUTE) and name != ATTRIBUTE):
            raise _fault(1, f"{name[:100]!r} is no column; these are {', '.join(COLUMNS)}. Name others {ATTRIBUTE}NAME")
        if header.count(name) > 1:
            raise _fault(1, f"the column {name[:100]} stands twice")


def _row(line: int, header: list[str], cells: list[str]) -> RaterTableLine:
    if len(cells) > len(header):
        raise _fault(line, f"it has {len(cells)} cells, the header {len(header)}")
    filled = {name: cell.strip() for name, cell in zip(header, cells, strict=False) if cell.strip()}
    return RaterTableLine(line, filled.pop("rater", ""), dict(_values(line, filled)))


def _values(line: int, filled: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    readers: Mapping[str, Callable[[str], object]] = {
        "capacity": lambda cell: _whole(line, cell),
        "languages": lambda cell: [code for code in _LANGUAGES.split(cell) if code],
    }
    contact = {name: cell for name, cell in filled.items() if name in CONTACT}
    attributes = {name.removeprefix(ATTRIBUTE): cell for name, cell in filled.items() if name.startswith(ATTRIBUTE)}
    for name, cell in filled.items():
        if name not in CONTACT and not name.startswith(ATTRIBUTE):
            yield name, readers.get(name, str)(cell)
    if contact:
        yield "contact", contact
    if attributes:
        yield "attributes", attributes


def _whole(line: int, cell: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", cell):
        raise _fault(line, "capacity must be a whole number")
    return int(cell)


def make_rater_table_error(faults: Iterable[tuple[int, str]]) -> Invalid:
    """Make the error for a table. faults: line number and fault."""
    places = tuple(Place(("body", "table", line), f"line {line}: {fault}") for line, fault in faults)
    return Invalid("nobody was enrolled because the table contains errors", places=places)


def _fault(line: int, what: str) -> Invalid:
    return make_rater_table_error([(line, what)])
