"""Marked errors as Appraise exports them: a JSON list of `start_i`, `end_i`, `severity`, `error_type`.

Source: exports in the ErrorSpanAnnotation repository. Both ends of an error marked by a rater are inclusive. Errors
without the key `error_type` are prefilled, and their end is exclusive (inferred from where spans end in the published
texts: on the last letter of a word, or after it). `missing` instead of offsets, or a start at or beyond the end of the
text (where the page showed a token for it), is an omission without a position.

Only errors on the output with a position, and `missing` without one, can be written: other errors become `missing`, so
that their weight remains, and are counted. Errors in audio and video have their own members (`media_spans`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from app.domain.spans import parse_severity
from app.formats.kit.media_spans import make_time_span_fields, pop_time_span
from app.formats.kit.strict_json import StrictJsonError, parse_json_value

MISSING = "missing"
PREFILLED = "auto"
MOST = 1000


def parse_appraise_spans(cell: str, text: str | None, repaired: Counter[str]) -> list[dict[str, object]]:
    """Parse errors into payload form. text: the annotated text, None if it is unknown. Raises ValueError.

    >>> parse_appraise_spans('[{"start_i":2,"end_i":4,"severity":"minor","error_type":null}]', "a dog", Counter())
    [{'severity': 'minor', 'start': 2, 'end': 5}]
    """
    try:
        errors = parse_json_value(cell) if cell else []
    except StrictJsonError as fault:
        raise ValueError(f"marked errors: {fault}") from fault
    if not isinstance(errors, list) or len(errors) > MOST:
        raise ValueError(f"marked errors: must be a list of at most {MOST}")
    return [_mark(one, text, repaired) for one in errors]


def _mark(error: object, text: str | None, repaired: Counter[str]) -> dict[str, object]:
    severity = error.get("severity") if isinstance(error, dict) else None
    plain = parse_severity(severity) if isinstance(severity, str) else None
    if not isinstance(error, dict) or plain is None:
        raise ValueError(f"marked errors: unknown severity {str(severity)[:40]!r}")
    mark: dict[str, object] = {"severity": plain}
    mark.update(pop_time_span(dict(error)) or _place(error, text, repaired))
    category = _category(error.get("error_type"))
    if category:
        mark["category"] = category
    if "error_type" not in error:
        mark["prefill"] = PREFILLED
    return mark


def _place(error: dict[str, object], text: str | None, repaired: Counter[str]) -> dict[str, object]:
    start, end = error.get("start_i"), error.get("end_i")
    if start == MISSING:
        return {"omission": True}
    if type(start) is not int or type(end) is not int or not 0 <= start <= end < 1_000_000:
        raise ValueError(f"marked errors: start_i {str(start)[:40]!r} and end_i {str(end)[:40]!r} are no span")
    end += "error_type" in error
    if text is None:
        return {"start": start, "end": end}
    if start >= len(text):
        repaired["errors marked behind the end of a text: omissions"] += 1
        return {"omission": True}
    if end > len(text):
        repaired["errors that reach beyond the end of a text, cut there"] += 1
    return {"start": start, "end": min(end, len(text))}


def _category(value: object) -> str | None:
    """Return a category with its levels joined by `/`."""
    if value is None or value == []:
        return None
    levels = value if isinstance(value, list) else [value]
    names = [level for level in levels if isinstance(level, str)]
    if len(names) < len(levels):
        raise ValueError("marked errors: error_type must be a name or a list of names")
    return "/".join(names)


def format_appraise_spans(errors: object, lost: Counter[str]) -> list[dict[str, object]]:
    """Format a payload's errors as Appraise exports them; what a mark cannot hold is counted in `lost`.

    >>> format_appraise_spans([{"severity": "minor", "start": 2, "end": 5}], Counter())
    [{'severity': 'minor', 'error_type': None, 'start_i': 2, 'end_i': 4}]
    """
    marked_errors = errors if isinstance(errors, list | tuple) else []
    return [_make_appraise_error(error, lost) for error in marked_errors if isinstance(error, Mapping)]


def _make_appraise_error(error: Mapping[str, object], lost: Counter[str]) -> dict[str, object]:
    """Return an error as Appraise exports it: both ends inclusive, unless it was prefilled."""
    category, prefill = error.get("category"), error.get("prefill")
    lost["notes on errors"] += bool(error.get("note"))
    mark: dict[str, object] = {"severity": error.get("severity")}
    if category or not prefill:
        mark["error_type"] = str(category).split("/") if category else None
        lost["that an error with a category was filled in beforehand"] += bool(prefill)
    lost["which prefilled error an error came from"] += prefill not in (None, PREFILLED)
    stretch = make_time_span_fields(error)
    if stretch:
        return {**mark, "start_i": MISSING, "end_i": MISSING, **stretch}
    mark["start_i"], mark["end_i"] = _written_place(error, "error_type" not in mark, lost)
    return mark


def _written_place(error: Mapping[str, object], exclusive: bool, lost: Counter[str]) -> tuple[object, object]:
    start, end = error.get("start"), error.get("end")
    has_place = isinstance(start, int) and isinstance(end, int)
    if error.get("omission"):
        lost["places of omissions"] += has_place
        return MISSING, MISSING
    if not isinstance(start, int) or not isinstance(end, int):
        lost["errors without a place that are no omissions: missing"] += 1
        return MISSING, MISSING
    if error.get("side", "target") != "target":
        lost["errors on the source: missing"] += 1
        return MISSING, MISSING
    if exclusive:
        return start, end
    lost["errors of no length: one character"] += start == end
    return start, max(start, end - 1)
