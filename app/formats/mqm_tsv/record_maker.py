"""Records from sorted rows of marked errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter

from app.domain.keys import convert_name_to_key
from app.formats.base import (
    DocumentRecord,
    Given,
    JudgmentRow,
    LineLocation,
    OutputJudgments,
    OutputRow,
    RaterRow,
    ReadLog,
    Record,
    SegmentRow,
    SystemRecord,
)
from app.formats.kit.names import KeyAssigner
from app.formats.mqm_tsv.judgment_maker import JudgedOutput, JudgmentMaker
from app.formats.mqm_tsv.metadata import collect_tokens_by_side, parse_metadata
from app.formats.mqm_tsv.rows import MqmRowWithoutOutput, group_by_output

MOST_ITEMS = 1000  # kept in memory
Found = Record | OutputJudgments


@dataclass(slots=True)
class _Segment:
    """The current segment.

    place: its fields; document: its document's key. stated: the first row with its source. system: the last one whose
    output was yielded, and output: the first row with it.
    """

    place: list[str]
    document: str
    position: int
    source: str = ""
    stated: MqmRowWithoutOutput | None = None
    system: str = ""
    output: MqmRowWithoutOutput | None = None
    references: dict[str, str] = field(default_factory=dict)


class MQMRecordMaker:
    """Makes declarations if more than a key is known, texts and judgments: by document and segment.

    texts: whether the rows contain texts; if not, texts are unknown rather than empty. human: names of the systems that
    are human translations.
    """

    def __init__(self, log: ReadLog, *, texts: bool = True, human: Collection[str] = ()) -> None:
        self._log, self._texts, self._human = log, texts, frozenset(human)
        self._declared: set[str] = set()
        self._systems = KeyAssigner("system", log)
        self._raters = KeyAssigner("rater", log)
        self._make = JudgmentMaker(log)
        self._items: dict[tuple[str, str], str] = {}

    def make_records(self, rows: Iterable[bytes]) -> Iterator[Record]:
        """Yield all records of sorted rows, one by one."""
        return ungroup_judgments(self.make_records_with_grouped_judgments(rows))

    def make_records_with_grouped_judgments(self, rows: Iterable[bytes]) -> Iterator[Found]:
        """Yield all records of sorted rows; judgments of one output that contain nothing else are grouped."""
        segment = _Segment([], "", 0)
        for (name, position, source, system, target), output_marks in group_by_output(rows):
            first = next(output_marks)
            marks = chain((first,), output_marks)
            place = [name, position]
            if place != segment.place:
                is_next = segment.place[:1] == [name]
                segment = _Segment(place, segment.document if is_next else convert_name_to_key(name), int(position))
                if not is_next and segment.document != name:
                    self._log.record_mapped_name("document", name, segment.document)
                    yield DocumentRecord(_line_of_mark(first), segment.document, name)
            if segment.stated is not None and source != segment.source:
                self._contradict(marks, "source", segment, segment.stated)
            elif not system:
                self._collect(marks, segment.references)
            elif segment.output is not None and system == segment.system:
                self._contradict(marks, "target", segment, segment.output)
            else:
                yield from self._output(segment, source, system, target, first, marks)

    def _output(
        self,
        at: _Segment,
        source: str,
        name: str,
        target: str,
        first: MqmRowWithoutOutput,
        marks: Iterator[MqmRowWithoutOutput],
    ) -> Iterator[Found]:
        place = _line_of_mark(first)
        if at.stated is None:
            at.stated, at.source = first, source
            meta = {"globalSegId": first.global_id} if first.global_id not in ("", "0") else None
            known = source if self._texts else None
            yield SegmentRow(place, at.document, at.position, known, at.references or None, meta)
        at.system, at.output = name, first
        system, is_new = self._systems.assign_key(name)
        human = name in self._human
        if is_new or (human and name not in self._declared):
            self._declared.add(name)
            yield SystemRecord(place, system, name, "human" if human else "mt")
        if self._texts:
            yield OutputRow(place, system, at.document, at.position, target)
        where = JudgedOutput(self._item(system, at.document), (system,), at.document, at.position, source, target)
        records = self._judgments(where, marks)
        if human:
            n = sum(
                len(one.given) if isinstance(one, OutputJudgments) else isinstance(one, JudgmentRow) for one in records
            )
            self._log.notes[_make_human_translation_note(name)] += n
        yield from records

    def _judgments(self, where: JudgedOutput, marks: Iterator[MqmRowWithoutOutput]) -> list[Found]:
        records: list[Found] = []
        given: list[Given] = []
        tokens: dict[str, list[str]] = {}
        for name, group in groupby(marks, key=itemgetter(0)):
            if not name:
                tokens = collect_tokens_by_side(mark.metadata for mark in group)
                continue
            rater, is_new = self._raters.assign_key(name)
            made = self._make.make_judgment(where, rater, group, tokens)
            if made is None:
                continue
            if is_new:
                records.append(
                    RaterRow(made.at if isinstance(made, JudgmentRow) else LineLocation(*made[1:3]), rater, name)
                )
            if isinstance(made, JudgmentRow):
                records.append(made)
                given = []
                continue
            if not given:
                records.append(OutputJudgments(where.item, where.systems, where.document, where.position, given))
            given.append(made)
        return records

    def _item(self, system: str, document: str) -> str:
        pair = system, document
        item = self._items.get(pair)
        if item is None:
            if len(self._items) > MOST_ITEMS:
                self._items.clear()
            item = self._items[pair] = convert_name_to_key(f"{system}:{document}")
        return item

    def _collect(self, marks: Iterator[MqmRowWithoutOutput], references: dict[str, str]) -> None:
        for mark in marks:
            for name, text in parse_metadata(mark.metadata).items():
                if references.setdefault(name, str(text)) != text:
                    self._log.notes["references that differ between rows: the first in order stands"] += 1

    def _contradict(
        self, marks: Iterator[MqmRowWithoutOutput], column: str, segment: _Segment, stated: MqmRowWithoutOutput
    ) -> None:
        for mark in marks:
            if mark.rater:
                where = f"{segment.place[0]} {segment.position}"
                reason = f"segment {where}: another {column} than in line {stated.line} of {stated.file}"
                self._log.record_bad_line(_line_of_mark(mark), reason)


def note_unmatched_human_translations(human: Iterable[str], log: ReadLog) -> None:
    """Note names of human translations that no system has, once all records are read.

    log: of all parts of a split and of all readers together, because a system may occur in only one of them.
    """
    for name in human:
        if _make_human_translation_note(name) not in log.notes:
            log.notes[f"no system is called {name[:80]}, a human translation as the options say"] = 1


def _make_human_translation_note(name: str) -> str:
    return f"judgments of {name}, a human translation as the options say"


def ungroup_judgments(records: Iterable[Found]) -> Iterator[Record]:
    """Yield the records with judgments one by one."""
    for record in records:
        if isinstance(record, OutputJudgments):
            yield from record.iterate_rows()
        else:
            yield record


def _line_of_mark(mark: MqmRowWithoutOutput) -> LineLocation:
    return LineLocation(mark.file, int(mark.line))
