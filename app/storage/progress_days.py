"""Count the newest judgments by the day on which they were stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import text

from app.storage.attention_checks import IS_CHECK
from app.storage.db import Session

Row = Any

# An index finds the newest judgments, so the cost depends on `most`, not on the size of the campaign. Answers to
# attention checks are not part of a campaign's work.
_DAYS = f"""
WITH newest AS MATERIALIZED (
    SELECT recorded_at FROM judgments WHERE campaign_id = :campaign AND item_id NOT IN (
        SELECT i.id FROM tasks t JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id
        WHERE t.campaign_id = :campaign AND {IS_CHECK.format(task="t")})
    ORDER BY id DESC LIMIT :most)
SELECT (recorded_at AT TIME ZONE 'UTC' + make_interval(mins => :offset))::date AS day, count(*) AS judgments
FROM newest GROUP BY 1 ORDER BY 1"""


def load_judgment_counts_by_day(session: Session, campaign_id: int, *, utc_offset: int, most: int) -> Sequence[Row]:
    """Return days and counts of the `most` newest judgments, oldest day first. utc_offset: minutes ahead of UTC."""
    keys = {"campaign": campaign_id, "offset": utc_offset, "most": most}
    return session.execute(text(_DAYS), keys).all()
