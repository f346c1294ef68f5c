"""Lists: `{"items": […], "next": cursor|null}`, by a cursor that names the last key seen."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from app.domain.errors import Invalid, Place
from app.domain.keys import is_key

T = TypeVar("T")
LARGEST_PAGE = 200

Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Items on a page.", examples=[50])]
Cursor = Annotated[
    str | None,
    Query(pattern=r"^[A-Za-z0-9_-]{2,172}$", description="`next` of the page before.", examples=["dGVkLWVuZGU"]),
]


class BadCursor(Invalid):
    """The cursor is not one of ours."""


class Page(BaseModel, Generic[T]):
    """A page of a list."""

    items: list[T]
    next: str | None = Field(description="Cursor of the next page; null on the last.")


def after(cursor: str | None) -> str | None:
    """The key that a cursor names. Raises BadCursor."""
    if cursor is None:
        return None
    try:
        key = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        key = ""
    if not is_key(key):
        raise BadCursor(places=(Place(("query", "cursor"), "use `next` of the page before"),))
    return key


def page_of(found: Sequence[T], limit: int, key: Callable[[T], str]) -> Page[T]:
    """A page from one item more than fits, which tells whether there is another page."""
    shown = list(found[:limit])
    more = base64.urlsafe_b64encode(key(shown[-1]).encode()).decode().rstrip("=") if len(found) > limit else None
    return Page[T](items=shown, next=more)
