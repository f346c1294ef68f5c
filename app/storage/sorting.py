"""Pages of a list in an order that the reader chooses.

A page begins after a cursor: the sort value of the last row seen, and its key. If a row is deleted or changed
meanwhile, no other row moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

Term = sa.ColumnElement[Any]
SortCursor = tuple[str | None, str]
"""The sort value of a row, as text, and its key."""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """An order for rows. column: None sorts by the key alone.

    term: makes the value that the database compares, from a column or a text; it is never null.
    """

    column: Term | None
    term: Callable[[Term], Term]
    descending: bool = False


def text_sort_term(value: Term) -> Term:
    """Sort a text by its bytes; missing ones come first."""
    return sa.func.coalesce(value, "").collate("C")


def time_sort_term(at: Term) -> Term:
    """Sort a time; missing ones come first."""
    return sa.func.coalesce(sa.cast(at, sa.DateTime(timezone=True)), sa.text("'-infinity'::timestamptz"))


def number_sort_term(number: Term) -> Term:
    """Sort a number; missing ones come first."""
    return sa.func.coalesce(sa.cast(number, sa.Double), sa.text("'-infinity'::float8"))


def make_sort_orders(columns: Mapping[str, tuple[Term | None, Callable[[Term], Term]]]) -> dict[str, SortOrder]:
    """Return both orders of each column by its name; a name with `-` in front is the descending order."""
    return {
        sign + name: SortOrder(column, term, descending=sign == "-")
        for name, (column, term) in columns.items()
        for sign in ("", "-")
    }


def format_sort_value(value: str | float | datetime | None, order: SortOrder) -> str | None:
    """Return the sort value of a row as text; None if only the key counts.

    >>> format_sort_value(0.5, SortOrder(sa.column("best"), number_sort_term))
    '0.5'
    >>> format_sort_value(None, SortOrder(sa.column("best"), number_sort_term))
    '-infinity'
    """
    if order.column is None:
        return None
    if value is None:
        return "" if order.term is text_sort_term else "-infinity"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def sort_query_after_cursor(
    query: sa.Select[Any], key: Term, order: SortOrder, *, after: SortCursor | None
) -> sa.Select[Any]:
    """Return the query in this order, from the row after a cursor on."""
    terms = [key] if order.column is None else [order.term(order.column), key]
    query = query.order_by(*(term.desc() if order.descending else term for term in terms))
    if after is None:
        return query
    value, last = after
    seen = [sa.literal(last)] if order.column is None else [order.term(sa.literal(value, sa.Text)), sa.literal(last)]
    row, last_seen = sa.tuple_(*terms), sa.tuple_(*seen)
    return query.where(row < last_seen if order.descending else row > last_seen)
