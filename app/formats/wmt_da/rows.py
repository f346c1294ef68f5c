"""Rows of a `wmt-da` file: columns by name, checked values, and a sortable form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import NamedTuple

from app.formats.base import LineLocation, ReadLog, RoleName
from app.formats.kit.numbers import parse_number

COLUMNS = (
    "HITId",
    "WorkerId",
    "Input.src",
    "Input.trg",
    "Input.item",
    "hit",
    "sys_id",
    "rid",
    "type",
    "sid",
    "score",
    "time",
)
ROLES: Mapping[str, RoleName] = {"SYSTEM": "rating", "REPEAT": "repeat", "REF": "reference", "BAD_REF": "degraded"}
LONGEST = 300
MOST_REMEMBERED = 10_000
LARGEST_Z = 1e6
UNKNOWN = "unknown"
_CELL = re.compile(r'"([^"]*+)"(?=[ \t]|$)|([^ \t"]++)(?=[ \t]|$)|(\S(?s:.)*+)')
_SID = re.compile(r"(?:(?P<document>.+)\.)?(?P<position>\d{1,9})(?:_\d{1,9})?", re.ASCII)


class DaRow(NamedTuple):
    """One row in sortable form; the fields before `score` tell what was judged, by whom, and in which presentation."""

    document: str
    position: str
    sid: str
    system: str
    hit_id: str
    worker: str
    rid: str
    type: str
    score: str
    time: str
    hit: str
    item: str
    unfiltered: str
    file: str
    line: str

    def encode_sort_entry(self) -> bytes:
        """Encode the row as bytes that sort field by field."""
        return "\0".join(self).encode()

    @classmethod
    def decode_sort_entry(cls, entry: bytes) -> DaRow:
        """Decode what `encode_sort_entry` returns."""
        return cls._make(entry.decode().split("\0"))

    @property
    def line_location(self) -> LineLocation:
        """Place from which the row was read."""
        return LineLocation(self.file, int(self.line))


def split_da_cells(line: str) -> list[str]:
    """Split a line into cells at tabs and blanks; a name in double quotes may contain blanks.

    Raises ValueError if a quote is not closed or is within a cell.

    >>> split_da_cells('NA\\tevaluator1  "Online W"')
    ['NA', 'evaluator1', 'Online W']
    """
    if '"' not in line:
        return line.split() if line.isascii() else [cell for cell in re.split(r"[ \t]+", line) if cell]
    cells = []
    for quoted, plain, stray in _CELL.findall(line):
        if stray:
            raise ValueError("a double quote is not closed, or stands within a cell")
        cells.append(plain or quoted)
    return cells


def parse_document_or_position(sid: str) -> str:
    """Return the key of segments that must be read together: the document, or the position if it is unknown.

    >>> [parse_document_or_position(sid) for sid in ("news.12", "news.13_1", "0012")]
    ['news', 'news', '#12']
    """
    place = _SID.fullmatch(sid)
    if place is None:
        return ""
    return place["document"] or f"#{int(place['position'])}"


def describe_header_fault(cells: list[str]) -> str | None:
    """Return why the first line is not the required header, None if it is."""
    if sorted(cells) == sorted(COLUMNS):
        return None
    missing = [name for name in COLUMNS if name not in cells]
    what = f"lacks {', '.join(missing)}" if missing else "has columns too many"
    columns_there = ", ".join(cell[:40] for cell in cells[:20])
    return f"the header {what}; found {columns_there}; needed are {', '.join(COLUMNS)}"


class DaRowReader:
    """Turns lines into rows; a line that it cannot read goes to the log as a bad line."""

    def __init__(self, file: str, header: list[str], log: ReadLog, *, unfiltered: bool, standardised: bool) -> None:
        self._file, self._log = file, log
        self._cells = itemgetter(*(header.index(name) for name in COLUMNS))
        self._places: dict[str, tuple[str, str]] = {}
        self._scores: dict[str, str] = {}
        self._unfiltered = "1" if unfiltered else "0"
        self._standardised = standardised

    def parse_line(self, line_number: int, line: str) -> tuple[DaRow, tuple[str, str]] | None:
        """Return the row of a line with its language pair, None if it is a bad line."""
        try:
            return self._row(line_number, line)
        except ValueError as fault:
            self._log.record_bad_line(LineLocation(self._file, line_number), str(fault))
            return None

    def _row(self, line_number: int, line: str) -> tuple[DaRow, tuple[str, str]]:
        cells = split_da_cells(line)
        if len(cells) != len(COLUMNS):
            raise ValueError(f"there are {len(cells)} columns where {len(COLUMNS)} are needed")
        hit_id, worker, source, target, item, hit, system, rid, kind, sid, score, time = self._cells(cells)
        if (len(line) > LONGEST and max(map(len, cells)) > LONGEST) or not system or not worker:
            raise ValueError(f"a cell is empty or has more than {LONGEST} characters")
        if kind not in ROLES:
            raise ValueError(f"unknown type {kind[:40]!r}; there are {', '.join(ROLES)}")
        document, position = self._places.get(sid) or self._place(sid)
        scored = self._scores.get(score) or self._score(score)
        seconds = "" if time == "NA" else repr(parse_number(time))
        judged = (document, position, sid, system, hit_id, worker, rid, kind, scored)
        row = DaRow(*judged, seconds, hit, item, self._unfiltered, self._file, str(line_number))
        return row, (source, target)

    def _place(self, sid: str) -> tuple[str, str]:
        """Document and padded position of a segment."""
        place = _SID.fullmatch(sid)
        if place is None or not int(place["position"]):
            raise ValueError(f"sid {sid[:60]!r} is neither a number from 1 nor document.number")
        if len(self._places) >= MOST_REMEMBERED:
            self._places.clear()
        self._places[sid] = document_and_position = place["document"] or "", place["position"].zfill(10)
        return document_and_position

    def _score(self, text: str) -> str:
        """Return the number as it is stored, if it is on the scale."""
        score = parse_number(text)
        if self._standardised:
            if abs(score) > LARGEST_Z:
                raise ValueError(f"standardised score {text[:40]} is out of any range")
        elif not 0 <= score <= 100:
            raise ValueError(f"score {text[:40]} is not from 0 to 100 (for standardised scores: --option scale=z)")
        if len(self._scores) >= MOST_REMEMBERED:
            self._scores.clear()
        self._scores[text] = score_text = repr(score)
        return score_text
