"""`csv`: judgments for a spreadsheet or a script, one row per judgment and revision; commas, quotes where needed.

Conventions: names are keys, several systems are joined by `+`, times are UTC, `position` is empty for a judgment of the
whole item. `score` is the number that the rater gave, empty if the protocol asks for none; `scores` and `errors` are
JSON; `comment` is on the output, `screen_comment` on its screen. A text cell that a spreadsheet would take for a
formula starts with an apostrophe. Texts, and data on systems, documents and raters, have no column.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from app.domain.comments import ON_OUTPUT, ON_SCREEN
from app.domain.spreadsheet_cells import escape_formula, is_formula
from app.formats.base import (
    BY_METRICS,
    CampaignRow,
    Format,
    JudgmentRow,
    LineLocation,
    MetricScoreRow,
    Record,
    VoidedJudgmentRow,
)
from app.formats.kit.records import decode_record, encode_record, make_record_identity_key
from app.formats.kit.sorting import ExternalSorter
from app.formats.kit.strict_json import canonical_json

COLUMNS = (
    "task",
    "item",
    "role",
    "accepted",
    "rater",
    "system",
    "document",
    "position",
    "revision",
    "started_at",
    "submitted_at",
    "protocol",
    "score",
    "scores",
    "n_errors",
    "errors",
    "external_id",
    "void",
    "comment",
    "screen_comment",
)
NEUTRALIZED = "cells that a spreadsheet would take for formulas, with an apostrophe in front"
ADDRESS = LineLocation("", 0)
Address = tuple[str, str, int | None, str]


def write(records: Iterable[Record], lost: Counter[str] | None = None, /) -> Iterator[bytes]:
    """Write one row per judgment and revision, in canonical order; data without a column is counted in `lost`."""
    lost = Counter() if lost is None else lost
    voids: dict[Address, str] = {}
    yield _line(COLUMNS)
    with ExternalSorter() as entries:
        for record in records:
            if isinstance(record, JudgmentRow):
                entries.add(f"{make_record_identity_key(record)}\0\0{encode_record(record)}".encode())
            elif isinstance(record, VoidedJudgmentRow):
                voids[record.task, record.item, record.position, record.rater] = record.reason
            elif isinstance(record, MetricScoreRow):
                lost[BY_METRICS] += 1
            elif not isinstance(record, CampaignRow):
                lost["texts, and what is known of systems, documents and raters"] += 1
        for entry in entries:
            entry_record = decode_record(json.loads(entry.rpartition(b"\0\0")[2]), ADDRESS)
            if isinstance(entry_record, JudgmentRow):
                yield _line([_cell(value, lost) for value in _values(entry_record, voids)])


def _values(judgment: JudgmentRow, voids: dict[Address, str]) -> Sequence[object]:
    payload, meta = judgment.payload, judgment.meta or {}
    errors, scores = payload.get("errors"), payload.get("scores")
    address = judgment.task, judgment.item, judgment.position, judgment.rater
    return (
        judgment.task,
        judgment.item,
        judgment.role,
        judgment.accepted,
        judgment.rater,
        "+".join(judgment.systems),
        judgment.document,
        judgment.position,
        judgment.revision,
        judgment.started_at,
        judgment.submitted_at,
        payload.get("protocol"),
        payload.get("score"),
        None if scores is None else canonical_json(scores),
        len(errors) if isinstance(errors, list) else None,
        None if errors is None else canonical_json(errors),
        judgment.external_id,
        voids.get(address),
        _text(meta.get(ON_OUTPUT)),
        _text(meta.get(ON_SCREEN)),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _cell(value: object, lost: Counter[str]) -> str:
    """Return a cell as text; numbers are not escaped, because a number with a minus is not a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    text = str(value)
    if is_formula(text):
        lost[NEUTRALIZED] += 1
    return escape_formula(text)


def _line(cells: Iterable[str]) -> bytes:
    line = io.StringIO()
    # The writer quotes cells with a character of its line end: a lone CR must not end a line for any reader.
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n").encode() + b"\n"


FORMAT = Format(name="csv", title="Judgments for a spreadsheet, one a row", write=write)
