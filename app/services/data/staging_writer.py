"""Writer of records into staging tables: it validates and scores them, and writes COPY lines. It needs no database."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from app.domain import alignment
from app.domain.errors import Invalid, Place
from app.domain.validation_errors import list_first_validation_errors
from app.formats.base import (
    DocumentRecord,
    JudgmentRow,
    LineLocation,
    MetricScoreRow,
    OutputJudgments,
    OutputRow,
    RaterRow,
    ReadLog,
    Record,
    RoleName,
    ScreenComparisonRow,
    SegmentRow,
    SystemRecord,
    VoidedJudgmentRow,
)
from app.protocols import list_known_severities
from app.protocols.base import JudgedTexts, JudgmentScore, Protocol, ScoringOptions, SpansWidget
from app.services.plans.prefill_encoding import validate_and_encode_prefilled_spans
from app.stats.ratings import RatingRole
from app.storage.imports import copy_format

MOST_REMEMBERED = 50_000
MOST_SEEN = 2_000
OBJECTS = 50_000  # new objects before the garbage collector looks for cycles
NOTHING = (None, None, None, None)
UNSAID = copy_format.format_copy_fields(NOTHING)
UNSCORED = JudgmentScore(0.0)  # staged if the score needs the texts, and never stored
ROLES = {role.name.lower(): role.value for role in RatingRole}
Systems = tuple[str, ...]
Meta = Mapping[str, object]
Facts = tuple[Systems, str, str, RoleName, bool, int | None, Meta | None, Meta | None]
"""Facts about an item: systems, document, rater, role, whether it is accepted, position, metadata of task and item."""


class ImportProtocolDiffers(Invalid):
    """The files contain judgments by a protocol other than the campaign's."""

    published = "OtherProtocol"


@dataclass(frozen=True, slots=True)
class PayloadDerivedColumns:
    """What follows from a payload alone.

    derived: the last columns of its COPY line. ends: the furthest mark in the target and in the source. fitting: the
    same columns for marks known to lie within their texts, which need no further check. unmatched: as in
    `JudgmentScore`.
    """

    derived: str
    unmatched: tuple[str, ...]
    ends: tuple[int, int]
    fitting: str


