"""Queries about tutorials: their segments, and raters' answers to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.rater_results import load_rater_results_page, wrap_query_as_rater_results
from app.storage.sorting import (
    SortCursor,
    make_sort_orders,
    number_sort_term,
    text_sort_term,
    time_sort_term,
)
from app.storage.tables import tutorial_answers

Row = sa.Row[Any]
MOST = 500  # most segments of a tutorial

# If a document gives no text of its own, raters judge the output of the first system that has one.
_SEGMENTS = """
SELECT d.key AS document, g.position, g.source, g.meta, (
    SELECT o.text FROM outputs o JOIN systems s ON s.campaign_id = :campaign AND s.id = o.system_id
    WHERE o.campaign_id = :campaign AND o.segment_id = g.id AND s.state = 'active'
    ORDER BY s.key COLLATE "C" LIMIT 1) AS text
FROM documents d JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id
WHERE d.campaign_id = :campaign AND d.kind = 'tutorial'
ORDER BY d.position NULLS LAST, d.key COLLATE "C", g.position LIMIT :most"""
_RESULTS = wrap_query_as_rater_results(
    """
SELECT r.key AS rater, t.key AS team, count(a.position) AS answered, count(a."right") AS marked,
  count(*) FILTER (WHERE a."right") AS "right", max(a.at) AS at
FROM enrolments e JOIN raters r ON r.campaign_id = :campaign AND r.id = e.rater_id
LEFT JOIN teams t ON t.campaign_id = :campaign AND t.id = e.team_id
LEFT JOIN tutorial_answers a ON a.campaign_id = :campaign AND a.rater_id = e.rater_id
WHERE e.campaign_id = :campaign AND e.state <> 'erased'
GROUP BY r.id, r.key, t.key""",
    answered=sa.BigInteger,
    marked=sa.BigInteger,
    right=sa.BigInteger,
    at=sa.DateTime(timezone=True),
)
RESULT_ORDERS = make_sort_orders(
    {
        "rater": (None, text_sort_term),
        "team": (_RESULTS.c.team, text_sort_term),
        "answered": (_RESULTS.c.answered, number_sort_term),
        "right": (_RESULTS.c["right"], number_sort_term),
        "at": (_RESULTS.c["at"], time_sort_term),
    }
)
"""The orders in which results of a tutorial can be sorted."""
_BEGUN = """
SELECT EXISTS (SELECT FROM leases l JOIN items i ON i.campaign_id = :campaign AND i.task_id = l.task_id
    JOIN judgments j ON j.item_id = i.id AND j.rater_id = :rater
    WHERE l.campaign_id = :campaign AND l.rater_id = :rater)"""


def load_tutorial_segments(session: Session, campaign_id: int) -> Sequence[Row]:
    """Return the segments of all tutorial documents, in order."""
    return session.execute(text(_SEGMENTS), {"campaign": campaign_id, "most": MOST}).all()


def load_answered_segments(session: Session, campaign_id: int, rater_id: int) -> set[tuple[str, int]]:
    """Return the segments that a rater has answered: document key, position."""
    a = tutorial_answers.c
    query = sa.select(a.document, a.position).where(a.campaign_id == campaign_id, a.rater_id == rater_id, a.settled)
    return {(row.document, row.position) for row in session.execute(query)}


def insert_tutorial_answer(session: Session, campaign_id: int, rater_id: int, values: Mapping[str, object]) -> None:
    """Store an answer; the first one stays, and a later one can only settle it."""
    row = {"campaign_id": campaign_id, "rater_id": rater_id, **values}
    made = insert(tutorial_answers).values(row)
    settled = sa.or_(tutorial_answers.c.settled, made.excluded.settled)
    key = ["rater_id", "document", "position"]
    session.execute(made.on_conflict_do_update(index_elements=key, set_={"settled": settled}))


def has_judged_any_task(session: Session, campaign_id: int, rater_id: int) -> bool:
    """Tell whether a rater has judged anything in a task."""
    return bool(session.execute(text(_BEGUN), {"campaign": campaign_id, "rater": rater_id}).scalar_one())


def load_correct_answer_share(session: Session, campaign_id: int, rater_id: int) -> float | None:
    """Return the share of correct ones among a rater's first answers that can be correct; None if there are none."""
    a = tutorial_answers.c
    query = sa.select(sa.func.avg(sa.cast(a.right, sa.Integer)))
    share = session.execute(query.where(a.campaign_id == campaign_id, a.rater_id == rater_id)).scalar()
    return None if share is None else float(share)


def load_tutorial_results_page(
    session: Session,
    campaign_id: int,
    *,
    after: SortCursor | None,
    limit: int,
    answered: bool | None = None,
    sort: str = "rater",
    words: Sequence[str] = (),
) -> Sequence[Row]:
    """Return enrolled raters after a cursor in a sort order: how many answers they gave, and how many were correct.

    answered: only raters with answers, or only the others. words: each is a part of the rater's or the team's key,
    ignoring case.
    """
    condition = None if answered is None else (_RESULTS.c.answered > 0) == sa.literal(answered)
    return load_rater_results_page(
        session,
        campaign_id,
        _RESULTS,
        order=RESULT_ORDERS[sort],
        after=after,
        limit=limit,
        words=words,
        condition=condition,
    )
