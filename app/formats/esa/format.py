"""`esa`: results of error span annotation as Appraise exports them: comma separated, without a header.

Conventions: `username,targetID,itemID,itemType,src3,tgt3,score,documentID,isCompleteDocument,mqm,start,end`, optionally
followed by `batch,item`. `targetID` is a test set, a dot and the system, or several systems joined by `+` whose outputs
are identical. `documentID` is document, system and marks joined by `#`: `#bad…` and `#ref` identify copies; `#dup…`
(filler repetitions), `#incomplete` and tutorials are left out.

In WMT23 `itemID` numbers the screens of a task, so a segment's position is its place among the items of its document.
If a task shows fewer items of a document than others do, the segments cannot be identified, and they are left out,
unless `batch,item` are `plumbline` and the position, as this program writes them. In WMT24 `itemID` is the line of the
test set: all tasks then number a document alike, and a position counts from its first line. The file does not state
which of the two it is, but the numbers show it.

Of several answers to one item the latest counts. Times are Unix seconds; offsets as in `kit.appraise_spans`. Texts are
unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from app.domain.errors import Invalid
from app.formats.base import Format, InputFile, LineLocation, ReadContext, ReadLog, Record
from app.formats.esa.writer import PLACED, write
from app.formats.kit.appraise_names import parse_appraise_document_name, parse_appraise_systems
from app.formats.kit.campaigns_in_file import OPTION
from app.formats.kit.column_map import ColumnMap
from app.formats.kit.judgment_table import JudgmentTableReader, Parts
from app.formats.kit.known_column_maps import TYPES
from app.formats.kit.row_cells import RowCells, make_sortable_row_of_judgment, parse_position, split_cells
from app.formats.kit.sortable_rows import SortableRow
from app.formats.kit.table_lines import read_table_lines

HEADER = (
    "username",
    "targetID",
    "itemID",
    "itemType",
    "src3",
    "tgt3",
    "score",
    "documentID",
    "isCompleteDocument",
    "mqm",
    "start",
    "end",
)
COLUMNS = ColumnMap(
    delimiter=",",
    quoting=True,
    header=HEADER,
    protocol="esa",
    columns={
        "rater": "username",
        "system": "targetID",
        "position": "itemID",
        "type": "itemType",
        "source_language": "src3",
        "target_language": "tgt3",
        "score": "score",
        "document": "documentID",
        "errors": "mqm",
        "whole": "isCompleteDocument",
        "started": "start",
        "ended": "end",
    },
    types=TYPES,
    keep=("itemID",),
)
OPTIONS = {
    "split": OPTION,
    "protocol": "mqm where raters marked errors only (Appraise then stores 0 as the score); esa otherwise",
}
KINDS: Mapping[str, Mapping[str, object]] = {"esa": {}, "mqm": {"weights": "esa-mqm"}}
CUT = "items of documents that a task shows in part: which segments they are is unknown"
MOST = 5_000_000
Shown = tuple[str, str, str, str]


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield records of all files together. Raises Invalid with every bad line, unless they are skipped."""
    yield from _reader(files, context, log).read_records(files)


def read_by_campaign(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Parts:
    """Yield one stream of records for each campaign in the files."""
    yield from _reader(files, context, log).read_records_by_campaign(files)


def _reader(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> JudgmentTableReader:
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"esa has no option {unknown[0][:40]!r}; there are {', '.join(OPTIONS)}")
    kind = context.options.get("protocol", next(iter(KINDS)))
    if kind not in KINDS:
        raise Invalid(f"option protocol: must be one of {', '.join(KINDS)}")
    # An existing campaign has its own weights, and files do not state any.
    options = KINDS[kind] if context.protocol is None else {}
    columns = COLUMNS.model_copy(update={"protocol": kind, "options": options})
    return JudgmentTableReader(columns, context, log, interpret=_Presentations(files, context))


class _Presentations:
    """Where the items of each document begin in each task, and how many a document has; read beforehand.

    A document is a run of consecutive items; the longest run in any task is the whole document. If, for every document
    of the files, all tasks that show it number its items alike, an item number identifies a segment.
    """

    def __init__(self, files: Sequence[InputFile], context: ReadContext) -> None:
        items: dict[Shown, set[int]] = {}
        quiet = ReadLog(skip_bad_lines=True)  # faults are reported when the files are read again
        for file in files:
            for _, line in read_table_lines(file, COLUMNS, context.limits, quiet):
                _note_item_of_line(line, items)
        self._first: dict[Shown, dict[int, tuple[int, int]]] = {}
        self._longest: dict[str, int] = {}
        lines: dict[str, set[int]] = {}
        for shown, numbers in items.items():
            name = parse_appraise_document_name(shown[-1], shown[1])[0]
            runs = self._first[shown] = _runs(sorted(numbers))
            self._longest[name] = max(self._longest.get(name, 0), *(length for _, length in runs.values()))
            lines.setdefault(name, set()).update(numbers)
        self._first_line = {name: min(numbers) for name, numbers in lines.items()}
        self._named = all(len(numbers) == self._longest[name] for name, numbers in lines.items())

    def __call__(self, cells: RowCells, columns: ColumnMap, at: LineLocation) -> SortableRow | str:
        """Return the row of a judgment, or why it is left out. Raises ValueError with the fault."""
        name = cells.get_required_name("document")
        document, copy, reason = parse_appraise_document_name(name, cells.get("system"))
        if reason:
            return reason
        row = make_sortable_row_of_judgment(cells, columns, at, document=document or name)
        shown = row.rater, row.system, cells.get("type").strip(), name
        row = row._replace(system=parse_appraise_systems(row.system), presented=copy or row.presented)
        if not row.system:
            raise ValueError("the system is empty")
        if not int(row.position):
            return row
        if (told := cells.surplus_cells())[:1] == [PLACED]:
            return row._replace(position=f"{parse_position(told[1] if len(told) > 1 else '', 1):010d}")
        first, length = self._first[shown][int(row.position)]
        if self._named:
            first = self._first_line[document]
        elif length < self._longest[document]:
            return CUT
        return row._replace(position=f"{int(row.position) - first + 1:010d}")


def _note_item_of_line(line: str, items: dict[Shown, set[int]]) -> None:
    """Note which item of which document a line is about, if it is of a segment that counts."""
    try:
        cells = [cell.strip() for cell in split_cells(line, COLUMNS)]
    except ValueError:
        return
    if len(cells) < len(HEADER) or not cells[2].isascii() or not cells[2].isdigit() or len(cells[2]) > 9:
        return
    if cells[8].casefold() == COLUMNS.whole.casefold() or parse_appraise_document_name(cells[7], cells[1])[2]:
        return
    items.setdefault((cells[0], cells[1], cells[3], cells[7]), set()).add(int(cells[2]))
    if len(items) > MOST:
        raise Invalid(f"more than {MOST:,} documents shown")


def _runs(numbers: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return, for each number, where its run begins and how long it is.

    >>> _runs([4, 5, 9])
    {4: (4, 2), 5: (4, 2), 9: (9, 1)}
    """
    run_of: dict[int, tuple[int, int]] = {}
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        run_of.update(dict.fromkeys(run, (run[0], len(run))))
    return run_of


FORMAT = Format(
    name="esa",
    suffix="esa.csv",
    title="Error span annotation as Appraise exports it",
    read=read,
    parts=read_by_campaign,
    write=write,
    judged_by=("esa", "mqm"),
    options=OPTIONS,
)
