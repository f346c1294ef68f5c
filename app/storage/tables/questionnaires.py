"""Raters' answers to the questions before their first task and after their last one."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, Table, Text

from app.storage.tables._metadata import (
    campaign_column,
    json_column,
    metadata,
    same_campaign_reference,
    timestamp_column,
)

# n: number of the revision; the latest counts, and none is ever changed. All are deleted when the rater is erased.
questionnaire_answers = Table(
    "questionnaire_answers",
    metadata,
    campaign_column(),
    Column("rater_id", BigInteger, primary_key=True),
    Column("moment", Text, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    json_column("answers"),
    timestamp_column("at", now=True),
    same_campaign_reference("rater_id", "raters"),
    CheckConstraint("moment in ('before', 'after')", name="moment_known"),
    CheckConstraint("n >= 1", name="counts_from_one"),
)
