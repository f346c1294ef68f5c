"""Raters' answers in the tutorial before their first task. No report reads them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Integer, Table, Text, text

from app.storage.tables._metadata import (
    campaign_column,
    json_column,
    metadata,
    same_campaign_reference,
    timestamp_column,
)

# The first answer to a segment, by the document's key, because texts of a tutorial may be replaced. right: null if the
# tutorial knows no answer. settled: false while a text that must be answered correctly still waits for this.
tutorial_answers = Table(
    "tutorial_answers",
    metadata,
    campaign_column(),
    Column("rater_id", BigInteger, primary_key=True),
    Column("document", Text, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    json_column("payload"),
    Column("right", Boolean),
    Column("settled", Boolean, nullable=False, server_default=text("true")),
    timestamp_column("at", now=True),
    same_campaign_reference("rater_id", "raters"),
    CheckConstraint("position >= 1", name="position_from_one"),
)