@dataclass
class StagingWriter:
    """The staged records of one import that are not yet merged.

    get_protocol: returns the campaign's protocol and its parsed options. lines: COPY lines to be merged; places, items:
    the segments and items among them, by name. facts_by_text: what follows from payloads seen before, by text, because
    most judgments repeat one of a few payloads. facts_by_identity: the same by identity, for readers that repeat a
    payload as the same object; the object is kept, so its identity is not reused. n_held: judgments in the lines;
    last_address: document and position of the last one. n_scores: scores of automatic metrics.
    """

    get_protocol: Callable[[], tuple[Protocol[Any], ScoringOptions]]
    lines: copy_format.CopyBuffer = field(default_factory=copy_format.CopyBuffer)
    n_records: int = 0
    n_judgments: int = 0
    n_voids: int = 0
    n_scores: int = 0
    n_items: int = 0
    n_held: int = 0
    last_address: tuple[str, int | None] = ("", None)
    output: tuple[tuple[Systems, str, int], int] = (((), "", 0), 0)
    source: tuple[tuple[str, int], int] = (("", 0), 0)
    places: set[tuple[str, int]] = field(default_factory=set)
    items: dict[tuple[str, str], tuple[int, Facts]] = field(default_factory=dict)
    facts_by_text: dict[str, PayloadDerivedColumns] = field(default_factory=dict)
    facts_by_identity: dict[int, tuple[object, str, PayloadDerivedColumns]] = field(default_factory=dict)

    @cached_property
    def span_fields(self) -> tuple[str, ...]:
        """Payload fields that hold marked spans."""
        return tuple(widget.field for widget in self.get_protocol()[0].form if isinstance(widget, SpansWidget))

    @cached_property
    def allowed_severities(self) -> Sequence[str]:
        """The severities that marked errors can have."""
        return list_known_severities(*self.get_protocol())

    @cached_property
    def scoring_needs_texts(self) -> bool:
        """Whether the score for rankings cannot be computed from a payload alone."""
        protocol, options = self.get_protocol()
        return protocol.get_requested_measure(options).needs_text

    def add_record(self, record: Record | OutputJudgments, log: ReadLog) -> None:
        """Stage a record other than the campaign's. A record that is not valid goes to the log as a bad line."""
        if isinstance(record, OutputJudgments):
            _answers(self, record, log)
            return
        self.n_records += 1
        if isinstance(record, JudgmentRow):
            line = _judgment_line(self, record, log)
            if line is not None:
                self.n_held += 1
                self.last_address = record.document, record.position
                self.lines.add_line("staged_judgments", line)
            return
        if isinstance(record, ScreenComparisonRow):
            _compare(self, record)
            return
        self.n_voids += isinstance(record, VoidedJudgmentRow)
        self.n_scores += isinstance(record, MetricScoreRow)
        try:
            declared = _declaration(record, lambda: self.allowed_severities)
        except Invalid as error:
            log.record_bad_line(record.at, error.detail)
            return
        if isinstance(record, OutputRow):
            _place(self, record.at, (record.document, record.position))
            self.output = ((record.system,), record.document, record.position), len(record.text)
            where = (record.system, record.document, record.position)
            if record.alignment is not None:
                self.lines.add_line(
                    "staged_alignments",
                    copy_format.format_copy_row((record.at.file, record.at.line, *where, record.alignment)),
                )
            if record.prefill_origin is not None or record.written is not None:
                self.lines.add_line(
                    "staged_origins", copy_format.format_copy_row((*where, record.prefill_origin, record.written))
                )
        elif isinstance(record, SegmentRow):
            _known_place(self, (record.document, record.position))
            self.source = (record.document, record.position), len(record.source or "")
        self.lines.add_line(*declared)

    def starts_next_document_or_segment(self, record: Record | OutputJudgments, *, by_segment: bool) -> bool:
        """Return whether a record is the first one of the next document, or of the next segment."""
        if not isinstance(record, SegmentRow | OutputRow | JudgmentRow | OutputJudgments):
            return False
        document, position = self.last_address
        return record.document != document or (by_segment and record.position != position)

    def take_staged_lines(self) -> copy_format.CopyBuffer:
        """Return the lines so far, to be merged, and start a new chunk."""
        lines, self.lines = self.lines, copy_format.CopyBuffer()
        self.start_chunk()
        return lines

    def start_chunk(self) -> None:
        """Forget what the lines so far declare."""
        self.n_held = 0
        self.output, self.source = (((), "", 0), 0), (("", 0), 0)
        self.places.clear()
        self.items.clear()

    def forget_derived_columns(self) -> None:
        """Forget what follows from payloads, because the campaign has changed."""
        self.facts_by_text.clear()
        self.facts_by_identity.clear()
        for name in ("span_fields", "scoring_needs_texts"):
            self.__dict__.pop(name, None)


