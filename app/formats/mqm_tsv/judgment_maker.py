"""Make one judgment from the rows of one rater on one output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import NamedTuple

from app.formats.base import Given, JudgmentRow, LineLocation, ReadLog
from app.formats.kit.media_spans import pop_time_span
from app.formats.kit.strict_json import canonical_json
from app.formats.mqm_tsv.metadata import EVALUATION, TEXTS, convert_token_ranges_to_spans, parse_metadata
from app.formats.mqm_tsv.rows import (
    ATTENTION,
    ERROR,
    NO_ERROR,
    MqmRowWithoutOutput,
    parse_packed_spans,
    read_metadata_timestamp_ms,
)

MOST_ROWS = 1000
MOST_METADATA = 4 << 20
LONGEST_NOTE = 4000
LONGEST_CATEGORY = 256
SIDES = ("target", "source")
ONE_SPAN = len("0000003-0000005")
Made = JudgmentRow | Given
Found = tuple[MqmRowWithoutOutput, dict[str, object]]
FLAWLESS: dict[str, object] = {"protocol": "mqm", "errors": []}  # a single object, so that it can be recognized


class JudgedOutput(NamedTuple):
    """The output of a judgment: keys, and the texts without marks. systems: only this system."""

    item: str
    systems: tuple[str]
    document: str
    position: int
    source: str
    target: str


class JudgmentMaker:
    """Makes judgments and counts its repairs; a judgment that contains only a payload is returned as `Given`."""

    def __init__(self, log: ReadLog) -> None:
        self._log = log

    def make_judgment(
        self, where: JudgedOutput, rater: str, rows: Iterator[MqmRowWithoutOutput], tokens: Mapping[str, list[str]]
    ) -> Made | None:
        """Make the judgment from all rows, sorted, of one rater on one output; None if no row can be read."""
        seen: list[MqmRowWithoutOutput] = []
        for row in rows:
            seen.append(row)
            if not _is_plain(row) or len(seen) > MOST_ROWS:
                break
        else:
            return rater, *_line(min(seen, key=_line) if len(seen) > 1 else seen[0]), _make_plain_payload(seen)
        if len(seen) == 1 and row.what == NO_ERROR and not row.metadata and len(row.category) <= LONGEST_CATEGORY:
            second = next(rows, None)
            if second is None:
                return rater, *_line(row), FLAWLESS
            seen.append(second)
        return self._make_judgment(where, rater, chain(seen, rows), tokens)

    def _make_judgment(
        self, where: JudgedOutput, rater: str, rows: Iterable[MqmRowWithoutOutput], tokens: Mapping[str, list[str]]
    ) -> Made | None:
        taken = self._parse_rows(rows)
        if not taken:
            return None
        if len(taken) == 1 and taken[0][0].what == NO_ERROR and not taken[0][1]:
            return self._judgment(where, rater, taken, [], None)
        errors = self._latest([f for f in taken if f[0].what == ERROR], [f for f in taken if f[0].what == NO_ERROR])
        attention = [f for f in taken if f[0].what == ATTENTION]
        if attention:
            self._log.dropped["attention checks (HOTW-test), kept with the judgment"] += len(attention)
        marked = [(self._span(where, row, metadata, tokens), _rest(metadata)) for row, metadata in errors]
        if len(marked) > 1:
            marked.sort(key=_order)
        meta = (
            _meta(taken, [rest for _, rest in marked], attention)
            if any(metadata for _, metadata in taken) or attention
            else None
        )
        return self._judgment(where, rater, taken, [span for span, _ in marked], meta or None)

    def _parse_rows(self, rows: Iterable[MqmRowWithoutOutput]) -> list[Found]:
        """Return the readable rows, as many as one judgment may have; no more than these are in memory."""
        taken: list[Found] = []
        held = 0
        for row in rows:
            held += len(row.metadata)
            if len(taken) >= MOST_ROWS or held > MOST_METADATA:
                self._note_bad_row(
                    row, f"more than {MOST_ROWS} rows, or {MOST_METADATA:,} characters of metadata, for one output"
                )
            elif (mark := self._parse_row(row)) is not None:
                taken.append(mark)
        return taken

    def _parse_row(self, row: MqmRowWithoutOutput) -> Found | None:
        if not row.metadata and len(row.category) <= LONGEST_CATEGORY:
            return row, {}
        try:
            metadata = parse_metadata(row.metadata)
        except ValueError as fault:
            self._note_bad_row(row, str(fault))
            return None
        if len(row.category) > LONGEST_CATEGORY:
            self._note_bad_row(row, f"the category has more than {LONGEST_CATEGORY} characters")
            return None
        return row, metadata

    def _note_bad_row(self, row: MqmRowWithoutOutput, reason: str) -> None:
        self._log.record_bad_line(LineLocation(row.file, int(row.line)), reason)

    def _latest(self, errors: list[Found], clean: list[Found]) -> list[Found]:
        """Return the errors that count if the rater also reported that there are none."""
        if len(clean) > 1:
            self._log.repaired["No-error more than once for one judgment"] += len(clean) - 1
        if not errors or not clean:
            return errors
        marked = [read_metadata_timestamp_ms(metadata) for _, metadata in errors]
        said = [read_metadata_timestamp_ms(metadata) for _, metadata in clean]
        if None in marked or None in said:
            self._log.repaired["No-error beside errors: the errors count"] += len(clean)
            return errors
        self._log.notes["re-submissions by time stamp: the latest counts"] += 1
        until = max(t for t in said if t is not None)
        kept = [found for found, t in zip(errors, marked, strict=True) if t is not None and t > until]
        self._log.dropped["errors that a later No-error took back"] += len(errors) - len(kept)
        return kept

    def _span(
        self,
        where: JudgedOutput,
        row: MqmRowWithoutOutput,
        metadata: dict[str, object],
        tokens: Mapping[str, list[str]],
    ) -> dict[str, object]:
        """Return one error in payload form. Metadata that it uses are removed from `metadata`."""
        ours, theirs = row.target_spans, row.source_spans
        places: Sequence[tuple[int, int]]
        if not metadata and not (ours and theirs):  # the case of most errors
            side = "source" if theirs else "target"
            places = parse_packed_spans(theirs or ours)
        else:
            side, places = self._places(where, row, metadata, tokens)
        if len(places) > 1:
            self._log.repaired["errors with several spans: the first counts, all are kept"] += 1
            metadata["spans"] = [list(place) for place in places]
        span: dict[str, object] = {"severity": row.severity}
        if side != "target":
            span["side"] = side
        if places:
            span["start"], span["end"] = places[0]
        if row.category:
            span["category"] = row.category
            if "omission" in row.category.casefold():
                span["omission"] = True
        note = metadata.get("note")
        if isinstance(note, str) and 0 < len(note) <= LONGEST_NOTE:
            span["note"] = metadata.pop("note")
        return span if places else {**span, **pop_time_span(metadata)}

    def _places(
        self,
        where: JudgedOutput,
        row: MqmRowWithoutOutput,
        metadata: dict[str, object],
        tokens: Mapping[str, list[str]],
    ) -> tuple[str, Sequence[tuple[int, int]]]:
        """Return side and spans of an error: the marks in the texts, or else the token ranges of the metadata."""
        marked = {"target": parse_packed_spans(row.target_spans), "source": parse_packed_spans(row.source_spans)}
        if marked["target"] and marked["source"]:
            self._log.repaired["errors marked on both sides: the target counts, the source span is kept"] += 1
            metadata["source_marks"] = [list(place) for place in marked["source"]]
        for side in SIDES:
            if marked[side]:
                return side, marked[side]
        for side, text in zip(SIDES, (where.target, where.source), strict=True):
            ranges = metadata.get(f"{side}_spans")
            if ranges:
                places = convert_token_ranges_to_spans(ranges, tokens.get(side), text)
                if places:
                    self._log.repaired["spans taken from token ranges"] += 1
                    return side, sorted(places)
                self._log.notes["token ranges that do not fit the tokens: span unknown, ranges kept"] += 1
        return "target", ()

    def _judgment(
        self,
        where: JudgedOutput,
        rater: str,
        taken: list[Found],
        spans: list[dict[str, object]],
        meta: dict[str, object] | None,
    ) -> Made:
        line = taken[0][0]
        if len(taken) > 1:
            line = min((row for row, _ in taken), key=lambda row: (row.file, int(row.line)))
        payload: dict[str, object] = {"protocol": "mqm", "errors": spans}
        times = [t for _, metadata in taken if metadata and (t := read_metadata_timestamp_ms(metadata)) is not None]
        if meta is None and not times:
            return rater, line.file, int(line.line), payload
        at = datetime.fromtimestamp(max(times) / 1000, UTC) if times else None
        place, (item, systems, document, position, *_) = LineLocation(line.file, int(line.line)), where
        return JudgmentRow(place, rater, item, systems, document, position, rater, payload, submitted_at=at, meta=meta)


def _is_plain(row: MqmRowWithoutOutput) -> bool:
    """Return whether a row is an error at one place of the target and nothing else, as most errors are."""
    return (
        len(row.target_spans) == ONE_SPAN
        and row.what == ERROR
        and not row.source_spans
        and not row.metadata
        and len(row.category) <= LONGEST_CATEGORY
    )


def _make_plain_payload(rows: Sequence[MqmRowWithoutOutput]) -> dict[str, object]:
    """Return the payload of plain rows, which are already in the order of `_order`."""
    errors = []
    for row in rows:
        place = row.target_spans
        span: dict[str, object] = {"severity": row.severity, "start": int(place[:7]), "end": int(place[8:])}
        if row.category:
            span["category"] = row.category
            if "omission" in row.category.casefold():
                span["omission"] = True
        errors.append(span)
    return {"protocol": "mqm", "errors": errors}


def _line(row: MqmRowWithoutOutput) -> tuple[str, int]:
    return row.file, int(row.line)


def _order(marked: tuple[dict[str, object], dict[str, object]]) -> tuple[object, ...]:
    """Return the sort key of an error within its judgment, whatever the order of the rows."""
    span, rest = marked
    texts = (span["severity"], span.get("category", ""), span.get("note", ""), canonical_json(rest) if rest else "")
    return (span.get("side", "target"), span.get("start", -1), span.get("end", -1), *texts, span.get("start_ms", 0))


def _meta(taken: list[Found], rests: list[dict[str, object]], attention: list[Found]) -> dict[str, object]:
    """Return what a payload cannot hold: other metadata by error, attention checks, and metadata of No-error."""
    meta: dict[str, object] = {}
    if any(rests):
        meta["errors"] = rests
    if attention:
        meta["attention"] = sorted((_attention(row, metadata) for row, metadata in attention), key=canonical_json)
    clean = (_rest(metadata) for row, metadata in taken if row.what == NO_ERROR)
    said = min(filter(None, clean), key=canonical_json, default=None)
    if said and not rests:
        meta["no_error"] = said
    return meta


def _attention(row: MqmRowWithoutOutput, metadata: dict[str, object]) -> dict[str, object]:
    rest = _rest(metadata)
    return {"severity": row.severity, "category": row.category, **({"meta": rest} if rest else {})}


def _rest(metadata: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in metadata.items() if key not in (TEXTS, EVALUATION)}
