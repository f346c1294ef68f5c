"""Write `mqm-tsv`: ten columns from MQM judgments, spans as `<v>…</v>` in the texts.

Tabs and line ends in a text become blanks and `<v>` in a text becomes `‹v›`, character by character, so that offsets
remain valid; both are counted as lost. Data that the reader keeps under `meta` return to the metadata column. Every row
of a judgment has the time of hand-in, and errors are in the order in which they are read. Therefore a file that is
written, read and written again is the same, byte for byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from app.domain.spans import insert_span_marks
from app.formats.base import CampaignRow, JudgmentRow, Record, SegmentRow
from app.formats.kit.judgments_to_write import JudgmentToWrite, RecordsToWrite, gather_records_to_write
from app.formats.kit.media_spans import make_time_span_fields
from app.formats.kit.strict_json import canonical_json
from app.formats.mqm_tsv.rows import COLUMNS, read_metadata_timestamp_ms

BLANKS = str.maketrans("\t\n\r\0", "    ")
NO_ERROR = "No-error"


def write(records: Iterable[Record], lost: Counter[str] | None = None, /) -> Iterator[bytes]:
    """Write one row per error, in canonical order; data without a column is counted in `lost`."""
    lost = Counter() if lost is None else lost
    yield _line(COLUMNS)
    with gather_records_to_write(records, lost) as gathered:
        if gathered.campaign is not None and gathered.campaign.options:
            lost["options of the campaign: say its weights again"] += 1
        about, once = _SegmentMetadata(gathered.campaign), _FirstAnswers()
        for judged in gathered.iterate_judgments():
            why = _left_out(judged.judgment)
            if why is not None:
                lost[why] += 1
                continue
            _count_losses(judged.judgment, lost)
            for system in judged.judgment.systems:
                if not once.first(judged.judgment, system):
                    lost["answers of one rater to one output in another task"] += 1
                    continue
                for row in _rows(judged, system, gathered, about.next(judged), lost):
                    yield _line(row)


def _left_out(judgment: JudgmentRow) -> str | None:
    """Return why a judgment has no row: no column distinguishes a control, or a repeat, from a rating."""
    if judgment.payload.get("protocol") != "mqm":
        return "judgments that are not MQM"
    return None if judgment.role == "rating" else f"judgments of the kind {judgment.role}"


class _FirstAnswers:
    """Detects further answers of a rater to the same output, whose errors would be read as errors of the first."""

    def __init__(self) -> None:
        self._segment: tuple[str, int | None] | None = None
        self._seen: set[tuple[str, str]] = set()

    def first(self, judgment: JudgmentRow, system: str) -> bool:
        """Return whether this is the first answer; judgments come segment by segment."""
        if self._segment != (judgment.document, judgment.position):
            self._segment, self._seen = (judgment.document, judgment.position), set()
        told = judgment.rater, system
        is_first = told not in self._seen
        self._seen.add(told)
        return is_first


class _SegmentMetadata:
    """Metadata on languages and segment: once for each document and segment, in its first row."""

    def __init__(self, campaign: CampaignRow | None) -> None:
        self._segment: SegmentRow | None = None
        self._document = ""
        self._languages: dict[str, object] = {}
        if campaign is not None and campaign.source_language and campaign.target_language:
            pair = {"source_language": campaign.source_language, "target_language": campaign.target_language}
            self._languages = {"evaluation": pair}

    def next(self, judged: JudgmentToWrite) -> dict[str, object]:
        """Return what to add to the first row of this judgment."""
        about: dict[str, object] = {}
        if judged.judgment.document != self._document:
            self._document, about = judged.judgment.document, self._languages
        if judged.segment is not None and judged.segment is not self._segment:
            self._segment = judged.segment
            if judged.segment.references:
                about = {**about, "segment": {"references": dict(judged.segment.references)}}
        return about


def _line(cells: Iterable[str]) -> bytes:
    return ("\t".join(cells) + "\n").encode()


def _count_losses(judgment: JudgmentRow, lost: Counter[str]) -> None:
    if not judgment.accepted:
        lost["that a task was rejected"] += 1
    if judgment.task != judgment.rater:
        lost["tasks of judgments"] += 1
    if judgment.started_at:
        lost["when judgments were begun"] += 1
    if len(judgment.systems) > 1:
        lost["that identical outputs were judged once"] += 1


def _rows(
    judged: JudgmentToWrite, system: str, names: RecordsToWrite, about: Mapping[str, object], lost: Counter[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one judgment for one system: errors, attention checks, or one `No-error`."""
    judgment, meta = judged.judgment, judged.judgment.meta or {}
    source, target = _text(judged.source or "", lost), _text(judged.outputs.get(system, ""), lost)
    segment_meta = (judged.segment.meta if judged.segment else None) or {}
    place = (
        _cell(names.systems.get(system, system), lost),
        _cell(names.documents.get(judgment.document, judgment.document), lost),
        str(judgment.position),
        _cell(str(segment_meta.get("globalSegId") or 0), lost),
        _cell(names.raters.get(judgment.rater, judgment.rater), lost),
    )
    attention, submitted = _objects(meta.get("attention")), judgment.submitted_at
    errors = _in_order(judgment, lost)
    for error, rest in errors:
        yield (*place, *_error(error, rest, source, target, about, submitted, lost))
        about = {}
    clean = meta.get("no_error")
    is_clean = not errors and (not attention or clean is not None)
    for check in attention:
        kept = check.get("meta")
        cells = str(check.get("category", "")), str(check.get("severity", ""))
        metadata = {**(kept if isinstance(kept, dict) else {}), **about}
        when = None if errors or is_clean else submitted
        yield (*place, source, target, *(_cell(c, lost) for c in cells), _metadata(metadata, when))
        about = {}
    if is_clean:
        rest = clean if isinstance(clean, dict) else {}
        yield (*place, source, target, NO_ERROR, NO_ERROR, _metadata({**rest, **about}, submitted))


