"""`mqm-tsv`: WMT's and Marot's table of marked errors, one row an error, ten columns, no quoting.

Conventions: `No-error` is a judgment without errors; beside errors of the same rater and segment it counts for nothing,
unless its time stamp is later than theirs: then the rater took them back (a re-submission: the latest counts).
`HOTW-test` rows are attention checks, kept under `meta`; a segment with nothing else is rated 0. Rows without a rater
carry metrics only. One rater is one task, one system's document one item. The order of rows is irrelevant: errors of a
judgment stand in the order of their spans, and of two texts for one output the one that sorts first stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from operator import attrgetter

from app.domain.errors import Invalid, Place
from app.domain.keys import to_key
from app.formats._base import (
    At,
    CampaignRow,
    DocumentRow,
    Format,
    Input,
    JudgmentRow,
    OutputRow,
    RaterRow,
    ReadContext,
    ReadLog,
    Record,
    SegmentRow,
    SystemRow,
)
from app.formats._mqm_judgments import JudgmentMaker, Where
from app.formats._mqm_metadata import EVALUATION, TEXTS, languages_of, parse, rows_about_texts, tokens_of
from app.formats._mqm_rows import Row, RowReader, layout_of
from app.formats._mqm_write import write
from app.formats._names import Names
from app.formats._reading import lines, refuse
from app.formats._sorting import Sorter

FIRST_LINE = "; the first line was taken for data, as it names no columns"


def read(files: Sequence[Input], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Records of all files together. Raises Invalid with every bad line, unless those are to be skipped."""
    if context.options:
        raise Invalid(f"mqm-tsv takes no options, not {min(context.options)[:40]!r}")
    languages: dict[tuple[str, str], At] = {}
    n = 0
    with Sorter() as rows:
        for file in files:
            for row in _rows(file, context, log):
                for one in _with_metadata(row, log, languages):
                    rows.add(one.pack())
        log.finish()
        yield _campaign(files, languages)
        for record in _Records(log).of(rows):
            n += isinstance(record, JudgmentRow)
            yield record
    log.finish()
    if not n:
        raise Invalid(f"there are no judgments in {', '.join(f.name for f in files)}")


def _rows(file: Input, context: ReadContext, log: ReadLog) -> Iterator[Row]:
    reader: RowReader | None = None
    for number, line in lines(file, context.limits, log):
        if reader is None:
            cells = line.split("\t")
            try:
                layout, is_header = layout_of(cells)
            except ValueError as fault:
                refuse(log, At(file.name, number), str(fault))
            reader = RowReader(file.name, layout, log, "" if is_header else FIRST_LINE)
            if is_header:
                continue
        row = reader.read(number, line)
        if row is not None:
            yield row


def _with_metadata(row: Row, log: ReadLog, languages: dict[tuple[str, str], At]) -> Iterator[Row]:
    """The row, unless it carries metrics only, and rows for what its metadata says of the texts."""
    if TEXTS in row.metadata or EVALUATION in row.metadata:
        at = At(row.file, int(row.line))
        try:
            metadata = parse(row.metadata)
        except ValueError as fault:
            log.bad_line(at, str(fault))
            return
        yield from rows_about_texts(row, metadata)
        pair = languages_of(metadata)
        if pair:
            languages.setdefault(pair, at)
    if row.rater:
        yield row
    else:
        log.dropped["rows without a rater (metrics only)"] += 1


def _campaign(files: Sequence[Input], languages: dict[tuple[str, str], At]) -> CampaignRow:
    if len(languages) > 1:
        values = ", ".join(sorted(f"{s}-{t}" for s, t in languages))
        places = tuple(Place((at.file, at.line), f"{s}-{t}") for (s, t), at in languages.items())
        raise Invalid(f"several language pairs in one import: {values}; a campaign has one", places=places)
    source, target = next(iter(languages), (None, None))
    at = At(files[0].name if files else "", 1)
    return CampaignRow(at, protocol="mqm", source_language=source, target_language=target, documents_known=True)


class _Records:
    """Declarations where more than a key is known, texts, judgments: document by document, segment by segment."""

    def __init__(self, log: ReadLog) -> None:
        self._log = log
        self._systems = Names("system", log)
        self._raters = Names("rater", log)
        self._make = JudgmentMaker(log)

    def of(self, rows: Iterable[bytes]) -> Iterator[Record]:
        """All records of sorted rows."""
        document = None
        for (name, position), segment in groupby(map(Row.unpack, rows), key=attrgetter("document", "position")):
            first, rows_of_segment = _peek(segment)
            if name != document:
                document, key = name, to_key(name)
                if key != name:
                    self._log.map_name("document", name, key)
                    yield DocumentRow(_at(first), key, name)
            yield from self._segment(key, int(position), rows_of_segment)

    def _segment(self, document: str, position: int, rows: Iterator[Row]) -> Iterator[Record]:
        references: dict[str, str] = {}
        stated: Row | None = None
        for (source, system), group in groupby(rows, key=attrgetter("source", "system")):
            if stated is not None and source != stated.source:
                self._contradict(group, "source", stated)
            elif not system:
                self._collect(group, references)
            else:
                first, rest = _peek(group)
                if stated is None:
                    stated = first
                    meta = {"globalSegId": first.global_id} if first.global_id not in ("", "0") else None
                    yield SegmentRow(_at(first), document, position, source, references or None, meta)
                yield from self._outputs(document, position, system, rest)

    def _outputs(self, document: str, position: int, name: str, rows: Iterator[Row]) -> Iterator[Record]:
        system, is_new = self._systems.of(name)
        stated: Row | None = None
        for target, group in groupby(rows, key=attrgetter("target")):
            if stated is not None:
                self._contradict(group, "target", stated)
                continue
            first, rest = _peek(group)
            stated = first
            if is_new:
                yield SystemRow(_at(first), system, name)
            yield OutputRow(_at(first), system, document, position, target)
            where = Where(system, document, position, first.source, target)
            yield from self._judgments(where, rest)

    def _judgments(self, where: Where, rows: Iterator[Row]) -> list[Record]:
        found: list[Record] = []
        tokens: dict[str, list[str]] = {}
        for name, group in groupby(rows, key=attrgetter("rater")):
            if not name:
                tokens = tokens_of(row.metadata for row in group)
                continue
            rater, is_new = self._raters.of(name)
            judgment = self._make.of(where, rater, group, tokens)
            if judgment is None:
                continue
            if is_new:
                found.append(RaterRow(judgment.at, rater, name))
            found.append(judgment)
        return found

    def _collect(self, rows: Iterator[Row], references: dict[str, str]) -> None:
        for row in rows:
            for name, text in parse(row.metadata).items():
                if references.setdefault(name, str(text)) != text:
                    self._log.notes["references that differ between rows: the first in order stands"] += 1

    def _contradict(self, rows: Iterator[Row], column: str, stated: Row) -> None:
        for row in rows:
            if row.rater:
                reason = f"segment {row.document} {int(row.position)}: another {column} than in line {stated.line}"
                self._log.bad_line(_at(row), f"{reason} of {stated.file}")


def _peek(rows: Iterator[Row]) -> tuple[Row, Iterator[Row]]:
    """The first row, and all rows with it."""
    first = next(rows)
    return first, chain((first,), rows)


def _at(row: Row) -> At:
    return At(row.file, int(row.line))


FORMAT = Format(name="mqm-tsv", title="MQM table of WMT and Marot (10 columns)", read=read, write=write)
