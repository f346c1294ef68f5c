"""Records from the objects of JSON files, through a JSON map."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.errors import Invalid
from app.domain.keys import convert_name_to_key
from app.domain.spans import parse_severity
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    JudgmentRow,
    LineLocation,
    OutputRow,
    RaterRow,
    ReadLog,
    Record,
    SegmentRow,
    SystemRecord,
)
from app.formats.json.json_map import AnswerListMapping, JsonFieldMap, MarkedErrorsMapping, Meaning
from app.formats.json.output_parts import join_output_parts
from app.formats.json.unnamed_documents import UnnamedDocumentMatcher
from app.formats.kit.names import KeyAssigner
from app.formats.kit.numbers import parse_number
from app.formats.kit.row_cells import LONGEST, parse_position
from app.formats.kit.strict_json import canonical_json
from app.formats.kit.whitespace import WhitespaceStripper

MOST_ERRORS, MOST_ANSWERS, MOST_REFERENCES = 1000, 1000, 100
MOST_JUDGMENTS = 2_000_000
MOST_NAMED = 50
PAIR = re.compile(r"(?<![a-z])([a-z]{2,8})2([a-z]{2,8})(?![a-z])")
UNUSED = "field {} of an object: the map gives it no meaning"
OTHERS = "other fields of objects: the map gives them no meaning"
Object = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Output:
    """The content of an object other than its answers. Texts are None if they are unknown."""

    at: LineLocation
    system: str
    document: str
    position: int
    source: str | None
    target: str | None
    domain: str | None
    references: Mapping[str, str]
    answers: Sequence[tuple[str, Object]]


@dataclass(slots=True)
class JsonRecordMaker:
    """Makes records from objects, one after another.

    humans: names of human systems. numbers: of documents without a name.
    """

    fields: JsonFieldMap
    humans: frozenset[str]
    log: ReadLog
    numbers: UnnamedDocumentMatcher[_Output] = field(default_factory=UnnamedDocumentMatcher)
    n_judgments: int = 0
    _pair: tuple[str, str] | None = None
    _names: dict[str, KeyAssigner] = field(init=False)
    _strip: WhitespaceStripper = field(init=False)
    _told: set[tuple[object, ...]] = field(default_factory=set)
    _given: dict[tuple[str, str, str, int], int] = field(default_factory=dict)
    _unused: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._names = {noun: KeyAssigner(noun, self.log) for noun in ("system", "document", "rater")}
        self._strip = WhitespaceStripper(self.log)

    def make_campaign_row(self, at: LineLocation) -> CampaignRow:
        """Return what the map states about the campaign."""
        constants = self.fields.constants
        source, target = constants.get("source_language"), constants.get("target_language")
        return CampaignRow(at, self.fields.protocol, source, target, options=dict(self.fields.options) or None)

    def make_records(self, objects: Iterator[tuple[LineLocation, Object]]) -> Iterator[Record]:
        """Yield the records of one file's objects."""
        joined = join_output_parts(objects, self.fields, self.log)
        outputs = (output for at, value in joined for output in self._read_output(at, value))
        if self.fields.documents == "position":
            named = self.numbers.assign_documents((one.position, one.source or "", one) for one in outputs)
        else:
            named = ((one.document, one) for one in outputs)
        for document, output in named:
            try:
                records = list(self._records(document, output))
            except ValueError as fault:
                self.log.record_bad_line(output.at, str(fault))
                continue
            for record in records:
                self.n_judgments += isinstance(record, JudgmentRow)
                yield self._strip(record)

    def _read_output(self, at: LineLocation, value: Object) -> Iterator[_Output]:
        """Yield the output of an object; nothing if it is a bad line."""
        try:
            self._count_unused(value, self.fields.allowed_fields())
            self._same_pair(value)
            yield self._output(at, value)
        except ValueError as fault:
            self.log.record_bad_line(at, str(fault))

    def _output(self, at: LineLocation, value: Object) -> _Output:
        position = self._text(value, "position")
        return _Output(
            at,
            system=self._name(value, "system"),
            document="" if self.fields.documents == "position" else self._name(value, "document"),
            position=1 if position is None else parse_position(position.strip(), self.fields.first_position),
            source=self._text(value, "source"),
            target=self._text(value, "target"),
            domain=self._text(value, "domain"),
            references=_references(value.get(self.fields.references)) if self.fields.references else {},
            answers=self._answers(value),
        )

    def _answers(self, value: Object) -> list[tuple[str, Object]]:
        """Return pairs of rater and answer. Raises ValueError."""
        if not self.fields.answers:
            return [(self._name(value, "rater"), value)]
        return [one for answers in self.fields.answers for one in self._read_answer_list(answers, value)]

    def _read_answer_list(self, answers: AnswerListMapping, value: Object) -> Iterator[tuple[str, Object]]:
        for n, answer in enumerate(_list(value, answers.list, MOST_ANSWERS), 1):
            if not isinstance(answer, Mapping):
                raise ValueError(f"{answers.list}: must be a list of objects")
            self._count_unused(answer, self.fields.allowed_answer_fields())
            yield f"{answers.raters}-{n}", answer

    def _records(self, document: str, output: _Output) -> Iterator[Record]:
        """Yield the records of an output. Raises ValueError before the first record is used."""
        at, position = output.at, output.position
        system, new_system = self._key("system", output.system)
        key, new_document = self._key("document", document)
        if new_system:
            human = output.system in self.humans
            yield SystemRecord(at, system, output.system, kind="human" if human else "mt")
        if new_document:
            yield DocumentRecord(at, key, document, domain=output.domain or None)
        if output.source is not None or output.references:
            yield SegmentRow(at, key, position, output.source, output.references or None)
        if output.target is not None:
            yield OutputRow(at, system, key, position, output.target)
        for name, answer in output.answers:
            rater, new_rater = self._key("rater", name)
            payload = self._payload(answer, output)
            if not self._is_new((rater, system, key, position), payload):
                continue
            if new_rater:
                yield RaterRow(at, rater, name)
            item = convert_name_to_key(f"{system}:{key}")
            yield JudgmentRow(at, rater, item, (system,), key, position, rater, payload)

    def _is_new(self, address: tuple[str, str, str, int], payload: Object) -> bool:
        """Return whether it is the first answer there. Raises ValueError for another one, as their order is unknown."""
        digest = hash(canonical_json(payload))
        known = self._given.setdefault(address, digest)
        if len(self._given) > MOST_JUDGMENTS:
            raise Invalid(f"more than {MOST_JUDGMENTS:,} judgments; give fewer files at once")
        if address in self._told:
            if known != digest:
                raise ValueError(f"{address[0]} answered there before, and otherwise; nothing says which is the later")
            self.log.repaired["objects that stand twice alike"] += 1
            return False
        self._told.add(address)
        return True

    def _payload(self, answer: Object, output: _Output) -> dict[str, object]:
        fields = self.fields
        payload: dict[str, object] = {"protocol": fields.protocol}
        if fields.score is not None:
            payload["score"] = _number(answer.get(fields.score), fields.score)
        if fields.criteria:
            given = {name: answer.get(where) for name, where in fields.criteria.items()}
            payload["scores"] = {name: _number(value, name) for name, value in given.items() if value is not None}
        if fields.errors:
            payload["errors"] = [error for marks in fields.errors for error in self._errors(marks, answer, output)]
        return payload

    def _errors(self, marks: MarkedErrorsMapping, answer: Object, output: _Output) -> Iterator[dict[str, object]]:
        text = output.source if marks.side == "source" else output.target
        for error in _list(answer, marks.list, MOST_ERRORS):
            if not isinstance(error, Mapping):
                raise ValueError(f"{marks.list}: must be a list of objects")
            used = {marks.start, marks.end, marks.severity, marks.category, marks.note, marks.words}
            self._count_unused(error, frozenset(name for name in used if name) | set(self.fields.ignore))
            given = error.get(marks.severity)
            severity = parse_severity(given.strip()) if isinstance(given, str) else None
            if severity is None:
                raise ValueError(f"{marks.list}: unknown severity {str(given)[:40]!r}")
            mark: dict[str, object] = {"severity": severity, **self._place(marks, error, text)}
            for name, where in (("category", marks.category), ("note", marks.note)):
                said = error.get(where) if where else None
                mark |= {name: said.strip()} if isinstance(said, str) and said.strip() else {}
            yield mark | ({"side": "source"} if marks.side == "source" else {})

    def _place(self, marks: MarkedErrorsMapping, error: Object, text: str | None) -> dict[str, object]:
        """Return the position of an error. Raises ValueError."""
        start, end = error.get(marks.start), error.get(marks.end)
        if start is None and end is None:
            return {"omission": True}
        behind = end + (marks.ends == "inclusive") if type(end) is int else None
        if type(start) is not int or behind is None or not 0 <= start <= behind < 1_000_000:
            raise ValueError(f"{marks.list}: {str(start)[:40]!r} and {str(end)[:40]!r} are no span")
        end = behind
        if text is not None and end > len(text):
            self.log.repaired["errors that reach beyond the end of a text, cut there"] += 1
            start, end = min(start, len(text)), len(text)
        words = error.get(marks.words) if marks.words else None
        if text is not None and isinstance(words, str) and words.strip() != text[start:end].strip():
            self.log.notes["marked words that are not what stands at their place: the place counts"] += 1
        return {"start": start, "end": end}

    def _key(self, noun: str, name: str) -> tuple[str, bool]:
        """Return the key of a name, and whether it occurs for the first time."""
        key, _ = self._names[noun].assign_key(name)
        new = (noun, key) not in self._told
        self._told.add((noun, key))
        return key, new

    def _same_pair(self, value: Object) -> None:
        """Raise ValueError if the object is of another language pair than earlier ones."""
        told = PAIR.search(self._text(value, "language_pair") or "")
        if told is None:
            return
        pair = told[1], told[2]
        self._pair = self._pair or pair
        if pair != self._pair:
            first, other = "-".join(self._pair), "-".join(pair)
            raise ValueError(f"this is of {other}, the objects before of {first}: a campaign has one language pair")

    def _text(self, value: Object, meaning: Meaning) -> str | None:
        """Return a field's text, None if there is none; integers count as texts. Raises ValueError."""
        name = self.fields.fields.get(meaning)
        given = None if name is None else value.get(name)
        if given is None or isinstance(given, str):
            return given
        if type(given) is int:
            return str(given)
        raise ValueError(f"{name}: must be a text")

    def _name(self, value: Object, meaning: Meaning) -> str:
        name = (self._text(value, meaning) or "").strip()
        if not 0 < len(name) <= LONGEST:
            raise ValueError(f"{self.fields.fields[meaning]}: must have 1 to {LONGEST} characters")
        return name

    def _count_unused(self, value: Object, used: frozenset[str]) -> None:
        for name in value.keys() - used:
            if name not in self._unused and len(self._unused) >= MOST_NAMED:
                self.log.dropped[OTHERS] += 1
                continue
            self._unused.add(name)
            self.log.dropped[UNUSED.format(repr(name[:40]))] += 1


def _references(given: object) -> dict[str, str]:
    """Return reference texts by name. Raises ValueError."""
    texts = given if isinstance(given, list) else [] if given is None else [given]
    if len(texts) > MOST_REFERENCES or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"references: must be at most {MOST_REFERENCES} texts")
    return {f"ref-{n}": text for n, text in enumerate(texts, 1)}


def _list(value: Object, name: str, most: int) -> list[object]:
    """Return a list, empty if there is none. Raises ValueError."""
    given = value.get(name)
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > most:
        raise ValueError(f"{name}: must be a list of at most {most}")
    return given


def _number(value: object, name: str) -> float:
    """Return a number. Raises ValueError."""
    if isinstance(value, str):
        return parse_number(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}: must be a number")
    return float(value)
