"""Judgments of files with one judgment per row, in the form in which rows are sorted, whatever the file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from app.formats.base import LineLocation

TEXT, JUDGMENT = "0", "1"
LATEST_TIME = 4_102_444_800  # 2100-01-01
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SortableRow(NamedTuple):
    """One judgment, or one text (kind TEXT); numbers are padded so that they sort as numbers.

    part: the value of the split, empty without one. position: zeros for a judgment of the whole item. system: names
    joined by `+` if identical outputs share a judgment. presented: distinguishes presentations of one output (a
    degraded copy). ended, started: microseconds since 1970, empty if unknown. score, errors: as in the file, empty if
    it has none; several scores as JSON. source, target: `=` and the text, empty if unknown. meta: JSON.
    """

    part: str
    document: str
    position: str
    system: str
    kind: str
    presented: str
    rater: str
    task: str
    ended: str
    started: str
    role: str
    score: str
    errors: str
    source: str
    target: str
    person: str
    domain: str
    meta: str
    file: str
    line: str

    def encode_sort_entry(self) -> bytes:
        """Encode the row as bytes that sort field by field."""
        return "\0".join(self).encode()

    @classmethod
    def decode_sort_entry(cls, entry: bytes) -> SortableRow:
        """Decode what `encode_sort_entry` returns."""
        return cls(*entry.decode().split("\0"))

    @property
    def line_location(self) -> LineLocation:
        """Place from which the row was read."""
        return LineLocation(self.file, int(self.line))

    @property
    def judgment_identity(self) -> tuple[str, ...]:
        """Who judged what, and how it was presented."""
        return self[1:8]

    @property
    def answer(self) -> tuple[str, ...]:
        """What the rater answered, and when."""
        return self.ended, self.started, self.score, self.errors


def pack_unix_time(text: str, unit: float) -> str:
    """Parse a number of `unit` seconds since 1970, padded; empty stays empty. Raises ValueError."""
    if not text:
        return ""
    try:
        seconds = float(text) * unit if len(text) <= 40 else -1.0
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < LATEST_TIME:
        raise ValueError(f"not a time: {text[:40]!r}")
    return f"{round(seconds * 1e6):017d}"


def unpack_unix_time(packed: str) -> datetime | None:
    """Return the time in a row's field."""
    return _EPOCH + timedelta(microseconds=int(packed)) if packed else None
