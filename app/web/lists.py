"""Lists: `{"items": […], "next": cursor|null}`, by a cursor that names the last key seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from app.domain.keys import KEY_PATTERN

T = TypeVar("T")
LARGEST_PAGE = 200

Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Items on a page.", examples=[50])]
Cursor = Annotated[
    str | None,
    Query(pattern=KEY_PATTERN, description="`next` of the page before.", examples=["ted-ende"]),
]


class Page(BaseModel, Generic[T]):
    """A page of a list."""

    items: list[T]
    next: str | None = Field(description="Cursor of the next page; null on the last.")


def after(cursor: str | None) -> str | None:
    """The key that a cursor names: today the cursor itself, which is nobody's business but this module's."""
    return cursor


def page_of(found: Sequence[T], limit: int, key: Callable[[T], str], *, reached: str | None = None) -> Page[T]:
    """A page from one item more than fits, which tells whether there is another page.

    reached: cursor of where to go on, for a page that is not full though there may be more.
    """
    shown = list(found[:limit])
    return Page[T](items=shown, next=key(shown[-1]) if len(found) > limit else reached)
