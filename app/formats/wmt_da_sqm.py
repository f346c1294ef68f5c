"""`wmt-da-sqm`: DA+SQM scores as Appraise exported them at WMT22: comma separated, with document scores and times.

Conventions: `username,system,itemId,itemType,srcLang,trgLang,score,docId,isDocScore,timeStart,timeEnd`, with or without
that header. An account is a rater and one task; `mapping=FILE` tells which accounts are one person. The document is
`docId` (including the part after `#`), and the position of a segment is `itemId` + 1, because items count from 0 within
their document; a row with `isDocScore` True is a score of the whole item. A second answer of one account to the same
output is a repeat, a separate rating, in the order of `timeEnd`, because accounts judged the same task twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from app.domain.errors import Invalid
from app.formats.base import Format, InputFile, LineLocation, ReadContext, ReadLog, Record
from app.formats.kit.campaigns_in_file import OPTION
from app.formats.kit.column_map import ColumnMap
from app.formats.kit.judgment_table import JudgmentTableReader, Parts
from app.formats.kit.known_column_maps import TYPES
from app.formats.kit.reading import read_lines, refuse_file

HEADER = (
    "username",
    "system",
    "itemId",
    "itemType",
    "srcLang",
    "trgLang",
    "score",
    "docId",
    "isDocScore",
    "timeStart",
    "timeEnd",
)
COLUMNS = ColumnMap(
    delimiter=",",
    quoting=True,
    header=HEADER,
    protocol="da_sqm",
    columns={
        "rater": "username",
        "system": "system",
        "position": "itemId",
        "type": "itemType",
        "source_language": "srcLang",
        "target_language": "trgLang",
        "score": "score",
        "document": "docId",
        "whole": "isDocScore",
        "started": "timeStart",
        "ended": "timeEnd",
    },
    types=TYPES,
    first_position=0,
    again="repeat",
    keep=("itemId",),
)
OPTIONS = {
    "mapping": "name of the file (with a header) whose columns say an account and the account of its person",
    "split": OPTION,
}
MOST_ACCOUNTS = 100_000


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield records of all files together. Raises Invalid with every bad line, unless they are skipped."""
    reader, rest = _reader(files, context, log)
    yield from reader.read_records(rest)


def read_by_campaign(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Parts:
    """Yield one stream of records for each campaign in the files."""
    reader, rest = _reader(files, context, log)
    yield from reader.read_records_by_campaign(rest)


def _reader(
    files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> tuple[JudgmentTableReader, list[InputFile]]:
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"wmt-da-sqm has no option {unknown[0][:40]!r}; there are {', '.join(OPTIONS)}")
    mapping = context.options.get("mapping")
    named = [f for f in files if mapping in (f.name, PurePath(f.name).name)]
    if mapping is not None and (len(named) != 1 or len(files) < 2):
        raise Invalid(f"option mapping: name one of at least two files; there are {', '.join(f.name for f in files)}")
    persons = _persons(named[0], context, log) if named else {}
    return JudgmentTableReader(COLUMNS, context, log, persons=persons), [f for f in files if f not in named]


def _persons(file: InputFile, context: ReadContext, log: ReadLog) -> dict[str, str]:
    """Return the person behind each account, including the account that stands for the person."""
    persons: dict[str, str] = {}
    header = False
    for number, line in read_lines(file, context.limits, log):
        at, cells = LineLocation(file.name, number), [cell.strip() for cell in line.split(",")]
        if len(cells) != 2 or not all(cells):
            log.record_bad_line(at, "an account and the account of its person are needed, separated by a comma")
            continue
        if not header:
            header = True
            continue
        account, person = cells
        for name in (account, person):
            if persons.setdefault(name, person) != person:
                log.record_bad_line(at, f"{name[:60]!r} is said to be another person elsewhere")
        if len(persons) > MOST_ACCOUNTS:
            refuse_file(log, at, f"more than {MOST_ACCOUNTS:,} accounts")
    return persons


FORMAT = Format(
    name="wmt-da-sqm",
    title="DA+SQM scores of Appraise as WMT22 published them",
    read=read,
    parts=read_by_campaign,
    options=OPTIONS,
)
