"""Pages of a list in an order that its reader chooses.

A page begins after a place: the value by which the last row seen was sorted, and its key. A row that is deleted or
changed meanwhile moves no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

Term = sa.ColumnElement[Any]
SortPlace = tuple[str | None, str]
"""The value by which a row is sorted, as text, and its key."""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """By what rows are sorted. column: None sorts by the key alone.

    term: what the database compares, of a column or of a text; it is never null.
    """

    column: Term | None
    term: Callable[[Term], Term]
    descending: bool = False


def sort_page(query: sa.Select[Any], key: Term, order: SortOrder, *, after: SortPlace | None) -> sa.Select[Any]:
    """The query in this order, from the row after a place."""
    terms = [key] if order.column is None else [order.term(order.column), key]
    query = query.order_by(*(term.desc() if order.descending else term for term in terms))
    if after is None:
        return query
    value, last = after
    seen = [sa.literal(last)] if order.column is None else [order.term(sa.literal(value, sa.Text)), sa.literal(last)]
    row, place = sa.tuple_(*terms), sa.tuple_(*seen)
    return query.where(row < place if order.descending else row > place)
