"""Results of enrolled raters: one row per rater, searchable by rater or team key, sorted, in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeEngine

from app.storage.sorting import SortCursor, SortOrder, sort_query_after_cursor
from app.storage.word_search import filter_by_words

Row = sa.Row[Any]


def wrap_query_as_rater_results(query: str, **columns: type[TypeEngine[Any]] | TypeEngine[Any]) -> sa.Subquery:
    """Wrap a query about the campaign `:campaign` that selects the keys `rater` and `team` and other columns."""
    named = {"rater": sa.Text, "team": sa.Text, **columns}
    return sa.text(query).columns(*(sa.column(name, kind) for name, kind in named.items())).subquery("results")


def load_rater_results_page(
    session: Session,
    campaign_id: int,
    results: sa.Subquery,
    *,
    order: SortOrder,
    after: SortCursor | None,
    limit: int,
    words: Sequence[str] = (),
    condition: sa.ColumnElement[bool] | None = None,
) -> Sequence[Row]:
    """Return rows after a cursor in a sort order. words: each is a part of the rater or team key, ignoring case."""
    wanted = filter_by_words(sa.select(results).limit(limit), (results.c.rater, results.c.team), words)
    if condition is not None:
        wanted = wanted.where(condition)
    return session.execute(
        sort_query_after_cursor(wanted, results.c.rater.collate("C"), order, after=after), {"campaign": campaign_id}
    ).all()
