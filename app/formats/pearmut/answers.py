"""Convert between an answer of Pearmut's page and a payload."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

from app import protocols
from app.domain.keys import convert_name_to_key
from app.formats.kit.media_spans import make_time_span_fields
from app.formats.pearmut.spans import SpanReader, find_special_token_index, map_utf16_to_code_points
from app.protocols.cesa import FAULT

ASKED = {"score": "score", "error_spans": "errors", "sliders": "scores"}
"""Members of an answer, each with the corresponding field of payloads."""
TEXTFIELD, COMMENT = "textfield", "comment"
KINDS: Mapping[str, tuple[type, ...]] = {
    "score": (int, float),
    "error_spans": (list,),
    "sliders": (dict,),
    TEXTFIELD: (str,),
}


def parse_answer_payload(
    protocol: str, spans: SpanReader, answer: Mapping[str, object], text: str
) -> dict[str, object] | None:
    """Return the payload of an answer; None if a required score is missing. Raises ValueError."""
    fields = protocols.get_protocol(protocol).payload.model_fields
    payload: dict[str, object] = {"protocol": protocol}
    if "errors" in fields:
        payload["errors"] = spans.parse(answer.get("error_spans"), text)
    if "score" in fields:
        score = answer.get("score")
        if score is None:
            return None
        if not isinstance(score, int | float) or isinstance(score, bool):
            raise ValueError("score: must be a number")
        payload["score"] = float(score)
    if "scores" in fields:
        sliders = answer.get("sliders")
        if not isinstance(sliders, dict) or not all(type(value) in (int, float) for value in sliders.values()):
            return None
        payload["scores"] = {convert_name_to_key(name): float(value) for name, value in sliders.items()}
    return payload


def extract_answer_data_outside_payload(protocol: str, answer: Mapping[str, object]) -> dict[str, object]:
    """Return what is not in the payload: a text, a score in MQM, or marks in a protocol with sliders.

    Raises ValueError.
    """
    fields = protocols.get_protocol(protocol).payload.model_fields
    names = [name for name, field in ASKED.items() if field not in fields] + [TEXTFIELD]
    unasked = {name: value for name in names if (value := answer.get(name)) not in (None, "", [], {})}
    for name, value in unasked.items():
        if type(value) not in KINDS[name]:
            raise ValueError(f"{name}: cannot be {str(value)[:40]!r}")
    return unasked


def format_answer(
    payload: Mapping[str, object], text: str | None, lost: Counter[str], meta: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return a payload as the page would log it. meta: other data, from `extract_answer_data_outside_payload`."""
    unasked = meta or {}
    answer: dict[str, object] = {"score": None, "error_spans": [], TEXTFIELD: None}
    answer |= {name: unasked[name] for name, kinds in KINDS.items() if type(unasked.get(name)) in kinds}
    if "errors" in payload:
        answer["error_spans"] = format_pearmut_errors(payload["errors"], text, lost)
    if "score" in payload:
        answer["score"] = payload["score"]
    if isinstance(payload.get("scores"), Mapping):
        answer["sliders"] = payload["scores"]
    lost["what else is kept with judgments"] += bool(set(unasked) - {*KINDS, COMMENT})
    return answer


def format_pearmut_errors(errors: object, text: str | None, lost: Counter[str]) -> list[dict[str, object]]:
    """Return a payload's errors as the page logs them."""
    payload_errors = [one for one in errors if isinstance(one, Mapping)] if isinstance(errors, list | tuple) else []
    places = map_utf16_to_code_points(text or "")
    marks = []
    for error in payload_errors:
        severity = error.get("severity")
        start, end = _ends(error, places, text is None, lost)
        lost["notes on errors"] += bool(error.get("note")) and find_special_token_index(error) is None
        lost["which prefilled error an error came from"] += bool(error.get("prefill"))
        category = None if start == len(places) + 1 and error.get("category") == FAULT else error.get("category")
        said = {"severity": None if severity == "undecided" else severity, "category": category or None}
        marks.append({"start_i": start, "end_i": end, **said, **make_time_span_fields(error)})
    return marks


def _ends(error: Mapping[str, object], places: Sequence[int], unknown: bool, lost: Counter[str]) -> tuple[int, int]:
    """Return both ends, inclusive, as positions of the page; after the text if the error has no position."""
    start, end = error.get("start"), error.get("end")
    placed = isinstance(start, int) and isinstance(end, int)
    token = find_special_token_index(error)
    if token is not None and (error.get("omission") or not placed):
        lost["places of omissions"] += placed
        return len(places) + token, len(places) + token
    if not isinstance(start, int) or not isinstance(end, int) or error.get("side", "target") != "target":
        lost["errors without a place on the output: behind it"] += error.get("start_ms") is None
        return len(places) + 1, len(places) + 1
    first, last = bisect_left(places, start), bisect_left(places, end) - 1
    if unknown or first >= len(places):
        lost["places of errors in texts that are unknown or shorter"] += 1
        return len(places) + 1, len(places) + 1
    lost["errors of no length: one place"] += last < first
    return first, max(first, last)
