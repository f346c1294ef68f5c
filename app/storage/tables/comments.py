"""Comments that raters write about an output or a screen, in addition to their judgments."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    metadata,
    same_campaign_reference,
    text_column,
    timestamp_column,
)

# About an output (item and segment, or only the item if whole documents are judged) or about a screen of the task. Only
# the latest text is stored: a change replaces the comment, and an erasure of the rater deletes all. revision: how often
# it was written, for a browser that has not received the latest.
comments = Table(
    "comments",
    metadata,
    identity_column(),
    campaign_column(),
    bigint_column("rater_id"),
    bigint_column("task_id"),
    bigint_column("item_id", nullable=True),
    bigint_column("segment_id", nullable=True),
    Column("screen", Integer),
    Column("revision", Integer, nullable=False),
    text_column("text"),
    timestamp_column("at", now=True),
    same_campaign_reference("rater_id", "raters"),
    same_campaign_reference("task_id", "tasks"),
    same_campaign_reference("item_id", "items"),
    same_campaign_reference("segment_id", "segments"),
    Index(
        "uq_comments_address",
        "campaign_id",
        "rater_id",
        "task_id",
        "item_id",
        "segment_id",
        "screen",
        unique=True,
        postgresql_nulls_not_distinct=True,
    ),
    CheckConstraint(
        "CASE WHEN screen IS NULL THEN item_id IS NOT NULL ELSE num_nonnulls(item_id, segment_id) = 0 END",
        name="one_place",
    ),
    CheckConstraint("revision >= 1", name="revision_from_one"),
)
