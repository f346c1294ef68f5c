"""Errors in audio and video, in formats with positions in texts only: three additional members.

`start_ms` and `end_ms` have the names of payloads, and `side` is `source` if the error is not in the output. Other
readers ignore unknown members.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from app.protocols.base import MOST_MS

TIMES = ("start_ms", "end_ms")
SIDE = "side"


def make_time_span_fields(error: Mapping[str, object]) -> dict[str, object]:
    """Return the members of an error with a time span; none for any other error.

    >>> make_time_span_fields({"start_ms": 500, "end_ms": 900, "side": "source", "severity": "minor"})
    {'start_ms': 500, 'end_ms': 900, 'side': 'source'}
    >>> make_time_span_fields({"start": 0, "end": 2, "side": "source"})
    {}
    """
    if error.get("start_ms") is None:
        return {}
    source = {SIDE: "source"} if error.get(SIDE) == "source" else {}
    return {name: error[name] for name in TIMES} | source


def pop_time_span(members: MutableMapping[str, object]) -> dict[str, object]:
    """Remove a time span from the members and return it as in payloads; nothing if there is no valid span.

    >>> pop_time_span({"start_ms": 500, "end_ms": 900, "note": "x"})
    {'start_ms': 500, 'end_ms': 900}
    >>> pop_time_span({"start_ms": 900, "end_ms": 500}), pop_time_span({"start_ms": "a", "end_ms": 1})
    ({}, {})
    """
    start, end = (members.get(name) for name in TIMES)
    if type(start) is not int or type(end) is not int or not 0 <= start <= end <= MOST_MS:
        return {}
    for name in TIMES:
        del members[name]
    source = {SIDE: "source"} if members.get(SIDE) == "source" else {}
    if source:
        del members[SIDE]
    return {**source, "start_ms": start, "end_ms": end}
