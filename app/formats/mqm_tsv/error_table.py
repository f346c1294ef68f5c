"""Tables of marked errors, one row per error, read like `mqm-tsv` through a column map, whatever the columns.

With the option `split` each row goes to the campaign of its language pair or protocol, by the columns or constants that
the map names for them. The format `table` uses this module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from app.domain.errors import Invalid
from app.formats.base import CampaignRow, InputFile, JudgmentRow, LineLocation, ReadContext, ReadLog, Record
from app.formats.kit.campaigns_in_file import CampaignsInFile, RowCampaign, parse_campaign_split_option
from app.formats.kit.column_map import UNITS, ColumnMap
from app.formats.kit.reading import refuse_file
from app.formats.kit.row_cells import RowCells, parse_position, parse_row_campaign, split_cells
from app.formats.kit.sortable_rows import pack_unix_time
from app.formats.kit.sorting import ExternalSorter
from app.formats.kit.strict_json import StrictJsonError, canonical_json, parse_json_value
from app.formats.kit.table_lines import read_table_lines
from app.formats.mqm_tsv.record_maker import MQMRecordMaker
from app.formats.mqm_tsv.rows import DEFAULT, MqmRow, MqmRowReader

Parts = Iterator[tuple[str, Iterator[Record]]]
BLANKS = str.maketrans("\t", " ")
TRUE = ("1", "true", "yes")


def read_error_table(
    files: Sequence[InputFile], columns: ColumnMap, context: ReadContext, log: ReadLog
) -> Iterator[Record]:
    """Yield records of all files together. Raises Invalid with every bad line, unless they are skipped."""
    if parse_campaign_split_option(context):
        raise Invalid("with the option split the files make several campaigns; this is about one")
    for _, records in read_error_table_by_campaign(files, columns, context, log):
        yield from records


def read_error_table_by_campaign(
    files: Sequence[InputFile], columns: ColumnMap, context: ReadContext, log: ReadLog
) -> Parts:
    """Yield one stream of records for each campaign in the files. Raises Invalid as `read_error_table`."""
    abouts = CampaignsInFile(parse_campaign_split_option(context))
    with ExternalSorter() as rows:
        for file in files:
            for about, row in _rows(file, columns, context, log):
                part = abouts.add_row_campaign(about, LineLocation(row.file, int(row.line)))
                rows.add(f"{part}\0".encode() + row.encode_sort_entry())
        log.raise_bad_lines()
        if not abouts.found:
            abouts.make_campaign_row("", files)
        yield from split_error_rows_by_campaign(rows, abouts, files, log, texts="target" in columns.columns)


def split_error_rows_by_campaign(
    rows: Iterable[bytes],
    campaigns: CampaignsInFile,
    files: Sequence[InputFile],
    log: ReadLog,
    *,
    texts: bool = True,
    human: Collection[str] = (),
) -> Parts:
    """Yield (value, records) of sorted rows of errors, each with its part before it; read each stream before the next.

    Raises Invalid if the campaign of a part is not unique.
    """
    for part in sorted(campaigns.found):
        campaigns.make_campaign_row(part, files)
    split = (entry.partition(b"\0") for entry in rows)
    for part, group in groupby(split, key=itemgetter(0)):
        value = part.decode()
        head = campaigns.make_campaign_row(value, files)
        records = MQMRecordMaker(log, texts=texts, human=human).make_records(row for _, _, row in group)
        yield value, _with_head(head, records, log)
    log.raise_bad_lines()


def _with_head(head: CampaignRow, records: Iterator[Record], log: ReadLog) -> Iterator[Record]:
    n = 0
    yield head
    for record in records:
        n += isinstance(record, JudgmentRow)
        yield record
    if not n and not log.n_bad:
        raise Invalid("there are no judgments")


def _rows(
    file: InputFile, columns: ColumnMap, context: ReadContext, log: ReadLog
) -> Iterator[tuple[RowCampaign, MqmRow]]:
    header: dict[str, int] = {}
    reader = MqmRowReader(file.name, DEFAULT, log)
    for number, line in read_table_lines(file, columns, context.limits, log):
        at = LineLocation(file.name, number)
        try:
            line_cells = split_cells(line, columns)
            if not header:
                header = _header([name.strip() for name in line_cells], columns, at, log)
                continue
            if len(line_cells) != len(header):
                raise ValueError(f"there are {len(line_cells)} columns where {len(header)} are needed")
            cells = RowCells(line_cells, header, columns)
            row = _row(cells, columns, reader, number, log)
            said = parse_row_campaign(cells, columns)
        except ValueError as fault:
            log.record_bad_line(at, str(fault))
            continue
        if row is not None:
            yield said, row


def _header(names: list[str], columns: ColumnMap, at: LineLocation, log: ReadLog) -> dict[str, int]:
    missing = sorted(columns.needed_columns() - set(names))
    if missing or len(set(names)) < len(names):
        wrong = f"lacks {', '.join(missing)}" if missing else "names a column twice"
        refuse_file(log, at, f"the header {wrong}; found {', '.join(name[:40] for name in names[:30])}")
    return {name: i for i, name in enumerate(names)}


def _row(cells: RowCells, columns: ColumnMap, reader: MqmRowReader, number: int, log: ReadLog) -> MqmRow | None:
    """Return the row in the form of `mqm-tsv`, None if it is left out or bad. Raises ValueError."""
    reason = cells.find_skip_reason()
    if reason:
        log.dropped[reason] += 1
        return None
    position = str(parse_position(cells.get("position").strip(), columns.first_position))
    metadata = _metadata(cells, columns)
    names = [
        cells.get("system"),
        cells.get("document"),
        position,
        cells.get("global_id"),
        cells.get_required_name("rater"),
    ]
    rest = [cells.get(meaning) for meaning in ("source", "target", "category", "severity")]
    line = "\t".join(cell.translate(BLANKS) for cell in (*names, *rest, canonical_json(metadata) if metadata else ""))
    row = reader.parse_line(number, line)
    if row is None or "start" not in columns.columns:
        return row
    return _with_span(row, cells)


def _with_span(row: MqmRow, cells: RowCells) -> MqmRow:
    """Return the row with the span from its own columns: code points, the end exclusive. Raises ValueError."""
    start, end = cells.get("start").strip(), cells.get("end").strip()
    if not start and not end:
        return row
    if not all(text.isascii() and text.isdigit() and len(text) < 8 for text in (start, end)) or int(start) > int(end):
        raise ValueError(f"start {start[:40]!r} and end {end[:40]!r} are no span")
    span = f"{int(start):07d}-{int(end):07d}"
    on_source = cells.get("source_side").strip().casefold() in TRUE
    return row._replace(source_spans=span) if on_source else row._replace(target_spans=span)


def _metadata(cells: RowCells, columns: ColumnMap) -> dict[str, object]:
    """Return columns to keep, parsed if they are lists or objects, and the time of the mark (milliseconds)."""
    metadata: dict[str, object] = {}
    for name, text in cells.kept_columns().items():
        metadata[name] = _value(str(text))
    ended = pack_unix_time(cells.get("ended").strip(), UNITS[columns.time])
    if ended:
        metadata["timestamp"] = int(ended) // 1000
    return metadata


def _value(text: str) -> object:
    if text[:1] not in "[{":
        return text
    try:
        return parse_json_value(text)
    except StrictJsonError:
        return text
