"""Queries about qualification tests, which come before the first task: their versions, and raters' attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.domain.errors import NotFound
from app.storage.rater_results import load_rater_results_page, wrap_query_as_rater_results
from app.storage.sorting import (
    SortCursor,
    make_sort_orders,
    number_sort_term,
    text_sort_term,
    time_sort_term,
)
from app.storage.tables import enrolments, qualification_attempts, qualifications

Row = sa.Row[Any]


class QualificationTestNotFound(NotFound):
    """This campaign has no test to pass."""

    published = "NoQualification"


def find_qualification_test(session: Session, campaign_id: int, version: int | None = None) -> Row | None:
    """Return a version of the test, by default the latest."""
    q = qualifications.c
    query = sa.select(qualifications).where(q.campaign_id == campaign_id)
    if version is not None:
        query = query.where(q.version == version)
    return session.execute(query.order_by(q.version.desc()).limit(1)).one_or_none()


def insert_qualification_test(session: Session, campaign_id: int, values: Mapping[str, object]) -> None:
    """Store a version, which never changes."""
    session.execute(sa.insert(qualifications).values(campaign_id=campaign_id, **values))


def lock_rater_for_attempt(session: Session, rater_id: int) -> None:
    """Let only one attempt of a rater be counted at a time, until the transaction ends."""
    session.execute(sa.select(enrolments.c.rater_id).where(enrolments.c.rater_id == rater_id).with_for_update())


def load_attempts_and_waivers(session: Session, rater_id: int) -> Sequence[Row]:
    """Return all attempts and waivers of a rater, in order."""
    a = qualification_attempts.c
    return session.execute(sa.select(qualification_attempts).where(a.rater_id == rater_id).order_by(a.n)).all()


def insert_attempt_or_waiver(session: Session, campaign_id: int, rater_id: int, values: Mapping[str, object]) -> None:
    """Add an attempt, or a waiver of the test."""
    row = {"campaign_id": campaign_id, "rater_id": rater_id, **values}
    session.execute(sa.insert(qualification_attempts).values(row))


_RESULTS = wrap_query_as_rater_results(
    """
SELECT r.key AS rater, t.key AS team, count(a.share) AS attempts, max(a.share) AS best,
  coalesce(bool_or(a.passed), false) AS passed,
  (array_agg(a.version ORDER BY a.n) FILTER (WHERE a.passed))[1] AS version,
  (array_agg(a.waived ORDER BY a.n) FILTER (WHERE a.waived IS NOT NULL))[1] AS waived,
  (array_agg(a.at ORDER BY a.n) FILTER (WHERE a.passed))[1] AS at
FROM enrolments e JOIN raters r ON r.id = e.rater_id LEFT JOIN teams t ON t.id = e.team_id
LEFT JOIN qualification_attempts a ON a.campaign_id = e.campaign_id AND a.rater_id = e.rater_id
WHERE e.campaign_id = :campaign AND e.state <> 'erased'
GROUP BY r.id, r.key, t.key""",
    attempts=sa.BigInteger,
    best=sa.Double,
    passed=sa.Boolean,
    version=sa.Integer,
    waived=sa.Text,
    at=sa.DateTime(timezone=True),
)
RESULT_ORDERS = make_sort_orders(
    {
        "rater": (None, text_sort_term),
        "team": (_RESULTS.c.team, text_sort_term),
        "attempts": (_RESULTS.c.attempts, number_sort_term),
        "best": (_RESULTS.c.best, number_sort_term),
        "at": (_RESULTS.c["at"], time_sort_term),
    }
)
"""The orders in which results of a test can be sorted."""


def load_qualification_results_page(
    session: Session,
    campaign_id: int,
    *,
    after: SortCursor | None,
    limit: int,
    passed: bool | None = None,
    sort: str = "rater",
    words: Sequence[str] = (),
) -> Sequence[Row]:
    """Return enrolled raters after a cursor in a sort order: number of attempts, best share, and how they passed.

    passed: only raters who passed or were exempted, or only the others. words: each is a part of the rater's or the
    team's key, ignoring case.
    """
    condition = None if passed is None else _RESULTS.c.passed == sa.literal(passed)
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
