"""Strict JSON from clients: it refuses what lenient parsers accept, and no message quotes the input."""

from __future__ import annotations

import json

from app.domain import strict_json
from app.domain.errors import AppError, Invalid, Place

MOST_OBJECTS = 1 << 16  # an empty object takes two bytes on the wire, and hundreds in memory
MOST_NAMES = 2000  # in one object; each unknown name is a separate fault


class NotJson(AppError):
    """The body is not JSON in UTF-8."""

    kind = "bad_request"


class JsonNotStrict(Invalid):
    """The JSON in the body cannot be used."""

    published = "NotStrict"


def decode_utf8(data: bytes) -> str:
    """Decode bytes to text. Raises NotJson for anything but UTF-8 without a byte order mark."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start + 1} is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise NotJson("it starts with a byte order mark")
    return text


def parse_json(data: bytes) -> object:
    """Parse one JSON value.

    Raises NotJson if it is not JSON, JsonNotStrict if it is not strict JSON, or has more than MOST_OBJECTS objects or
    MOST_NAMES names in one object.
    """
    try:
        return strict_json.parse_strict_json(decode_utf8(data), most_objects=MOST_OBJECTS, most_names=MOST_NAMES)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at character {error.pos + 1}") from None
    except strict_json.StrictJsonError as error:
        raise JsonNotStrict(str(error), places=(Place(("body",), str(error)),)) from None
