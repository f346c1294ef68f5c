"""The deadline in a campaign's settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from app.domain.errors import Place

NAME = "deadline"
WHEN = "must be a time with its zone, such as 2026-11-30T18:00:00Z, or null"


def list_deadline_faults(settings: Mapping[str, object]) -> Iterator[Place]:
    """Yield the place of a deadline that is not a time."""
    if settings.get(NAME) is not None and parse_deadline(settings) is None:
        yield Place(("settings", NAME), WHEN)


def parse_deadline(settings: Mapping[str, object]) -> datetime | None:
    """Return the deadline for handing in; None if it is not set, or not a time.

    >>> parse_deadline({"deadline": "2026-11-30T18:00:00+02:00"}).isoformat()
    '2026-11-30T16:00:00+00:00'
    """
    value = settings.get(NAME)
    try:
        deadline = datetime.fromisoformat(value) if isinstance(value, str) else None
        return None if deadline is None or deadline.tzinfo is None else deadline.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
