"""`table`: any delimited file with a header, or the first sheet of a workbook, through a column map.

`map=NAME` uses a built-in map, `map=FILE` one of the imported files, which contains the map as JSON. Rows are
judgments, marked errors of MQM (one row per error, `No-error` if there are none), or segments with their texts. With
judgments, further files may contain only texts, if the map says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from app.domain.errors import Invalid
from app.formats.base import Format, InputFile, ReadContext, ReadLog, Record
from app.formats.kit.campaigns_in_file import OPTION
from app.formats.kit.column_map import ColumnMap, parse_column_map
from app.formats.kit.judgment_table import JudgmentTableReader, Parts
from app.formats.kit.known_column_maps import MAPS
from app.formats.kit.reading import read_lines
from app.formats.kit.strict_json import StrictJsonError, parse_json_value
from app.formats.mqm_tsv.error_table import read_error_table, read_error_table_by_campaign
from app.formats.table.texts import read_texts
from app.formats.xlsx.table import convert_workbooks_to_delimited_text

OPTIONS = {
    "map": f"a built-in column map ({', '.join(MAPS)}), or the name of a JSON file among the files",
    "split": OPTION,
}
MOST_LINES = 5000


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield records of all files together. Raises Invalid with every bad line, unless they are skipped."""
    columns, rest = _map(files, context, log)
    if columns.rows == "texts":
        yield from read_texts(rest, columns, context, log)
    elif columns.rows == "errors":
        yield from read_error_table(rest, columns, context, log)
    else:
        yield from JudgmentTableReader(columns, context, log).read_records(rest)


def read_by_campaign(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Parts:
    """Yield one stream of records for each campaign in the files."""
    columns, rest = _map(files, context, log)
    if columns.rows == "texts":
        raise Invalid("a table of texts is of one campaign; it cannot be split")
    if columns.rows == "errors":
        yield from read_error_table_by_campaign(rest, columns, context, log)
    else:
        yield from JudgmentTableReader(columns, context, log).read_records_by_campaign(rest)


def _map(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> tuple[ColumnMap, list[InputFile]]:
    """Return the column map, and the files to be read through it. Raises Invalid."""
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"table has no option {unknown[0][:40]!r}; there are {', '.join(OPTIONS)}")
    name = context.options.get("map", "")
    if name in MAPS:
        return convert_workbooks_to_delimited_text(MAPS[name], files, context.limits, log)
    named = [f for f in files if name in (f.name, PurePath(f.name).name)]
    if len(named) != 1 or len(files) < 2:
        there = ", ".join(MAPS)
        raise Invalid(f"option map: must be {there}, or name one of at least two files: the map as JSON")
    text = [line for _, (_, line) in zip(range(MOST_LINES), read_lines(named[0], context.limits, log), strict=False)]
    log.raise_bad_lines()
    try:
        value = parse_json_value("\n".join(text))
    except StrictJsonError as fault:
        raise Invalid(f"{named[0].name}: the column map is not valid: {fault}") from fault
    return convert_workbooks_to_delimited_text(
        parse_column_map(value), [f for f in files if f is not named[0]], context.limits, log
    )


FORMAT = Format(
    name="table",
    title="Any delimited file with a header, through a column map",
    read=read,
    parts=read_by_campaign,
    options=OPTIONS,
)