@contextmanager
def reduce_garbage_collection() -> Iterator[None]:
    """Run the garbage collector less often: millions of records are created and freed, and none is part of a cycle."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _answers(stage: StagingWriter, row: OutputJudgments, log: ReadLog) -> None:
    """Stage judgments of one output that contain only payloads."""
    place = stage.last_address = row.document, row.position
    item, systems, document, lines = row.item, row.systems, row.document, []
    target, source = _lengths(stage, row)
    named, name = "", ""
    for rater, file, line, said in row.given:
        stage.n_records += 1
        same = stage.facts_by_identity.get(id(said))
        try:
            payload, known = same[1:] if same is not None else _cached_derived_columns(stage, said)
        except Invalid as error:
            _refuse(LineLocation(file, line), error, log)
            continue
        if known.unmatched:
            _note_unmatched(known, log)
        if place not in stage.places:
            _place(stage, LineLocation(file, line), place)
        facts: Facts = systems, document, rater, "rating", True, None, None, None
        number = _item(stage, file, line, (rater, item), facts)
        stage.n_judgments += 1
        if file != named:
            named, name = file, copy_format.escape_copy_text(file)
        lines.append(
            f"{stage.n_judgments}\t{name}\t{line}\t{number}\t{row.position}\t{copy_format.NULL}\t{payload}\t{UNSAID}"
            f"{known.fitting if known.ends[0] <= target and known.ends[1] <= source else known.derived}"
        )
    stage.n_held += len(lines)
    stage.lines.add_lines("staged_judgments", lines)


def _lengths(stage: StagingWriter, row: OutputJudgments) -> tuple[int, int]:
    """Return the lengths of the judged output and its source in characters, if they were just staged; else 0."""
    place = row.document, row.position
    target = stage.output[1] if stage.output[0] == (row.systems, *place) else 0
    return target, stage.source[1] if stage.source[0] == place else 0


def _judgment_line(stage: StagingWriter, row: JudgmentRow, log: ReadLog) -> str | None:
    try:
        payload, known = _cached_derived_columns(stage, row.payload)
    except Invalid as error:
        _refuse(row.at, error, log)
        return None
    _note_unmatched(known, log)
    at = row.at
    if row.position is not None:
        _place(stage, at, (row.document, row.position))
    stage.n_judgments += 1
    said = row.role, row.accepted, row.item_position, row.task_meta, row.item_meta
    item = _item(stage, at.file, at.line, (row.task, row.item), (row.systems, row.document, row.rater, *said))
    rest = (row.started_at, row.submitted_at, row.external_id, row.meta)
    told = UNSAID if rest == NOTHING else copy_format.format_copy_fields(rest)
    return (
        f"{stage.n_judgments}\t{copy_format.escape_copy_text(at.file)}\t{at.line}\t{item}\t{_number(row.position)}\t"
        f"{_number(row.revision)}\t{payload}\t{told}{known.derived}"
    )


def _refuse(at: LineLocation, error: Invalid, log: ReadLog) -> None:
    """Record an invalid judgment as a bad line, with the field that is wrong."""
    place = error.places[0] if error.places else None
    where = ".".join(map(str, place.loc)) + ": " if place and place.loc else ""
    log.record_bad_line(at, where + (place.msg if place else error.detail))


def _note_unmatched(known: PayloadDerivedColumns, log: ReadLog) -> None:
    for path in known.unmatched:
        log.notes[f"no weight for {path}: it weighs 0"] += 1


def _number(value: int | None) -> str | int:
    return copy_format.NULL if value is None else value


def _place(stage: StagingWriter, at: LineLocation, place: tuple[str, int]) -> None:
    """Stage a segment that a record names and that no earlier record declared."""
    if place not in stage.places:
        _known_place(stage, place)
        stage.lines.add_line(
            "staged_segments", copy_format.format_copy_row((at.file, at.line, *place, None, None, None, 0))
        )


def _known_place(stage: StagingWriter, place: tuple[str, int]) -> None:
    if len(stage.places) >= MOST_REMEMBERED:
        stage.places.clear()
    stage.places.add(place)


def _item(stage: StagingWriter, file: str, line: int, name: tuple[str, str], facts: Facts) -> int:
    """Return the number of the staged item with a name (task, item). It is staged once, unless its facts differ."""
    known = stage.items.get(name)
    if known is not None and known[1] == facts:
        return known[0]
    if len(stage.items) >= MOST_REMEMBERED:
        stage.items.clear()
    stage.n_items += 1
    stage.items[name] = (stage.n_items, facts)
    systems, document, rater, role, *said = facts
    first, also = (systems[0], systems[1:]) if systems else (None, ())
    values = (stage.n_items, file, line, *name, first, also or None, document, rater, ROLES[role], *said)
    stage.lines.add_line("staged_items", copy_format.format_copy_row(values))
    return stage.n_items


def _compare(stage: StagingWriter, row: ScreenComparisonRow) -> None:
    """Stage an answer about a screen, and the items that the screen showed."""
    at = row.at
    if row.position is not None:
        _place(stage, at, (row.document, row.position))
    for item, systems in zip(row.items, row.columns, strict=True):
        facts: Facts = systems, row.document, row.rater, "rating", True, None, None, None
        _item(stage, at.file, at.line, (row.task, item), facts)
    payload = {"protocol": stage.get_protocol()[0].name, "preference": row.preference}
    values = (at.file, at.line, row.task, row.screen, row.rater)
    said = (copy_format.format_canonical_json(list(row.items)), payload, row.position)
    stage.lines.add_line("staged_comparisons", copy_format.format_copy_row((*values, *said)))


def _cached_derived_columns(stage: StagingWriter, payload: Mapping[str, object]) -> tuple[str, PayloadDerivedColumns]:
    """Return the payload in COPY format, and what follows from it. Raises Invalid, which names the field."""
    same = stage.facts_by_identity.get(id(payload))
    if same is not None:
        return same[1], same[2]
    text = copy_format.format_canonical_json(payload)
    known = stage.facts_by_text.get(text)
    if known is None:
        known = _validate_and_derive(stage, payload)
        if len(stage.facts_by_text) < MOST_REMEMBERED:
            stage.facts_by_text[text] = known
    escaped = copy_format.escape_copy_text(text)
    if len(stage.facts_by_identity) >= MOST_SEEN:
        stage.facts_by_identity.clear()
    stage.facts_by_identity[id(payload)] = payload, escaped, known
    return escaped, known


def _validate_and_derive(stage: StagingWriter, said: Mapping[str, object]) -> PayloadDerivedColumns:
    """Validate a payload and derive what is stored with it. Raises Invalid, which names the field."""
    protocol, options = stage.get_protocol()
    named = said.get("protocol", protocol.name)
    if named != protocol.name:
        raise ImportProtocolDiffers(f"this is a judgment by {named}, the campaign judges by {protocol.name}")
    try:
        payload = protocol.payload.model_validate(said)
    except ValidationError as error:
        first = list_first_validation_errors(error, 1)[0]
        raise Invalid("the payload is not valid", places=(Place(tuple(first["loc"]), first["msg"]),)) from None
    protocol.check(payload, JudgedTexts(), options)
    scored = UNSCORED if stage.scoring_needs_texts else protocol.score(payload, JudgedTexts(), options)
    ends = {"target": 0, "source": 0}
    for name in stage.span_fields:
        for span in getattr(payload, name):
            ends[span.side] = max(ends[span.side], span.end or 0)
    columns = f"\t{scored.score!r}\t{scored.n_errors}"
    target, source = ends["target"], ends["source"]
    derived = f"{columns}\t{target}\t{source}\n"
    return PayloadDerivedColumns(
        derived, scored.unmatched, (target, source), f"{columns}\t0\t0\n" if target or source else derived
    )


def _declaration(record: Record, severities: Callable[[], Sequence[str]]) -> tuple[str, str]:
    """Return the staging table and the COPY line of a declaring record. severities: those of the campaign's errors.

    Raises Invalid for a prefill or an alignment that is not valid.
    """
    at = (record.at.file, record.at.line)
    match record:
        case OutputRow():
            if record.alignment and (
                wrong := alignment.find_alignment_fault(record.alignment, source=None, text=record.text)
            ):
                raise Invalid(f"alignment: {wrong}")
            said = (
                record.system,
                record.document,
                record.position,
                record.text,
                None if record.prefill is None else validate_and_encode_prefilled_spans(record, severities()),
                record.led,
            )
            return "staged_outputs", copy_format.format_copy_row((*at, *said))
        case SegmentRow():
            known = (record.source, record.references, record.meta, record.led)
            return "staged_segments", copy_format.format_copy_row((*at, record.document, record.position, *known))
        case SystemRecord():
            kind = (record.kind, record.lab, record.tags, record.guessed)
            return "staged_systems", copy_format.format_copy_row((*at, record.key, record.name, *kind))
        case DocumentRecord():
            unfit = record.known_answers == "unfit"
            facts = (record.name, record.kind, record.domain, record.position, record.meta, unfit)
            return "staged_documents", copy_format.format_copy_row((*at, record.key, *facts))
        case RaterRow():
            return "staged_raters", copy_format.format_copy_row(
                (*at, record.key, record.name, record.person, record.attributes, record.questionnaires)
            )
        case VoidedJudgmentRow():
            rest = (record.task, record.item, record.position, record.rater, record.reason, record.actor)
            return "staged_voids", copy_format.format_copy_row((*at, *rest))
        case MetricScoreRow():
            of = (record.metric, record.system, record.document, record.position)
            return "staged_scores", copy_format.format_copy_row((*at, *of, record.value, record.higher_is_better))
        case _:
            raise TypeError(type(record).__name__)
