"""Judgments by day."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, ConfigDict, Field

from app.storage import campaigns, progress_days
from app.storage.db import Session

NEWEST = 100_000
"""How many judgments are counted: the newest ones, which takes the database about 50 ms."""
MOST_DAYS = 60


class JudgmentDay(BaseModel):
    """One day with judgments."""

    model_config = ConfigDict(frozen=True)

    day: date
    judgments: int


class JudgmentDaysView(BaseModel):
    """Judgments by day, the oldest first; days without any are left out."""

    model_config = ConfigDict(frozen=True)

    campaign: str
    days: list[JudgmentDay]
    complete: bool = Field(description="False if there are judgments before these days.")


def count_judgments_by_day(session: Session, campaign: str, *, utc_offset: int) -> JudgmentDaysView:
    """Count the judgments of the last days that have any, including revisions. Raises NotFound."""
    row = campaigns.load_campaign(session, campaign)
    rows = progress_days.load_judgment_counts_by_day(session, row.id, utc_offset=utc_offset, most=NEWEST)
    all_of_them = sum(each.judgments for each in rows) < NEWEST and len(rows) <= MOST_DAYS
    days = [JudgmentDay(day=each.day, judgments=each.judgments) for each in rows[-MOST_DAYS:]]
    return JudgmentDaysView(campaign=campaign, days=days, complete=all_of_them)
