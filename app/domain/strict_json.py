"""Strict JSON: rejects what lenient parsers accept. Callers that read files or bodies word the faults themselves."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import lru_cache, partial

DEEPEST = 32
LONGEST_NUMBER = 64
LARGEST_INT = 2**63
_TEXT_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


class StrictJsonError(ValueError):
    """Why a text cannot be used as JSON; it quotes nothing longer than a name."""


class RepeatedKeyError(StrictJsonError):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__("an object has the same key twice")
        self.key = key


def parse_strict_json(text: str, *, most_objects: int | None = None, most_names: int | None = None) -> object:
    """Parse one JSON value.

    most_objects, most_names: maximum number of objects, and of names in each; None for any number.

    Raises JSONDecodeError for text that is not JSON. Raises StrictJsonError for duplicate keys, numbers that are not
    finite or do not fit 64 bits, NUL and lone surrogates in strings, nesting deeper than DEEPEST, and too many objects
    or names.
    """
    _refuse_costly(text, most_objects)
    value: object = _decoder(most_names).decode(text)
    if "\\u" in text:
        _refuse_bad_text(value)
    return value


@lru_cache
def _decoder(most_names: int | None) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=partial(_object, most_names), parse_int=_int, parse_float=_float, parse_constant=_constant
    )


def _refuse_costly(text: str, most_objects: int | None) -> None:
    """Raise StrictJsonError for too deep nesting and too many objects, before any value is built.

    An unclosed string extends to the end. If each of its quotes started a new search, 60 kB of escaped ones took 109 s.
    Possessive matching takes .2 ms for these, and 3 ms of one core for 1 MiB.
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = objects = 0
    for match in _TEXT_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        objects += match[0] == "{"
        if depth > DEEPEST:
            raise StrictJsonError(f"nested deeper than {DEEPEST}")
        if most_objects is not None and objects > most_objects:
            raise StrictJsonError(f"more than {most_objects} objects")


def _object(most_names: int | None, pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    if most_names is not None and len(pairs) > most_names:
        raise StrictJsonError(f"an object has more than {most_names} names")
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise RepeatedKeyError(key)
        members[key] = value
    return members


def _int(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER or not -LARGEST_INT <= (value := int(digits)) < LARGEST_INT:
        raise StrictJsonError("an integer does not fit 64 bits")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise StrictJsonError("a number is too large")
    return value


def _constant(name: str) -> object:
    raise StrictJsonError(f"{name} is not a number that can be used")


def _refuse_bad_text(value: object) -> None:
    """Reject what escapes can produce but UTF-8 itself cannot, and NUL, which the database cannot store."""
    if isinstance(value, str):
        if "\0" in value:
            raise StrictJsonError("there is a NUL in a text")
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise StrictJsonError("there is a lone surrogate in a text")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _refuse_bad_text(key)
            _refuse_bad_text(inner)
    elif isinstance(value, list):
        for inner in value:
            _refuse_bad_text(inner)
