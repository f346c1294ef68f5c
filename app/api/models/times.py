"""Times in the interface: RFC 3339 with a time zone in requests, UTC in answers."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, PlainSerializer, TypeAdapter, ValidationError

from app.domain.errors import Invalid, Place

_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)

Time = Annotated[
    datetime,
    PlainSerializer(
        lambda at: at.astimezone(UTC).isoformat().replace("+00:00", "Z"), return_type=str, when_used="json"
    ),
]


def _storable(at: datetime) -> datetime:
    """Accept years from 1970 to 9998, so that the time in any zone is a date that the database supports."""
    if not 1970 <= at.year <= 9998:
        raise ValueError("must be a time from 1970 to 9998")
    return at


def _refuse_numbers_as_times(at: object) -> object:
    """Accept only the form of RFC 3339; numbers are not times."""
    if isinstance(at, str) and _RFC_3339.fullmatch(at):
        with suppress(ValueError):  # for example 30 February
            return datetime.fromisoformat(at.upper())
    raise ValueError("must be a time such as 2026-11-20T12:00:00Z")


TimeIn = Annotated[AwareDatetime, AfterValidator(_storable), BeforeValidator(_refuse_numbers_as_times)]
_TIME: TypeAdapter[datetime] = TypeAdapter(TimeIn)


def parse_data_version_or_time(as_of: str | None) -> int | datetime | None:
    """Parse a data version or a time. Raises Invalid."""
    if as_of is None:
        return None
    if as_of.isascii() and as_of.isdigit() and len(as_of) <= 18:
        return int(as_of)
    try:
        return _TIME.validate_python(as_of).astimezone(UTC)
    except ValidationError:
        message = "must be a data version, or a time such as 2026-11-20T12:00:00Z"
        raise Invalid("the query is not valid", places=(Place(("query", "as_of"), message),)) from None
