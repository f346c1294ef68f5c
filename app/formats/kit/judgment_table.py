"""Read delimited files with one judgment per row, through a column map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app import protocols
from app.domain.errors import Invalid
from app.formats.base import InputFile, JudgmentRow, LineLocation, ReadContext, ReadLog, Record
from app.formats.kit.appraise_spans import parse_appraise_spans
from app.formats.kit.campaigns_in_file import CampaignsInFile, parse_campaign_split_option, split_by_campaign
from app.formats.kit.column_map import ColumnMap
from app.formats.kit.judgment_records import JudgmentTableRecordMaker, Payload
from app.formats.kit.reading import record_unread_names, refuse_file
from app.formats.kit.row_cells import (
    RowCells,
    make_sortable_row_of_judgment,
    make_sortable_row_of_text,
    parse_position,
    parse_row_campaign,
    split_cells,
)
from app.formats.kit.sortable_rows import SortableRow
from app.formats.kit.sorting import ExternalSorter
from app.formats.kit.strict_json import parse_json_value
from app.formats.kit.table_lines import read_table_lines
from app.formats.kit.whitespace import WhitespaceStripper

MOST_SEGMENTS = 2_000_000
Interpret = Callable[[RowCells, ColumnMap, LineLocation], SortableRow | str]
Parts = Iterator[tuple[str, Iterator[Record]]]


def parse_judgment_table_row(cells: RowCells, columns: ColumnMap, at: LineLocation) -> SortableRow | str:
    """Return the row of a judgment, or why it is left out."""
    return cells.find_skip_reason() or make_sortable_row_of_judgment(cells, columns, at)


@dataclass(slots=True)
class JudgmentTableReader:
    """Reads files into sorted rows and makes records from them.

    interpret: makes a row from cells; raises ValueError. persons: who owns an account, if a file states it.
    """

    columns: ColumnMap
    context: ReadContext
    log: ReadLog
    interpret: Interpret = parse_judgment_table_row
    persons: Mapping[str, str] = field(default_factory=dict)
    places: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)

    def read_records(self, files: Sequence[InputFile]) -> Iterator[Record]:
        """Yield records of all files as one campaign. Raises Invalid if there are several."""
        if parse_campaign_split_option(self.context):
            raise Invalid("with the option split the files make several campaigns; this is about one")
        for _, records in self.read_records_by_campaign(files):
            yield from records

    def read_records_by_campaign(self, files: Sequence[InputFile]) -> Parts:
        """Yield one stream of records for each campaign in the files; read each before the next."""
        abouts = CampaignsInFile(parse_campaign_split_option(self.context))
        with ExternalSorter() as rows:
            texts = [file for file in files if self._load(file, rows, abouts)]
            for file in texts:
                self._load_texts(file, rows, abouts)
            self.log.raise_bad_lines()
            if not abouts.found:
                abouts.make_campaign_row("", files)
            yield from split_by_campaign(
                rows, abouts, files, self.log, lambda part, group: self._records(part, group, abouts)
            )

    def _records(self, part: str, rows: Iterator[SortableRow], abouts: CampaignsInFile) -> Iterator[Record]:
        (first, _), *_ = abouts.found[part].values()
        strip = WhitespaceStripper(self.log)
        make = JudgmentTableRecordMaker(self.log, make_payload_parser(first.judged_by, self.log), self.columns.again)
        n = 0
        for record in make.make_records(rows):
            n += isinstance(record, JudgmentRow)
            yield strip(record)
        if not n and not self.log.n_bad:
            raise Invalid(f"there are no judgments of {part}" if part else "there are no judgments")

    def _load(self, file: InputFile, rows: ExternalSorter, abouts: CampaignsInFile) -> bool:
        """Read a file of judgments; return True if it has only texts, to be read when all segments are known."""
        header: dict[str, int] | None = None
        for number, line in read_table_lines(file, self.columns, self.context.limits, self.log):
            at = LineLocation(file.name, number)
            if header is None:
                header, is_line = self._header(line, at)
                if header.keys() >= set((self.columns.texts or {}).values()) and not self._judges(header):
                    return bool(self.columns.texts)
                if is_line:
                    continue
            try:
                self._row(line, header, at, rows, abouts)
            except ValueError as fault:
                self.log.record_bad_line(at, str(fault))
        return False

    def _judges(self, header: Mapping[str, int]) -> bool:
        return header.keys() >= self.columns.needed_columns()

    def _header(self, line: str, at: LineLocation) -> tuple[dict[str, int], bool]:
        """Return the index of each column, and whether the line is a header. Raises Invalid if a column is missing."""
        try:
            names = [name.strip() for name in split_cells(line, self.columns)]
        except ValueError as fault:
            refuse_file(self.log, at, str(fault))
        fixed = self.columns.header
        if fixed is not None and [n.casefold() for n in names[: len(fixed)]] != [n.casefold() for n in fixed]:
            return {name: i for i, name in enumerate(fixed)}, False
        column_index = {name: i for i, name in enumerate(fixed or names)}
        wanted = set((self.columns.texts or {}).values())
        missing = sorted(self.columns.needed_columns() - column_index.keys())
        if missing and not (wanted and column_index.keys() >= wanted):
            shown = ", ".join(name[:40] for name in names[:30])
            refuse_file(self.log, at, f"the header lacks {', '.join(missing)}; found {shown}")
        if len(column_index) < len(names) and fixed is None:
            refuse_file(self.log, at, "the header names a column twice")
        record_unread_names(self.log, "columns", column_index.keys() - self.columns.needed_columns() - wanted - {""})
        return column_index, True

    def _cells(self, line: str, header: Mapping[str, int]) -> RowCells:
        cells = split_cells(line, self.columns)
        if len(cells) != len(header) and not (self.columns.header is not None and len(cells) > len(header)):
            raise ValueError(f"there are {len(cells)} columns where {len(header)} are needed")
        return RowCells(cells, header, self.columns)

    def _row(
        self, line: str, header: Mapping[str, int], at: LineLocation, rows: ExternalSorter, abouts: CampaignsInFile
    ) -> None:
        cells = self._cells(line, header)
        said = parse_row_campaign(cells, self.columns)
        row = self.interpret(cells, self.columns, at)
        if isinstance(row, str):
            self.log.dropped[row] += 1
            return
        part = abouts.add_row_campaign(said, at)
        row = row._replace(part=part, person=row.person or self.persons.get(row.rater, ""))
        if self.columns.texts is not None:
            self._remember(part, row)
        rows.add(row.encode_sort_entry())

    def _remember(self, part: str, row: SortableRow) -> None:
        if len(self.places) >= MOST_SEGMENTS:
            raise Invalid(f"more than {MOST_SEGMENTS:,} segments whose texts stand in another file")
        known = self.places.setdefault((part, int(row.position)), (row.document, row.domain))
        if known[0] != row.document:
            raise ValueError(f"position {int(row.position)} belongs to another document too, so its text is unclear")

    def _load_texts(self, file: InputFile, rows: ExternalSorter, abouts: CampaignsInFile) -> None:
        header: dict[str, int] | None = None
        named = self.columns.texts or {}
        for number, line in read_table_lines(file, self.columns, self.context.limits, self.log):
            at = LineLocation(file.name, number)
            if header is None:
                header, _ = self._header(line, at)
                continue
            try:
                cells = self._cells(line, header)
                position = parse_position(
                    cells.get_by_column_name(named["position"]).strip(), self.columns.first_position
                )
            except ValueError as fault:
                self.log.record_bad_line(at, str(fault))
                continue
            system, source, target = (cells.get_by_column_name(named[m]) for m in ("system", "source", "target"))
            places = [(part, place) for part in abouts.found if (place := self.places.get((part, position)))]
            if not places:
                self.log.dropped["texts of segments that nobody judged"] += 1
            for part, (document, domain) in places:
                row = make_sortable_row_of_text(
                    part, document, position, system.strip(), f"={source}", f"={target}", at
                )
                rows.add(row._replace(domain=domain).encode_sort_entry())


def make_payload_parser(protocol: str, log: ReadLog) -> Payload:
    """Return a function that makes payloads of a protocol: its score or scores, its marked errors, or both."""
    fields = protocols.get_protocol(protocol).payload.model_fields

    def make(row: SortableRow, text: str | None) -> Mapping[str, object]:
        payload: dict[str, object] = {"protocol": protocol}
        if "errors" in fields:
            payload["errors"] = parse_appraise_spans(row.errors, text, log.repaired)
        for name in ("score", "scores"):
            if name in fields:
                if not row.score:
                    raise ValueError("the score is empty")
                payload[name] = float(row.score) if name == "score" else parse_json_value(row.score)
        return payload

    return make
