"""Read the lines of a delimited file cell by cell, through a column map."""

from __future__ import annotations

import csv
from collections.abc import Mapping

from app import protocols
from app.formats.base import LineLocation
from app.formats.kit.campaigns_in_file import RowCampaign
from app.formats.kit.column_map import UNITS, ColumnMap
from app.formats.kit.numbers import parse_number
from app.formats.kit.sortable_rows import JUDGMENT, TEXT, SortableRow, pack_unix_time
from app.formats.kit.strict_json import canonical_json

LONGEST = 1000
WHOLE = "0" * 10
Languages = tuple[str, str] | None


def split_cells(line: str, columns: ColumnMap) -> list[str]:
    """Split a line into cells. Raises ValueError if a quote is not closed, or is within a cell."""
    if not columns.quoting or '"' not in line:
        return line.split(columns.delimiter)
    try:
        return next(csv.reader([line], delimiter=columns.delimiter, strict=True))
    except csv.Error:
        raise ValueError("a double quote is not closed, or stands within a cell") from None


class RowCells:
    """The cells of a line by their meaning."""

    def __init__(self, cells: list[str], header: Mapping[str, int], columns: ColumnMap) -> None:
        self._found, self._header, self._map = cells, header, columns

    def get(self, meaning: str) -> str:
        """Return the text of a cell, its constant if the map has one, or an empty string."""
        column = self._map.columns.get(meaning)  # type: ignore[call-overload]  # a key of the TypedDict
        if column is None:
            return self._map.constants.get(meaning, "")  # type: ignore[call-overload, no-any-return]  # so too
        return self._found[self._header[column]]

    def surplus_cells(self) -> list[str]:
        """Return the cells after those with a name."""
        return self._found[len(self._header) :]

    def get_by_column_name(self, name: str) -> str:
        """Return the text of a column by the column's own name."""
        return self._found[self._header[name]]

    def get_required_name(self, meaning: str, otherwise: str = "") -> str:
        """Return a cell that names something. Raises ValueError if it is empty or too long."""
        text = self.get(meaning).strip() or otherwise
        if not text:
            raise ValueError(f"the {meaning} is empty")
        if len(text) > LONGEST:
            raise ValueError(f"the {meaning} has more than {LONGEST} characters")
        return text

    @property
    def is_rated_by_criteria(self) -> bool:
        """Whether this row has scores by several criteria."""
        if not self._map.criteria:
            return False
        judged = self._map.protocol or self._map.protocols[self.get("protocol").strip()].protocol
        return "scores" in protocols.get_protocol(judged).payload.model_fields

    def score_as_text(self) -> str:
        """Return the score as text, empty if there is none. Raises ValueError."""
        text = self.get("score").strip()
        return repr(parse_number(text)) if text else ""

    def scores_as_json(self) -> str:
        """Return the existing scores, by criterion, as JSON; empty if there are none. Raises ValueError."""
        given = {name: self.get_by_column_name(column).strip() for name, column in self._map.criteria.items()}
        score_of: dict[str, float] = {}
        for name, text in given.items():
            try:
                score_of |= {name: parse_number(text)} if text else {}
            except ValueError as fault:
                raise ValueError(f"{name}: {fault}") from None
        return canonical_json(score_of) if score_of else ""

    def find_skip_reason(self) -> str | None:
        """Return why this row is not imported, None if it is."""
        for rule in self._map.leave_out:
            text = self.get_by_column_name(rule.column)
            if text in rule.values or (not rule.values and text):
                return rule.reason
        return None

    def kept_columns(self) -> dict[str, object]:
        """Return the non-empty columns that are kept with the judgment."""
        return {name: text for name in self._map.keep if (text := self.get_by_column_name(name))}


def parse_position(text: str, first: int) -> int:
    """Return the position, from 1. Raises ValueError."""
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < first:
        raise ValueError(f"the position must be a whole number from {first}, not {text[:40]!r}")
    return int(text) + 1 - first


def parse_row_campaign(cells: RowCells, columns: ColumnMap) -> RowCampaign:
    """Return what a row states about its campaign. Raises ValueError for a protocol that the map does not name."""
    source, target = cells.get("source_language").strip(), cells.get("target_language").strip()
    languages = (source, target) if source and target else None
    if columns.protocol is not None:
        return RowCampaign(languages, columns.protocol, columns.protocol, columns.options)
    value = cells.get("protocol").strip()
    judged = columns.protocols.get(value)
    if judged is None:
        there = ", ".join(sorted(columns.protocols))
        raise ValueError(f"the map knows no protocol {value[:40]!r}; it knows {there}")
    return RowCampaign(languages, value, judged.protocol, judged.options)


def make_sortable_row_of_judgment(
    cells: RowCells, columns: ColumnMap, at: LineLocation, document: str = ""
) -> SortableRow:
    """Return the row of a judgment, with its part not yet set. Raises ValueError with the fault."""
    rater = cells.get_required_name("rater")
    kind = cells.get("type").strip()
    role = columns.types.get(kind, "") if "type" in columns.columns else "rating"
    if not role:
        raise ValueError(f"unknown type {kind[:40]!r}; there are {', '.join(columns.types)}")
    whole = "whole" in columns.columns and cells.get("whole").strip().casefold() == columns.whole.casefold()
    presented = cells.get("presented").strip()
    return SortableRow(
        part="",
        document=document or cells.get_required_name("document"),
        position=WHOLE if whole else f"{parse_position(cells.get('position').strip(), columns.first_position):010d}",
        system=cells.get_required_name("system"),
        kind=JUDGMENT,
        presented=presented or ("" if role == "rating" else role),
        rater=rater,
        task=cells.get_required_name("task", rater),
        ended=pack_unix_time(cells.get("ended").strip(), UNITS[columns.time]),
        started=pack_unix_time(cells.get("started").strip(), UNITS[columns.time]),
        role=role,
        score=cells.scores_as_json() if cells.is_rated_by_criteria else cells.score_as_text(),
        errors=cells.get("errors"),
        source=f"={cells.get('source')}" if "source" in columns.columns else "",
        target=f"={cells.get('target')}" if "target" in columns.columns else "",
        person=cells.get("person").strip()[:LONGEST],
        domain=cells.get("domain").strip()[:LONGEST],
        meta=canonical_json(kept) if (kept := cells.kept_columns()) else "",
        file=at.file,
        line=str(at.line),
    )


def make_sortable_row_of_text(
    part: str, document: str, position: int, system: str, source: str, target: str, at: LineLocation
) -> SortableRow:
    """Return the row of a text, which sorts before all judgments of it."""
    place = part, document, f"{position:010d}", system, TEXT
    said = ("",) * 8
    return SortableRow._make((*place, *said, source, target, "", "", "", at.file, str(at.line)))
