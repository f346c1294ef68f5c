"""Strip whitespace from texts in a stream of records, and adapt the spans of judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.domain.errors import Invalid
from app.domain.spans import clip_span_to_stripped_text
from app.formats.base import JudgmentRow, OutputRow, ReadLog, Record, SegmentRow

MOST_STRIPPED = 200_000
Text = tuple[str, str, int]


class WhitespaceStripper:
    """Strips texts, and clips the spans of judgments that come after them."""

    def __init__(self, log: ReadLog) -> None:
        self._log = log
        self._stripped: dict[tuple[str | int, ...], tuple[int, int]] = {}

    def __call__(self, record: Record) -> Record:
        """Return the record with its text stripped or its spans clipped."""
        if isinstance(record, SegmentRow) and record.source is not None:
            key = ("", record.document, record.position)
            source = self._strip(record.source, key)
            return record if source is record.source else replace(record, source=source, led=self._stripped[key][0])
        if isinstance(record, OutputRow):
            key = (record.system, record.document, record.position)
            text = self._strip(record.text, key)
            if text is record.text:
                return record
            return self._clip_prefilled_errors(replace(record, text=text, led=self._stripped[key][0]))
        if isinstance(record, JudgmentRow) and self._stripped and record.position is not None:
            return self._clip_judgment(record, record.position)
        return record

    def _strip(self, text: str, key: Text) -> str:
        stripped = text.strip()
        if len(stripped) == len(text):
            return text
        if len(self._stripped) >= MOST_STRIPPED:
            raise Invalid(f"more than {MOST_STRIPPED:,} texts with white space at their ends")
        self._log.repaired["white space at the ends of a text"] += 1
        self._stripped[key] = len(text) - len(text.lstrip()) if stripped else len(text), len(stripped)
        return stripped

    def _clip_prefilled_errors(self, record: OutputRow) -> OutputRow:
        """Return an output with the errors shown with it clipped to the stripped text."""
        if not record.prefill:
            return record
        places = {"target": self._stripped[record.system, record.document, record.position]}
        errors = [self._clip(error, places) for error in record.prefill]
        return replace(record, prefill=tuple(error for error in errors if isinstance(error, dict)))

    def _clip_judgment(self, record: JudgmentRow, position: int) -> JudgmentRow:
        errors = record.payload.get("errors")
        if not isinstance(errors, list):
            return record
        places = {
            "source": self._stripped.get(("", record.document, position)),
            "target": self._stripped.get((*record.systems[:1], record.document, position)),
        }
        clipped = [self._clip(error, places) for error in errors]
        return replace(record, payload={**record.payload, "errors": clipped})

    @staticmethod
    def _clip(error: object, places: Mapping[str, tuple[int, int] | None]) -> object:
        if not isinstance(error, dict):
            return error
        place, start, end = places.get(str(error.get("side", "target"))), error.get("start"), error.get("end")
        if place is None or type(start) is not int or type(end) is not int:
            return error
        start, end = clip_span_to_stripped_text((start, end), *place)
        return {**error, "start": start, "end": end}
