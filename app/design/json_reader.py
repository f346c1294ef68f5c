"""Checked reading of JSON objects: every fault is noted with its place, so that all are reported together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, TypeVar

from app.domain.errors import Invalid, Place

T = TypeVar("T")
C = TypeVar("C", bound=str)


class JsonObjectReader:
    """An object that is being read. Faults go to a list shared by all readers of one design."""

    def __init__(self, body: object, loc: tuple[str | int, ...], places: list[Place]) -> None:
        self._given: dict[str, object] = body if isinstance(body, dict) else {}
        self._loc = loc
        self._places = places
        self._asked: set[str] = set()
        if not isinstance(body, dict):
            self.note_fault(None, "must be an object")

    def note_fault(self, name: str | tuple[str | int, ...] | None, msg: str) -> None:
        """Note that a field (None: the object itself) is wrong."""
        inner: tuple[str | int, ...] = () if name is None else name if isinstance(name, tuple) else (name,)
        self._places.append(Place(self._loc + inner, msg))

    def has_field(self, name: str) -> bool:
        """Whether a field is given; null counts as given."""
        self._asked.add(name)
        return name in self._given

    def _get(self, name: str) -> object:
        self._asked.add(name)
        return self._given.get(name)

    def read_choice(self, name: str, allowed: Sequence[C], default: C) -> Any:
        """Read one of several words."""
        value = self._get(name)
        if value is None:
            return default
        if not isinstance(value, str) or value not in allowed:
            self.note_fault(name, f"must be one of {', '.join(allowed)}")
            return default
        return value

    def read_boolean(self, name: str, *, default: bool) -> bool:
        """Read true or false."""
        value = self._get(name)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.note_fault(name, "must be true or false")
        return default

    def read_whole_number(self, name: str, default: int, *, least: int, most: int) -> int:
        """Read a whole number; the default if it is missing or null."""
        value = self.read_optional_whole_number(name, least=least, most=most)
        return default if value is None else value

    def read_optional_whole_number(self, name: str, *, least: int, most: int, default: int | None = None) -> int | None:
        """Read a whole number, or null; the default only if it is missing."""
        if not self.has_field(name):
            return default
        value = self._get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.note_fault(name, f"must be a whole number from {least} to {most}")
            return default
        return value

    def read_share(self, name: str, default: float) -> float:
        """Read a number from 0 to 1."""
        value = self._get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value <= 1:
            self.note_fault(name, "must be a number from 0 to 1")
            return default
        return float(value)

    def read_text(self, name: str) -> str:
        """Read a required name."""
        value = self.read_optional_text(name)
        if value is None:
            self.note_fault(name, "is needed")
        return value or ""

    def read_optional_text(self, name: str) -> str | None:
        """Read a name, or null."""
        value = self._get(name)
        if value is not None and not (isinstance(value, str) and 0 < len(value) <= 128):
            self.note_fault(name, "must be a text of 1 to 128 characters")
            return None
        return value if isinstance(value, str) else None

    def read_optional_distinct_texts(self, name: str) -> tuple[str, ...] | None:
        """Read a list of different keys, or null."""
        value = self._get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not value or not all(isinstance(key, str) for key in value):
            self.note_fault(name, "must be null or a list of keys, at least one")
            return None
        if len(set(value)) < len(value):
            self.note_fault(name, "names a key twice")
        return tuple(value)

    def read_nested_object(self, name: str, parse: Callable[[JsonObjectReader], T], default: T) -> T:
        """Read a nested object; the default if it is missing or null."""
        value = self._get(name)
        return default if value is None else self._read_nested(value, (name,), parse)

    def read_value_of_any_shape(self, name: str, parse: Callable[[object, Callable[[str], None]], T], default: T) -> T:
        """Read a value with several possible shapes; the default if it is missing or null."""
        value = self._get(name)
        return default if value is None else parse(value, lambda msg: self.note_fault(name, msg))

    def read_list(self, name: str, parse: Callable[[JsonObjectReader], T]) -> tuple[T, ...]:
        """Read a list of objects; empty if it is missing or null."""
        value = self._get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.note_fault(name, "must be a list")
            return ()
        return tuple(self._read_nested(entry, (name, n), parse) for n, entry in enumerate(value))

    def _read_nested(self, value: object, place: tuple[str | int, ...], parse: Callable[[JsonObjectReader], T]) -> T:
        reader = JsonObjectReader(value, self._loc + place, self._places)
        result = parse(reader)
        reader.note_unknown_fields()
        return result

    def note_unknown_fields(self) -> None:
        """Note the fields that were not read."""
        for name in sorted(set(self._given) - self._asked):
            self.note_fault(name, f"unknown; known are {', '.join(sorted(self._asked))}")


def read_decoded_json_object(
    body: object, parse: Callable[[JsonObjectReader], T], *, loc: tuple[str | int, ...], title: str
) -> T:
    """Read one object completely.

    Raises Invalid with every fault and its place.
    """
    places: list[Place] = []
    reader = JsonObjectReader(body, loc, places)
    result = parse(reader)
    reader.note_unknown_fields()
    if places:
        first = places[0]
        raise Invalid(f"{title}: {'.'.join(map(str, first.loc)) or 'design'} {first.msg}", places=tuple(places))
    return result
