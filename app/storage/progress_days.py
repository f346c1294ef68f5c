"""Judgments by the day on which they were stored, of the newest so many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import text

from app.storage.attention import IS_CHECK
from app.storage.db import Session

Row = Any

# An index gives the newest, so a campaign of millions costs as much as one of so many. Answers to attention checks are
# none of what a campaign has to do.
_DAYS = f"""
WITH newest AS MATERIALIZED (
    SELECT recorded_at FROM judgments WHERE campaign_id = :campaign AND item_id NOT IN (
        SELECT i.id FROM tasks t JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id
        WHERE t.campaign_id = :campaign AND {IS_CHECK.format(task="t")})
    ORDER BY id DESC LIMIT :most)
SELECT (recorded_at AT TIME ZONE 'UTC' + make_interval(mins => :offset))::date AS day, count(*) AS judgments
FROM newest GROUP BY 1 ORDER BY 1"""


def load_judgment_counts_by_day(session: Session, campaign_id: int, *, utc_offset: int, most: int) -> Sequence[Row]:
    """Day and count, the oldest day first, of the `most` newest judgments. utc_offset: minutes ahead of UTC."""
    keys = {"campaign": campaign_id, "offset": utc_offset, "most": most}
    return session.execute(text(_DAYS), keys).all()
