"""`json`: judgments in JSON of any layout, through a map: an array of objects, or one object per line.

`map=NAME` uses a built-in map (`bio-mqm`, `summeval`), `map=FILE` one of the imported files, which contains the map as
JSON. Fields of an object that the map does not name are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from app.domain.errors import Invalid
from app.formats.base import Format, InputFile, LineLocation, ReadContext, ReadLog, Record
from app.formats.json.json_map import JsonFieldMap, parse_json_field_map
from app.formats.json.known_json_maps import MAPS
from app.formats.json.objects import JsonRecordMaker
from app.formats.kit.json_stream import stream_json_values
from app.formats.kit.reading import read_byte_blocks, read_lines, refuse_file
from app.formats.kit.strict_json import StrictJsonError, parse_json_value

OPTIONS = {
    "map": f"a built-in JSON map ({', '.join(MAPS)}), or the name of a JSON file among the files",
    "human": "names of the systems that are human, with commas",
}
NAMES = (".tsv", ".tsv.gz")
MOST_LINES = 5000
Objects = Iterator[tuple[LineLocation, Mapping[str, object]]]


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield records of all files together. Raises Invalid with every bad line, unless they are skipped."""
    fields, rest = _map(files, context, log)
    naming = [file for file in rest if fields.documents == "position" and file.name.endswith(NAMES)]
    judgments = JsonRecordMaker(fields, frozenset(_humans(context)), log)
    for file in naming:
        for document, position, source in _document_names(file, context, log):
            judgments.numbers.add_segment(document, position, source)
    data = [file for file in rest if file not in naming]
    yield judgments.make_campaign_row(LineLocation(data[0].name if data else "", 1))
    for file in data:
        yield from judgments.make_records(_objects(file, context, log))
    log.raise_bad_lines()
    if not judgments.n_judgments and not log.n_bad:
        raise Invalid("there are no judgments")


def _map(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> tuple[JsonFieldMap, list[InputFile]]:
    """Return the map, and the files to be read through it. Raises Invalid."""
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"json has no option {unknown[0][:40]!r}; there are {', '.join(OPTIONS)}")
    name = context.options.get("map", "")
    if name in MAPS:
        return MAPS[name], list(files)
    named = [file for file in files if name in (file.name, PurePath(file.name).name)]
    if len(named) != 1 or len(files) < 2:
        raise Invalid(f"option map: must be {', '.join(MAPS)}, or name one of at least two files: the map as JSON")
    text = [line for _, (_, line) in zip(range(MOST_LINES), read_lines(named[0], context.limits, log), strict=False)]
    log.raise_bad_lines()
    try:
        value = parse_json_value("\n".join(text))
    except StrictJsonError as fault:
        raise Invalid(f"{named[0].name}: the JSON map is not valid: {fault}") from fault
    return parse_json_field_map(value), [file for file in files if file is not named[0]]


def _humans(context: ReadContext) -> list[str]:
    return [name.strip() for name in context.options.get("human", "").split(",") if name.strip()]


def _objects(file: InputFile, context: ReadContext, log: ReadLog) -> Objects:
    """Yield the objects of an array, or of the lines; anything else is a bad line."""
    first = next(iter(read_byte_blocks(file, context.limits, log)), b"").lstrip()[:1]
    pieces = _elements(file, context, log) if first == b"[" else _lines(file, context, log)
    for at, value in pieces:
        if isinstance(value, Mapping):
            yield at, value
        else:
            log.record_bad_line(at, "must be an object")


def _elements(file: InputFile, context: ReadContext, log: ReadLog) -> Iterator[tuple[LineLocation, object]]:
    for piece in stream_json_values(file, context.limits, log):
        yield piece.at, piece.value


def _lines(file: InputFile, context: ReadContext, log: ReadLog) -> Iterator[tuple[LineLocation, object]]:
    for number, line in read_lines(file, context.limits, log):
        at = LineLocation(file.name, number)
        try:
            yield at, parse_json_value(line)
        except StrictJsonError as fault:
            log.record_bad_line(at, str(fault))


def _document_names(file: InputFile, context: ReadContext, log: ReadLog) -> Iterator[tuple[str, int, str]]:
    """Yield document, number and source of each row of a table, in which double quotes may be doubled."""
    header: list[str] = []
    for number, line in read_lines(file, context.limits, log):
        cells = line.split("\t")
        if not header:
            header = [name.strip() for name in cells]
            if not {"SEG_ID", "Doc", "Source"} <= set(header):
                refuse_file(
                    log, LineLocation(file.name, number), "the header lacks SEG_ID, Doc or Source, which name documents"
                )
            continue
        row = dict(zip(header, cells, strict=False))
        source, document = row.get("Source", "").replace('""', '"').strip(), row.get("Doc", "").strip()
        position = row.get("SEG_ID", "").strip()
        if source and document and position.isascii() and position.isdigit() and 0 < len(position) < 10:
            yield document, int(position), source


FORMAT = Format(
    name="json",
    title="Judgments in JSON of any layout, through a map",
    read=read,
    options=OPTIONS,
)
