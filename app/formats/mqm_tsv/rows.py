"""Rows of an `mqm-tsv` file: columns by name, texts without marks, and a sortable form.

A row becomes fields joined by NUL: first those that group it (document, position, source, system, target, rater), so
that sorting brings related rows together and puts a different text next to the one it contradicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.spans import clip_span_to_stripped_text, parse_marked_text, parse_severity
from app.formats.base import LineLocation, ReadLog
from app.formats.kit.strict_json import canonical_json

COLUMNS = (
    "system",
    "doc",
    "docSegId",
    "globalSegId",
    "rater",
    "source",
    "target",
    "category",
    "severity",
    "metadata",
)
OLDER = {
    "doc_id": "docSegId",
    "doc_seg_id": "docSegId",
    "seg_id": "globalSegId",
    "global_seg_id": "globalSegId",
    "comment": "metadata",
    "note": "metadata",
}
_SPELLINGS = {**{name.casefold(): name for name in COLUMNS}, **OLDER}
LONGEST = 1000
MOST_POSITIONS = 10_000  # kept in memory
NO_ERROR, ATTENTION, ERROR = "0", "1", "2"


class MqmRow(NamedTuple):
    """One row in sortable form; positions and spans are padded so that they sort as numbers.

    what: NO_ERROR, ATTENTION or ERROR; empty for a row that only contains data on texts from metadata.
    """

    document: str
    position: str
    source: str
    system: str
    target: str
    rater: str
    what: str
    target_spans: str
    source_spans: str
    severity: str
    category: str
    metadata: str
    global_id: str
    file: str
    line: str

    def encode_sort_entry(self) -> bytes:
        """Encode the row as bytes that sort field by field."""
        return "\0".join(self).encode()

    @classmethod
    def decode_sort_entry(cls, entry: bytes) -> MqmRow:
        """Decode what `encode_sort_entry` returns."""
        return cls._make(entry.decode().split("\0"))


class MqmRowWithoutOutput(NamedTuple):
    """The data of a row other than its output: the last fields of `MqmRow`."""

    rater: str
    what: str
    target_spans: str
    source_spans: str
    severity: str
    category: str
    metadata: str
    global_id: str
    file: str
    line: str


HEAD = len(MqmRow._fields) - len(MqmRowWithoutOutput._fields)  # document, position, source, system, target


def group_by_output(rows: Iterable[bytes]) -> Iterator[tuple[list[str], Iterator[MqmRowWithoutOutput]]]:
    """Yield the first fields of sorted rows, and the marks that share them; read the marks before the next.

    Most rows repeat the texts of the previous row, and decoding them again was a third of the work.
    """
    entries = iter(rows)
    following = next(entries, None)

    def marks(head: bytes, first: bytes) -> Iterator[MqmRowWithoutOutput]:
        nonlocal following
        yield MqmRowWithoutOutput._make(first.decode().split("\0"))
        start = len(head)
        for entry in entries:
            if not entry.startswith(head):
                following = entry
                return
            yield MqmRowWithoutOutput._make(entry[start:].decode().split("\0"))
        following = None

    while following is not None:
        first = following.split(b"\0", HEAD)[HEAD]
        head = following[: len(following) - len(first)]
        output_marks = marks(head, first)
        yield head.decode().split("\0")[:HEAD], output_marks
        for _ in output_marks:
            pass


@dataclass(frozen=True, slots=True)
class MqmColumnLayout:
    """The positions of a file's columns; `legacy`: the last one is a free note rather than JSON.

    extra: other named columns, kept as metadata.
    """

    index: tuple[int, ...]
    width: int
    legacy: bool = False
    extra: tuple[tuple[str, int], ...] = ()


DEFAULT = MqmColumnLayout(tuple(range(10)), 10)
WITHOUT_METADATA = MqmColumnLayout((*range(9), -1), 9)


def detect_column_layout(cells: list[str]) -> tuple[MqmColumnLayout, bool]:
    """Return the layout from the first line of a file, and whether that line is a header.

    Raises ValueError with the reason if the line names columns, but not all that are needed.
    """
    names = [_SPELLINGS.get(cell.strip().casefold()) for cell in cells]
    known = [name for name in names if name]
    if len(known) < 3 and cells[0].strip().casefold() != "system":
        return (WITHOUT_METADATA if len(cells) == WITHOUT_METADATA.width else DEFAULT), False
    missing = [name for name in COLUMNS[:-1] if name not in known]
    if missing or len(set(known)) < len(known):
        wrong = f"lacks {', '.join(missing)}" if missing else "names a column twice"
        columns_there = ", ".join(cell[:40] for cell in cells[:20])
        raise ValueError(f"the header {wrong}; found the columns {columns_there}; needed are {', '.join(COLUMNS)}")
    index = tuple(names.index(name) if name in known else -1 for name in COLUMNS)
    legacy = index[-1] >= 0 and cells[index[-1]].strip().casefold() in OLDER
    extra = tuple((cell.strip(), i) for i, cell in enumerate(cells) if names[i] is None)
    return MqmColumnLayout(index, len(cells), legacy, extra), True


class MqmRowReader:
    """Turns lines into rows; a line that it cannot read goes to the log as a bad line, with the hint."""

    def __init__(self, file: str, layout: MqmColumnLayout, log: ReadLog, hint: str = "") -> None:
        self._hint = hint
        self._file = file
        self._layout = layout
        self._log = log
        self._severities: dict[str, tuple[str, str]] = {}
        self._positions: dict[str, str] = {}
        self._as_is = layout.index == DEFAULT.index and not layout.extra

    def parse_line(self, number: int, line: str) -> MqmRow | None:
        """Return the row of a line, None if it is a bad line."""
        fields = self.parse_line_fields(number, line)
        return None if fields is None else MqmRow._make(fields)

    def parse_line_fields(self, number: int, line: str) -> tuple[str, ...] | None:
        """Return the bare fields of an `MqmRow`, which is faster for millions of rows."""
        cells = line.split("\t")
        layout = self._layout
        if len(cells) == 9 and layout.width == 10 and layout.index[-1] == 9:
            cells.append("")  # an editor removed the empty last cell
        if len(cells) != layout.width:
            self._note_bad_row(number, f"there are {len(cells)} columns where {layout.width} are needed")
            return None
        if not self._as_is:
            cells = [*(cells[i] for i in layout.index[:-1]), self._metadata(cells)]
        elif cells[9]:
            cells[9] = self._metadata(cells)
        system, document, position, global_id, rater, source, target, category, severity, metadata = cells
        system, document, rater = system.strip(), document.strip(), rater.strip()
        what, severity = self._severity(severity, category) if rater else ("", "")
        padded = self._positions.get(position) or self._pad_position(position)
        good = padded and system and document and (what or not rater)
        if not good or len(system) + len(document) + len(rater) > LONGEST:
            self._note_bad_row(number, _fault(system, document, position.strip(), rater, cells[8]))
            return None
        source, source_spans = self._text(source)
        target, target_spans = self._text(target)
        place = document, padded, source, system, target, rater, what, target_spans, source_spans
        return (*place, severity, category.strip(), metadata, global_id.strip(), self._file, str(number))

    def _pad_position(self, cell: str) -> str:
        """Pad a position so that it sorts as a number; empty if the cell is not one."""
        position = cell.strip()
        if not (position.isascii() and position.isdigit() and len(position) < 10 and int(position)):
            return ""
        if len(self._positions) >= MOST_POSITIONS:
            self._positions.clear()
        self._positions[cell] = padded = position.zfill(10)
        return padded

    def _note_bad_row(self, number: int, reason: str) -> None:
        self._log.record_bad_line(LineLocation(self._file, number), reason + self._hint)

    def _metadata(self, cells: list[str]) -> str:
        """Return the metadata as a JSON object, or empty; a free note is put into one."""
        column = self._layout.index[-1]
        text = cells[column].strip() if column >= 0 else ""
        if text and (self._layout.legacy or not text.startswith("{")):
            text = canonical_json({"note": text})
        extra = {name: cells[i] for name, i in self._layout.extra if cells[i]}
        if extra:
            head = canonical_json({"columns": extra})[:-1]
            text = f"{head},{text[1:].lstrip()}" if text and text[1:].strip() != "}" else f"{head}}}"
        return text

    def _severity(self, cell: str, category: str) -> tuple[str, str]:
        """Return the kind of the row and the severity in payload form; the kind is empty if it is unknown."""
        known_severity = self._severities.get(cell)
        if known_severity is not None:
            return known_severity
        plain = cell.strip().casefold().replace("_", "-").replace(" ", "-")
        if plain == "no-error":
            self._severities[cell] = NO_ERROR, ""
            return NO_ERROR, ""
        if not plain and category.strip().casefold().replace("_", "-") == "no-error":
            return NO_ERROR, ""
        if plain.startswith("hotw"):
            return ATTENTION, cell.strip()
        severity = parse_severity(cell)
        if severity is None:
            return "", ""
        self._log.record_mapped_name("severity", cell.strip(), severity)
        self._severities[cell] = ERROR, severity
        return ERROR, severity

    def _text(self, cell: str) -> tuple[str, str]:
        """Return the text without marks and without whitespace at its ends, and the marked spans in it."""
        if "v>" not in cell and len(cell.strip()) == len(cell):
            return cell, ""
        plain = parse_marked_text(cell)
        text = plain.text.strip()
        spans = plain.spans
        if plain.n_unpaired_marks:
            self._log.repaired["span marks that were not in pairs"] += 1
        if len(text) != len(plain.text):
            self._log.repaired["white space at the ends of a text"] += 1
            before = len(plain.text) - len(plain.text.lstrip())
            spans = tuple(clip_span_to_stripped_text(span, before, len(text)) for span in spans)
        if len(spans) == 1:
            return text, f"{spans[0][0]:07d}-{spans[0][1]:07d}"
        return text, ",".join([f"{start:07d}-{end:07d}" for start, end in spans])


def parse_packed_spans(packed: str) -> list[tuple[int, int]]:
    """Return the spans in a row's field.

    >>> parse_packed_spans("0000003-0000005")
    [(3, 5)]
    """
    return [(int(span[:7]), int(span[8:])) for span in packed.split(",")] if packed else []


def _fault(system: str, document: str, position: str, rater: str, severity: str) -> str:
    """Return the fault of a bad row."""
    for name, column in ((system, "system"), (document, "doc")):
        if not name:
            return f"the {column} is empty"
    if len(system) + len(document) + len(rater) > LONGEST:
        return f"system, doc and rater together have more than {LONGEST} characters"
    if not position.isascii() or not position.isdigit() or len(position) > 9 or not int(position):
        return f"docSegId must be a whole number from 1, not {position[:40]!r}"
    return f"unknown severity {severity[:40]!r}"


def read_metadata_timestamp_ms(metadata: Mapping[str, object]) -> int | None:
    """Return milliseconds since 1970, if the metadata state when the mark was made."""
    value = metadata.get("timestamp")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 2**43 else None
