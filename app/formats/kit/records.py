"""Records as JSON objects and back: one table lists the fields of each type and their allowed values.

Fields with their default value are left out, so a record has exactly one canonical text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import UTC, datetime

from app.domain import alignment
from app.domain.keys import is_key
from app.domain.questionnaires import MOMENTS
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    JudgmentRow,
    LineLocation,
    MetricScoreRow,
    OutputRow,
    RaterRow,
    Record,
    ScreenComparisonRow,
    SegmentRow,
    SystemRecord,
    VoidedJudgmentRow,
)
from app.formats.kit.strict_json import canonical_json

LONGEST_NAME = 1000
LARGEST_INT = 2**31 - 1
LARGEST = sys.float_info.max
LARGEST_REVISION = 1_000_000  # leaves room for the answers that are numbered from it on
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
Check = Callable[[object], object]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value


def _name(value: object) -> str:
    name = _text(value)
    if not 0 < len(name) <= LONGEST_NAME:
        raise ValueError(f"must have 1 to {LONGEST_NAME} characters")
    return name


def _key(value: object) -> str:
    key = _text(value)
    if not is_key(key):
        raise ValueError("must be a key: 1 to 128 of A–Z a–z 0–9 . _ ~ : @ + -")
    return key


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 1 <= value <= LARGEST_INT:
        raise ValueError("must be a whole number from 1")
    return value


def _revision(value: object) -> int:
    if type(value) is not int or not 1 <= value <= LARGEST_REVISION:
        raise ValueError(f"must be a whole number from 1 to {LARGEST_REVISION:,}")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST <= value <= LARGEST:
        raise ValueError("must be a number")
    return float(value)


def _mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    return value


def _texts_by_name(value: object) -> dict[str, str]:
    return {_name(name): _text(text) for name, text in _mapping(value).items()}


def _list_of(check: Check, least: int) -> Check:
    def checked(value: object) -> tuple[object, ...]:
        if not isinstance(value, list) or len(value) < least:
            raise ValueError(f"must be a list of at least {least}")
        return tuple(check(one) for one in value)

    return checked


def _systems(value: object) -> object:
    return _list_of(_key, 1)(value)


def _group(value: object) -> object:
    return _list_of(_count, 1)(value)


def _check_literal(*values: str) -> Check:
    def checked(value: object) -> str:
        if not isinstance(value, str) or value not in values:
            raise ValueError(f"must be one of {', '.join(values)}")
        return value

    return checked


def _time(value: object) -> datetime:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise ValueError("must be a time like 2026-11-20T09:30:00Z")
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("is no time that exists") from None


def _check_back_translation(value: object) -> dict[str, object]:
    said = _mapping(value)
    if set(said) != {"rater", "text", "origin"}:
        raise ValueError("must have rater, text and origin")
    return {"rater": _key(said["rater"]), "text": _text(said["text"]), "origin": _mapping(said["origin"])}


def _alignment(value: object) -> str:
    return alignment.canonicalize_alignment(_text(value))


def _parse_questionnaire_revisions(value: object) -> dict[str, object]:
    """Check the revisions of answers to questionnaires, by moment."""
    said = _mapping(value)
    for moment, revisions in said.items():
        _check_literal(*MOMENTS)(moment)
        for revision in _list_of(_mapping, 1)(revisions):  # type: ignore[attr-defined]  # a tuple, as it checks
            if set(revision) != {"answers", "at"}:
                raise ValueError("must have answers and at")
            _time(revision["at"])
            if not all(isinstance(given, str | int | float | list) for given in _mapping(revision["answers"]).values()):
                raise ValueError("answers must be texts, numbers and lists")
    return said


@dataclass(frozen=True, slots=True)
class RecordType:
    """One type of record: its class, the checks of its fields, the required fields, and the identifying ones."""

    name: str
    rank: int
    record: type[Record]
    checks: Mapping[str, Check]
    identity: tuple[str, ...]
    required: frozenset[str]
    defaults: Mapping[str, object]


NOT_SAID = ("at", "led", "guessed", "score")  # not written: how a record was read, or derived from its contents


def _shape(rank: int, name: str, record: type[Record], identity: str, /, **checks: Check) -> RecordType:
    declared = {f.name: f.default for f in fields(record) if f.name not in NOT_SAID}
    if set(declared) != set(checks):
        raise TypeError(f"{name}: the checks do not cover the fields {set(declared) ^ set(checks)}")
    required = frozenset(field for field, default in declared.items() if default is MISSING)
    return RecordType(name, rank, record, checks, tuple(identity.split()), required, declared)


_ADDRESS: dict[str, Check] = {"task": _key, "item": _key, "position": _count, "rater": _key}
SHAPES: Mapping[str, RecordType] = {
    shape.name: shape
    for shape in (
        _shape(
            0,
            "campaign",
            CampaignRow,
            "",
            protocol=_key,
            source_language=_name,
            target_language=_name,
            basis=_name,
            name=_name,
            options=_mapping,
            documents_known=_bool,
            questionnaires=_mapping,
            slider_colors=_bool,
        ),
        _shape(
            1,
            "system",
            SystemRecord,
            "key",
            key=_key,
            name=_name,
            kind=_check_literal("mt", "human"),
            lab=_name,
            tags=_list_of(_name, 0),
        ),
        _shape(
            2,
            "document",
            DocumentRecord,
            "key",
            key=_key,
            name=_name,
            kind=_check_literal("test", "calibration", "tutorial", "attention"),
            domain=_name,
            position=_count,
            meta=_mapping,
            known_answers=_check_literal("unfit"),
        ),
        _shape(
            3,
            "rater",
            RaterRow,
            "key",
            key=_key,
            name=_name,
            person=_name,
            attributes=_mapping,
            questionnaires=_parse_questionnaire_revisions,
        ),
        _shape(
            4,
            "segment",
            SegmentRow,
            "document position",
            document=_key,
            position=_count,
            source=_text,
            references=_texts_by_name,
            meta=_mapping,
        ),
        _shape(
            5,
            "output",
            OutputRow,
            "document position system",
            system=_key,
            document=_key,
            position=_count,
            text=_text,
            prefill=_list_of(_mapping, 0),
            prefill_origin=_mapping,
            written=_check_back_translation,
            alignment=_alignment,
        ),
        _shape(
            6,
            "judgment",
            JudgmentRow,
            "task item position rater revision submitted_at",
            **_ADDRESS,
            systems=_list_of(_key, 0),
            document=_key,
            payload=_mapping,
            role=_check_literal("rating", "repeat", "reference", "degraded", "calibration"),
            accepted=_bool,
            revision=_revision,
            item_position=_count,
            started_at=_time,
            submitted_at=_time,
            external_id=_name,
            task_meta=_mapping,
            item_meta=_mapping,
            meta=_mapping,
        ),
        _shape(7, "void", VoidedJudgmentRow, "task item position rater", **_ADDRESS, reason=_name, actor=_name),
        _shape(
            8,
            "metric",
            MetricScoreRow,
            "metric system document position",
            metric=_key,
            system=_key,
            value=_number,
            higher_is_better=_bool,
            document=_key,
            position=_count,
        ),
        _shape(
            9,
            "comparison",
            ScreenComparisonRow,
            "task screen rater",
            task=_key,
            screen=_count,
            rater=_key,
            document=_key,
            items=_list_of(_key, 2),
            columns=_list_of(_systems, 2),
            preference=_list_of(_group, 1),
            position=_count,
        ),
    )
}
_NULLABLE = frozenset({("judgment", "position"), ("void", "position")})
"""Required fields that may be null: a judgment may be of a whole item, but a segment or output has a position."""
_BY_CLASS: Mapping[type[object], RecordType] = {shape.record: shape for shape in SHAPES.values()}


def find_record_type(record: Record) -> RecordType:
    """Return the type of a record."""
    return _BY_CLASS[type(record)]


def encode_record(record: Record) -> str:
    """Return the canonical JSON text of a record, without the place where it was read."""
    shape = find_record_type(record)
    plain: dict[str, object] = {"type": shape.name}
    for field, default in shape.defaults.items():
        value = getattr(record, field)
        if value != default or type(value) is not type(default):
            plain[field] = _make_plain_value(value)
    return canonical_json(plain)


def _make_plain_value(value: object) -> object:
    if isinstance(value, datetime):
        text = value.astimezone(UTC).isoformat(timespec="auto")
        return text.replace("+00:00", "Z")
    return dict(value) if isinstance(value, Mapping) else value


def decode_record(plain: Mapping[str, object], at: LineLocation) -> Record:
    """Return the record of a parsed line. Raises ValueError naming the field that is wrong, missing or unknown."""
    kind = plain.get("type")
    shape = SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        raise ValueError(f"type: must be one of {', '.join(SHAPES)}")
    values: dict[str, object] = {}
    for field, value in plain.items():
        check = shape.checks.get(field)
        if check is None:
            if field == "type":
                continue
            raise ValueError(f"{field[:64]}: no such field in a {shape.name}")
        if value is None and (shape.name, field) in _NULLABLE:
            values[field] = None
            continue
        if value is None and field not in shape.required:
            continue
        try:
            values[field] = check(value)
        except ValueError as fault:
            raise ValueError(f"{field}: {fault}") from None
    if shape.required - values.keys():
        raise ValueError(f"{min(shape.required - values.keys())}: is missing")
    return shape.record(at, **values)  # type: ignore[arg-type]  # each by the check of its field


def make_record_identity_key(record: Record) -> str:
    """Return what records of the same thing have in common; it sorts by type, then by the thing's address."""
    shape = find_record_type(record)
    return "\0".join([str(shape.rank), *(_sortable(getattr(record, field)) for field in shape.identity)])


def _sortable(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:010d}"
    return value.astimezone(UTC).isoformat("T", "microseconds") if isinstance(value, datetime) else str(value)
