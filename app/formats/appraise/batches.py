"""Batches of Appraise as a test set; they are read twice, the first time to find the length of each document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby

from app.domain.errors import Invalid, Place
from app.formats.base import (
    DocumentRecord,
    InputFile,
    LineLocation,
    OutputRow,
    ReadContext,
    ReadLog,
    Record,
    SegmentRow,
    SystemRecord,
)
from app.formats.kit.appraise_names import parse_appraise_document_name, parse_appraise_systems
from app.formats.kit.appraise_spans import parse_appraise_spans
from app.formats.kit.json_stream import StreamedJsonValue, stream_json_values
from app.formats.kit.names import KeyAssigner
from app.formats.kit.reading import record_unread_names
from app.formats.kit.records import LONGEST_NAME
from app.formats.kit.strict_json import canonical_json

SHOWN = ("TGT", "CHK")
COPIES = "control items (BAD, REF)"
WHOLE = "items that stand for a whole document"
MOST_SEGMENTS = 2_000_000
LINE_END = re.compile(r"<br\s*/?>|</br>")
UNKNOWN = "unknown"
"""The single document of batches that name none."""
OURS = "plumbline.source"
PLACED = re.compile(r"[A-Za-z0-9._~:@+-]{1,128}:([1-9][0-9]{0,8})")
BATCH_READ = frozenset({"items", "task"})
TASK_READ = frozenset({"sourceLanguage", "targetLanguage"})
ITEM_READ = frozenset(
    {
        *("_item", "itemID", "itemType", "sourceID", "sourceText", "segmentText", "targetID", "targetText"),
        *("documentID", "isCompleteDocument", "mqm", "targets", "targetsSize"),
    }
)
Languages = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class _Item:
    """One item that shows an output.

    digest: of its source. position: of the segment, if the item states it. name: of the document, with the marks of a
    copy. is_copy: a control item, which counts as its segment but shows another text than the system's.
    """

    document: str
    name: str
    systems: tuple[str, ...]
    source: str
    text: str
    prefill: tuple[Mapping[str, object], ...] | None
    position: int | None
    is_copy: bool = False

    @property
    def digest(self) -> bytes:
        return blake2b(self.source.encode(), digest_size=8).digest()


class AppraiseBatchReader:
    """Reads files of batches. at: where the first batch begins. documents_known: whether an item names its document."""

    def __init__(self, context: ReadContext, log: ReadLog) -> None:
        self._context, self._log = context, log
        self._longest: dict[str, list[bytes]] = {}
        self._said: dict[Languages, LineLocation] = {}
        self._documents, self._systems = KeyAssigner("document", log), KeyAssigner("system", log)
        self.at = LineLocation("", 0)
        self.documents_known = False
        self._at_line: dict[int, bytes] = {}
        self._by_source: dict[bytes, int] = {}
        self._lines_tell = True

    def scan_document_lengths_and_languages(self, files: Sequence[InputFile]) -> None:
        """Find the length of each document, and the language pairs of the batches."""
        quiet = ReadLog(skip_bad_lines=True)
        n = 0
        for file in files:
            for piece in stream_json_values(file, self._context.limits, quiet):
                self.at = piece.at if not self.at.line else self.at
                self._said.setdefault(_languages(piece.value), piece.at)
                items = list(_items(piece, quiet))
                self._see_lines(items)
                for run in _runs(item for item in items if item.position is None):
                    longest = self._longest.setdefault(run[0].document, [])
                    if len(run) > len(longest):
                        n += len(run) - len(longest)
                        longest[:] = [item.digest for item in run]
                    if n > MOST_SEGMENTS:
                        raise Invalid(f"more than {MOST_SEGMENTS:,} segments")

    def _see_lines(self, items: Sequence[_Item]) -> None:
        """Note sources of items without a document, and whether a line number always has the same source."""
        for item in items:
            if item.name != UNKNOWN or item.position is None:
                self.documents_known = True
                continue
            self._lines_tell &= self._at_line.setdefault(item.position, item.digest) == item.digest
            self._by_source.setdefault(item.digest, len(self._by_source) + 1)
            if len(self._by_source) > MOST_SEGMENTS:
                raise Invalid(f"more than {MOST_SEGMENTS:,} segments")

    def languages(self) -> Languages:
        """Return source and target language. Raises Invalid if there are several pairs."""
        said = [pair for pair in self._said if any(pair)]
        if len(said) > 1:
            places = tuple(Place((at.file, at.line), f"{s}-{t}") for (s, t), at in self._said.items() if s or t)
            raise Invalid("batches of several language pairs in one import; a campaign has one", places=places[:100])
        return said[0] if said else (None, None)

    def read(self, file: InputFile) -> Iterator[Record]:
        """Yield documents, segments, systems and outputs of a file."""
        for piece in stream_json_values(file, self._context.limits, self._log):
            for run in _runs(_items(piece, self._log)):
                if all(item.is_copy for item in run):
                    continue
                try:
                    first = 0 if run[0].position is not None else self._find_first_segment(run)
                except ValueError as fault:
                    self._log.record_bad_line(piece.at, str(fault))
                    continue
                yield from self._records(piece.at, run, first)

    def _find_first_segment(self, run: Sequence[_Item]) -> int:
        """Return the index of the first segment of a run within its document. Raises ValueError."""
        shown, longest = [item.digest for item in run], self._longest[run[0].document]
        fitting = [n for n in range(len(longest) - len(shown) + 1) if longest[n : n + len(shown)] == shown]
        if not fitting:
            raise ValueError(f"the document {run[0].document[:80]} has other sources elsewhere")
        if len(fitting) > 1:
            raise ValueError(f"a part of the document {run[0].document[:80]} fits at several places")
        return fitting[0]

    def _records(self, at: LineLocation, run: Sequence[_Item], first: int) -> Iterator[Record]:
        document = run[0].document
        key, is_new = self._documents.assign_key(document)
        if is_new:
            yield DocumentRecord(at, key, document)
        for n, item in enumerate(run, first + 1):
            if item.is_copy:
                continue
            position = item.position or n
            if item.name == UNKNOWN and not self._lines_tell:
                position = self._by_source[item.digest]
            yield SegmentRow(at, key, position, item.source)
            for name in item.systems:
                system, is_new = self._systems.assign_key(name)
                if is_new:
                    yield SystemRecord(at, system, name)
                yield OutputRow(at, system, key, position, item.text, item.prefill)


def _runs(items: Iterator[_Item]) -> Iterator[list[_Item]]:
    """Yield consecutive items of one document that show the same systems, including control items."""
    for _, group in groupby(items, key=lambda item: (item.name, item.position is None)):
        by_systems: dict[tuple[str, ...], list[_Item]] = {}
        for item in group:
            by_systems.setdefault(item.systems, []).append(item)
        yield from by_systems.values()


def _items(piece: StreamedJsonValue, log: ReadLog) -> Iterator[_Item]:
    """Yield the outputs that a batch shows; a fault in an item makes its batch a bad line."""
    batch = piece.value
    items = batch.get("items") if isinstance(batch, dict) else None
    if not isinstance(batch, dict) or not isinstance(items, list):
        log.record_bad_line(piece.at, "a batch must be an object with a list of items")
        return
    task = batch.get("task")
    unread = (set(batch) - BATCH_READ) | (set(task) - TASK_READ if isinstance(task, dict) else set())
    record_unread_names(log, "members of batches", unread)
    for n, item in enumerate(items, 1):
        try:
            shown_outputs = _item(item, log)
        except ValueError as fault:
            log.record_bad_line(piece.at, f"item {n}: {fault}")
            continue
        yield from shown_outputs


def _item(item: object, log: ReadLog) -> list[_Item]:
    """Return the outputs that one item shows. Raises ValueError."""
    if not isinstance(item, dict):
        raise ValueError("must be an object")
    targets = item.get("targets")
    record_unread_names(log, "fields of items", set(item) - ITEM_READ)
    shown = [{**item, **one} for one in targets if isinstance(one, dict)] if isinstance(targets, list) else [item]
    shown_outputs = []
    for target_item in shown:
        target = _text(target_item, "targetID").partition("::")[0]  # line numbers of the named file follow
        named = target_item.get("documentID") is not None
        name = _text(target_item, "documentID") if named else UNKNOWN
        document, _, reason = parse_appraise_document_name(name, target)
        is_copy = target_item.get("itemType", "TGT") not in SHOWN
        reason = reason or (WHOLE if target_item.get("isCompleteDocument") is True else None)
        if reason or is_copy:
            log.dropped[reason or COPIES] += 1
        if reason or (is_copy and not named):
            continue
        source_field = "segmentText" if "segmentText" in target_item else "sourceText"
        source, text = (
            _normalize_line_ends(_text(target_item, field, empty=True)) for field in (source_field, "targetText")
        )
        systems = tuple(name for name in parse_appraise_systems(target).split("+") if name)
        if not systems:
            raise ValueError("targetID names no system")
        shown_outputs.append(
            _Item(
                document,
                name,
                systems,
                source,
                text,
                None if is_copy else _prefill(target_item.get("mqm"), text, log),
                _position(target_item) if named else _line(target_item),
                is_copy,
            )
        )
    return shown_outputs


def _position(item: Mapping[str, object]) -> int | None:
    """Return the position of the segment in its document, which only our own batches state.

    Their tasks may show parts of documents, in any order.
    """
    said = PLACED.fullmatch(str(item.get("_item")))
    return int(said[1]) if said and item.get("sourceID") == OURS else None


def _line(item: Mapping[str, object]) -> int:
    """Return the line of the test set for a segment without a named document. Raises ValueError."""
    line = item.get("itemID")
    if type(line) is not int or not 0 <= line < MOST_SEGMENTS:
        raise ValueError(f"itemID must be a line of the test set, from 0 to {MOST_SEGMENTS - 1:,}, without documentID")
    return line + 1


def _prefill(mqm: object, text: str, log: ReadLog) -> tuple[Mapping[str, object], ...] | None:
    """Return the prefilled errors; None if there are none. Raises ValueError."""
    given = mqm.get("payload") if isinstance(mqm, dict) else mqm
    if not given:
        return None
    marks = parse_appraise_spans(canonical_json(given), text, log.repaired)
    return tuple({name: value for name, value in mark.items() if name != "prefill"} for mark in marks)


def _text(item: Mapping[str, object], name: str, *, empty: bool = False) -> str:
    value = item.get(name)
    if not isinstance(value, str) or not (value or empty):
        raise ValueError(f"{name} must be a text")
    if not empty and len(value) > LONGEST_NAME:
        raise ValueError(f"{name} has more than {LONGEST_NAME} characters")
    return value


def _normalize_line_ends(text: str) -> str:
    return LINE_END.sub("\n", text)


def _languages(batch: object) -> Languages:
    task = batch.get("task") if isinstance(batch, dict) else None
    said = [task.get(name) if isinstance(task, dict) else None for name in ("sourceLanguage", "targetLanguage")]
    source, target = (code if isinstance(code, str) and 0 < len(code) <= 35 else None for code in said)
    return source, target
