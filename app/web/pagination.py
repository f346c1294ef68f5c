"""Pages of lists: `{"items": […], "next": cursor|null}`. A cursor contains the last key of the previous page.

A cursor ends in check digits. An invented cursor is refused; a cursor still works after its row was deleted.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar
from zlib import crc32

from fastapi import Query
from pydantic import AfterValidator, BaseModel, Field

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN, is_key

T = TypeVar("T")
LARGEST_PAGE = 200
CHECK_DIGITS = 4
LONGEST_SORT_CURSOR = 4000
"""Most characters of a sort cursor: a name of 500 characters and a key of 128, as bytes in base64."""

Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Number of items per page.", examples=[50])]


def make_cursor(key: str) -> str:
    """Return the cursor of a key, which is the key with check digits appended.

    >>> make_cursor("ted-ende")[:-CHECK_DIGITS]
    'ted-ende'
    """
    return f"{key}{crc32(key.encode()) % 10**CHECK_DIGITS:0{CHECK_DIGITS}d}"


def parse_cursor(cursor: str) -> str:
    """Return the key in a cursor. Raises ValueError if no page returned this cursor."""
    key = cursor[:-CHECK_DIGITS]
    if not key or make_cursor(key) != cursor:
        raise ValueError("is `next` of no page")
    return key


def parse_number_cursor(cursor: int) -> int:
    """Return the number in a cursor; 0 means the start. Raises ValueError if no page returned this cursor."""
    return int(parse_cursor(str(cursor))) if cursor else 0


def format_sort_cursor(value: str | None, key: str) -> str:
    """Format a sort cursor as text, for `make_cursor`: the key alone if the list is sorted by key only.

    >>> format_sort_cursor(None, "r1")
    'r1'
    >>> parse_sort_cursor(format_sort_cursor("paused", "r1"), by_value=True)
    ('paused', 'r1')
    """
    if value is None:
        return key
    return urlsafe_b64encode(json.dumps([value, key]).encode()).decode().rstrip("=")


def parse_sort_cursor(cursor: str | None, *, by_value: bool) -> tuple[str | None, str] | None:
    """Return the value and the key in the text of a sort cursor.

    by_value: whether the list is sorted by more than the key. Raises Invalid if the cursor is of another order.
    """
    if cursor is None or not by_value:
        return None if cursor is None else (None, cursor)
    try:
        value, key = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        value.encode()  # half a surrogate pair is no text for the database
    except (ValueError, TypeError, AttributeError, RecursionError):  # no base64, no JSON, no pair; no list; no text
        value = key = None
    if not (isinstance(value, str) and isinstance(key, str) and is_key(key)):
        raise Invalid(places=(Place(("query", "cursor"), "is `next` of a page in another order"),))
    return value, key


def _key(cursor: str | None) -> str | None:
    return None if cursor is None else parse_cursor(cursor)


Key = AfterValidator(_key)
Cursor = Annotated[
    str | None,
    Query(
        pattern=KEY_PATTERN.replace("128", str(128 + CHECK_DIGITS)),
        description="`next` from the previous page.",
        examples=[make_cursor("ted-ende")],
    ),
    Key,
]
SortedCursor = Annotated[
    str | None,
    Query(
        pattern=KEY_PATTERN.replace("128", str(LONGEST_SORT_CURSOR + CHECK_DIGITS)),
        description="`next` from the previous page, in the same order.",
        examples=[make_cursor("ted-ende")],
    ),
    Key,
]
NUMBER = int(make_cursor("8"))
Number = Annotated[
    int,
    Query(alias="cursor", ge=0, le=2**63 - 1, description="`next` from the previous page.", examples=[NUMBER]),
    AfterValidator(parse_number_cursor),
]


class Page(BaseModel, Generic[T]):
    """A page of a list."""

    items: list[T]
    next: str | None = Field(description="Cursor of the next page; null if none.")


def make_page(rows: Sequence[T], limit: int, key: Callable[[T], str], *, reached: str | None = None) -> Page[T]:
    """Make a page from one row more than fits, which shows whether there is another page.

    reached: the key after which to continue, for a page that is not full although there may be more.
    """
    shown = list(rows[:limit])
    last = key(shown[-1]) if len(rows) > limit else reached
    return Page[T](items=shown, next=None if last is None else make_cursor(last))
