"""What raters write about an output or a screen, beside their judgments."""

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

# Of an output (item and segment, or the item alone where a whole document is judged) or of a screen of the task. The
# latest text only: whoever changes it means it so, and all go when the rater is erased. revision: how often it was
# written, for a browser that has not heard of the last.
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
