"""Strict JSON: what a lenient parser lets through (duplicate keys, NaN, lone surrogates, depth) is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

DEEPEST = 32
LONGEST_NUMBER = 64
LARGEST_INT = 2**63


class NotStrictError(ValueError):
    """Why a text is not strict JSON."""


def loads(text: str) -> object:
    """Parse one JSON value. Raises NotStrictError with the reason, which quotes nothing longer than a name."""
    if text.count("[") + text.count("{") > DEEPEST and _depth(text) > DEEPEST:
        raise NotStrictError(f"nested deeper than {DEEPEST}")
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as fault:
        raise NotStrictError(f"not JSON: {fault.msg} at character {fault.pos + 1}") from fault
    if "\\u" in text:
        _refuse_bad_text(value)
    return value


def dumps(value: object) -> str:
    """Canonical JSON: keys sorted, no blanks, text as it is, floats by their shortest form that reads back."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _depth(text: str) -> int:
    deepest = depth = 0
    quoted = escaped = False
    for char in text:
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            quoted = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _object(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise NotStrictError(f"the key {key[:64]!r} is there twice")
        members[key] = value
    return members


def _int(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER or not -LARGEST_INT <= (value := int(digits)) < LARGEST_INT:
        raise NotStrictError("an integer does not fit 64 bits")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotStrictError("a number is too large")
    return value


def _constant(name: str) -> object:
    raise NotStrictError(f"{name} is not a number that can be used")


def _refuse_bad_text(value: object) -> None:
    """Escapes can smuggle in what the file itself cannot hold."""
    if isinstance(value, str):
        if "\0" in value:
            raise NotStrictError("there is a NUL in a text")
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise NotStrictError("there is a lone surrogate in a text")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _refuse_bad_text(key)
            _refuse_bad_text(inner)
    elif isinstance(value, list):
        for inner in value:
            _refuse_bad_text(inner)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_int, parse_float=_float, parse_constant=_constant)
