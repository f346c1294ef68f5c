"""Strict JSON in files: every fault is a StrictJsonError, whose message appears in the list of bad lines."""

from __future__ import annotations

import json

from app.domain import strict_json
from app.domain.strict_json import DEEPEST as DEEPEST
from app.domain.strict_json import RepeatedKeyError
from app.domain.strict_json import StrictJsonError as StrictJsonError


def parse_json_value(text: str) -> object:
    """Parse one JSON value. Raises StrictJsonError with the reason, which quotes at most a name."""
    try:
        return strict_json.parse_strict_json(text)
    except json.JSONDecodeError as fault:
        raise StrictJsonError(f"not JSON: {fault.msg} at character {fault.pos + 1}") from fault
    except RepeatedKeyError as fault:
        raise StrictJsonError(f"the key {fault.key[:64]!r} is there twice") from None


def canonical_json(value: object) -> str:
    """Return canonical JSON: keys sorted, no blanks, text unescaped, floats in the shortest form that reads back."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
