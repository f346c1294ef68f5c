"""Keys of the names in a file, remembered within limits."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.errors import Invalid
from app.domain.keys import convert_name_to_key
from app.formats.base import ReadLog

MOST: Mapping[str, int] = {"system": 10_000, "rater": 100_000, "document": 1_000_000}
FORGET_AT = 10_000


class KeyAssigner:
    """Assigns keys to names of one kind.

    Systems, raters and documents are limited in number; others are remembered only for speed. report: whether to log
    which names became other keys.
    """

    def __init__(self, noun: str, log: ReadLog, *, report: bool = True) -> None:
        self._noun, self._log, self._report = noun, log, report
        self._known: dict[str, str] = {}

    def assign_key(self, name: str) -> tuple[str, bool]:
        """Return the key of a name, and whether a record must store the name. Raises Invalid beyond the limit."""
        key = self._known.get(name)
        if key is not None:
            return key, False
        if len(self._known) >= MOST.get(self._noun, FORGET_AT):
            if self._noun in MOST:
                raise Invalid(f"more than {MOST[self._noun]:,} {self._noun}s: is this the right column?")
            self._known.clear()
        self._known[name] = key = convert_name_to_key(name)
        if key != name and self._report:
            self._log.record_mapped_name(self._noun, name, key)
        return key, key != name
