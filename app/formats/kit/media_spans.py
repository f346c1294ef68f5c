"""Errors in audio and video in formats that know places in texts only: three members beside what the format has.

`start_ms` and `end_ms` are named as in payloads, and `side` says `source` where the error is not in the output. Other
readers pass over members that they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from app.protocols.base import MOST_MS

TIMES = ("start_ms", "end_ms")
SIDE = "side"


def format_time_span(error: Mapping[str, object]) -> dict[str, object]:
    """The members of an error in time; none of any other.

    >>> format_time_span({"start_ms": 500, "end_ms": 900, "side": "source", "severity": "minor"})
    {'start_ms': 500, 'end_ms': 900, 'side': 'source'}
    >>> format_time_span({"start": 0, "end": 2, "side": "source"})
    {}
    """
    if error.get("start_ms") is None:
        return {}
    source = {SIDE: "source"} if error.get(SIDE) == "source" else {}
    return {name: error[name] for name in TIMES} | source


def pop_time_span(members: MutableMapping[str, object]) -> dict[str, object]:
    """The same as payloads have it, taken out of the members; nothing where they say no stretch of time.

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