def _in_order(judgment: JudgmentRow, lost: Counter[str]) -> list[tuple[dict[str, object], dict[str, object]]]:
    """Return errors with their other metadata, in the order in which they are read whatever the order of rows."""
    errors = _objects(judgment.payload.get("errors"))
    kept = (judgment.meta or {}).get("errors")
    rests: list[dict[str, object]] = [{}] * len(errors)
    if isinstance(kept, list) and len(kept) == len(errors):
        rests = [rest if isinstance(rest, dict) else {} for rest in kept]
    pairs = list(zip(errors, rests, strict=True))
    ordered = sorted(pairs, key=lambda pair: _place_in_order(pair[0], pair[1], judgment.submitted_at))
    if [id(error) for error, _ in ordered] != [id(error) for error, _ in pairs]:
        lost["the order in which errors were marked"] += 1
    return ordered


def _place_in_order(
    error: Mapping[str, object], rest: Mapping[str, object], submitted: datetime | None
) -> tuple[object, ...]:
    start, end = error.get("start"), error.get("end")
    place = ("target" if error.get("start_ms") is None else str(error.get("side", "target")), -1, -1)
    if isinstance(start, int) and isinstance(end, int):
        place = (str(error.get("side", "target")), start, end)
    said = [str(error.get(name) or "") for name in ("severity", "category", "note")]
    return (*place, said[0], said[1], said[2], _metadata(dict(rest), submitted), error.get("start_ms") or 0)


def _objects(value: object) -> list[dict[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list | tuple) else []


def _error(
    error: Mapping[str, object],
    rest: Mapping[str, object],
    source: str,
    target: str,
    about: Mapping[str, object],
    submitted: datetime | None,
    lost: Counter[str],
) -> tuple[str, str, str, str, str]:
    """Return source, target, category, severity and metadata of an error row."""
    texts = {"source": source, "target": target}
    side, start, end = str(error.get("side", "target")), error.get("start"), error.get("end")
    if isinstance(start, int) and isinstance(end, int):
        texts[side] = _mark_spans(texts[side], rest.get("spans") or [[start, end]], lost)
        texts["source"] = _mark_spans(texts["source"], rest.get("source_marks") or [], lost)
    elif side != "target" and error.get("start_ms") is None:
        lost["the side of errors without a place"] += 1
    rest = {key: value for key, value in rest.items() if key not in ("spans", "source_marks")}
    category = str(error.get("category") or "")
    if error.get("omission") and "omission" not in category.casefold():
        lost["that an error is an omission"] += 1
    if error.get("prefill"):
        lost["which prefilled error an error came from"] += 1
    metadata = {
        **rest,
        **about,
        **({"note": error["note"]} if error.get("note") else {}),
        **make_time_span_fields(error),
    }
    severity = str(error.get("severity", "")).capitalize()
    return texts["source"], texts["target"], _cell(category, lost), severity, _metadata(metadata, submitted)


def _mark_spans(text: str, spans: object, lost: Counter[str]) -> str:
    """Return the text with marks around each span, if they lie in it and do not overlap."""
    limit = len(text)
    for start, end in reversed(spans if isinstance(spans, list) else []):
        if not 0 <= start <= end <= limit:
            lost["spans outside a text or across each other"] += 1
            continue
        text, limit = insert_span_marks(text, start, end), start
    return text


def _metadata(metadata: dict[str, object], submitted: datetime | None) -> str:
    """Return the metadata column with the time of hand-in, unless it has the time of the mark."""
    if submitted is not None and read_metadata_timestamp_ms(metadata) is None:
        metadata = {**metadata, "timestamp": round(submitted.timestamp() * 1000)}
    return canonical_json(metadata) if metadata else ""


def _text(text: str, lost: Counter[str]) -> str:
    if "v>" in text and ("<v>" in text or "</v>" in text):
        lost["<v> that stands in a text"] += 1
        text = text.replace("<v>", "‹v›").replace("</v>", "‹/v›")
    return _cell(text, lost)


def _cell(text: str, lost: Counter[str]) -> str:
    plain = text.translate(BLANKS)
    if plain != text:
        lost["tabs and line ends in cells"] += 1
    return plain
