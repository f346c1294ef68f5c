"""Times on the wire: RFC 3339 with a zone in, UTC out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, PlainSerializer

Time = Annotated[
    datetime,
    PlainSerializer(
        lambda at: at.astimezone(UTC).isoformat().replace("+00:00", "Z"), return_type=str, when_used="json"
    ),
]


def _storable(at: datetime) -> datetime:
    """A year from 1970 to 9998: any zone of it is a date that the database has."""
    if not 1970 <= at.year <= 9998:
        raise ValueError("must be a time from 1970 to 9998")
    return at


TimeIn = Annotated[AwareDatetime, AfterValidator(_storable)]
