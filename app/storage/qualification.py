"""Queries about tests before the first task: their versions, and who tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.errors import NotFound
from app.storage.optional_filters import join_optional_conditions
from app.storage.tables import enrolments, qualification_attempts, qualifications

Row = sa.Row[Any]


class QualificationNotFound(NotFound):
    """This campaign has no test to pass."""

    published = "NoQualification"


def find_qualification(session: Session, campaign_id: int, version: int | None = None) -> Row | None:
    """A version of the test, the latest where none is named."""
    q = qualifications.c
    query = sa.select(qualifications).where(q.campaign_id == campaign_id)
    if version is not None:
        query = query.where(q.version == version)
    return session.execute(query.order_by(q.version.desc()).limit(1)).one_or_none()


def insert_qualification(session: Session, campaign_id: int, values: Mapping[str, object]) -> None:
    """Store a version, which never changes."""
    session.execute(sa.insert(qualifications).values(campaign_id=campaign_id, **values))


def lock_rater_attempts(session: Session, rater_id: int) -> None:
    """Let one attempt of a rater at a time be counted, until the transaction ends."""
    session.execute(sa.select(enrolments.c.rater_id).where(enrolments.c.rater_id == rater_id).with_for_update())


def load_qualification_attempts(session: Session, rater_id: int) -> Sequence[Row]:
    """Everything that a rater tried or was spared, in order."""
    a = qualification_attempts.c
    return session.execute(sa.select(qualification_attempts).where(a.rater_id == rater_id).order_by(a.n)).all()


def insert_qualification_attempt(
    session: Session, campaign_id: int, rater_id: int, values: Mapping[str, object]
) -> None:
    """Add an attempt, or that there need be none."""
    row = {"campaign_id": campaign_id, "rater_id": rater_id, **values}
    session.execute(sa.insert(qualification_attempts).values(row))


_RESULTS = """
SELECT r.key AS rater, t.key AS team, count(a.share) AS attempts, max(a.share) AS best,
  coalesce(bool_or(a.passed), false) AS passed,
  (array_agg(a.version ORDER BY a.n) FILTER (WHERE a.passed))[1] AS version,
  (array_agg(a.waived ORDER BY a.n) FILTER (WHERE a.waived IS NOT NULL))[1] AS waived,
  (array_agg(a.at ORDER BY a.n) FILTER (WHERE a.passed))[1] AS at
FROM enrolments e JOIN raters r ON r.id = e.rater_id LEFT JOIN teams t ON t.id = e.team_id
LEFT JOIN qualification_attempts a ON a.campaign_id = e.campaign_id AND a.rater_id = e.rater_id
WHERE e.campaign_id = :campaign AND e.state <> 'erased' {conditions}
GROUP BY r.id, r.key, t.key ORDER BY r.key COLLATE "C" LIMIT :limit"""


def load_qualification_results(session: Session, campaign_id: int, *, after: str | None, limit: int) -> Sequence[Row]:
    """Every enrolled rater by key after `after`: how often they tried, their best share, and what they passed by."""
    keys = {"campaign": campaign_id, "after": after, "limit": limit}
    query = _RESULTS.format(conditions=join_optional_conditions({"after": 'r.key COLLATE "C" > :after'}, keys))
    return session.execute(text(query), keys).all()
