"""Data beside judgments: answers about whole screens, reported problems, activity, and hours."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    json_column,
    metadata,
    same_campaign_reference,
    text_column,
    timestamp_column,
)

# A judgment about the columns of a screen together (a preference), which belongs to no single item.
screen_judgments = Table(
    "screen_judgments",
    metadata,
    campaign_column(),
    bigint_column("task_id"),
    Column("screen", Integer, nullable=False),
    bigint_column("rater_id"),
    Column("revision", Integer, nullable=False),
    json_column("payload"),
    Column("surplus", Boolean, nullable=False, server_default=text("false")),
    timestamp_column("recorded_at", now=True),
    bigint_column("version"),
    same_campaign_reference("task_id", "tasks"),
    same_campaign_reference("rater_id", "raters"),
    ForeignKeyConstraint(["campaign_id", "version"], ["versions.campaign_id", "versions.n"]),
    PrimaryKeyConstraint("campaign_id", "task_id", "screen", "rater_id", "revision"),
    CheckConstraint("screen >= 1", name="screen_from_one"),
    CheckConstraint("revision >= 1", name="revision_from_one"),
)

flags = Table(
    "flags",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("public_id"),
    bigint_column("task_id"),
    bigint_column("item_id", nullable=True),
    Column("segment", Integer),
    bigint_column("rater_id"),
    text_column("reason"),
    text_column("note", nullable=True),
    timestamp_column("at", now=True),
    text_column("answer", nullable=True),
    text_column("answered_by", nullable=True),
    timestamp_column("answered_at", nullable=True),
    text_column("assignee", nullable=True),  # who takes care of it, as managers name them
    same_campaign_reference("task_id", "tasks"),
    same_campaign_reference("item_id", "items"),
    same_campaign_reference("rater_id", "raters"),
    UniqueConstraint("public_id"),
    Index("ix_flags_campaign_id", "campaign_id", "id"),
    CheckConstraint("num_nulls(answer, answered_by, answered_at) in (0, 3)", name="answered_whole"),
)

# at_ms: the browser's own clock, which only determines the order and spacing of events in its session.
activity = Table(
    "activity",
    metadata,
    campaign_column(),
    bigint_column("task_id"),
    text_column("session"),
    Column("seq", Integer, nullable=False),
    bigint_column("rater_id"),
    text_column("kind"),
    bigint_column("at_ms"),
    Column("item", Integer),
    Column("segment", Integer),
    text_column("media", nullable=True),
    bigint_column("media_ms", nullable=True),
    timestamp_column("received_at", now=True),
    same_campaign_reference("task_id", "tasks"),
    same_campaign_reference("rater_id", "raters"),
    PrimaryKeyConstraint("task_id", "session", "seq"),
    Index("ix_activity_rater_id", "campaign_id", "rater_id"),
    CheckConstraint("seq >= 0", name="seq_counts"),
)

# Time paid in addition to the measured time, and raters' disputes about it; neither is ever changed.
hour_adjustments = Table(
    "hour_adjustments",
    metadata,
    identity_column(),
    campaign_column(),
    bigint_column("rater_id"),
    text_column("kind"),
    Column("seconds", Integer, nullable=False),
    text_column("reason"),
    bigint_column("answers_id", nullable=True),
    text_column("actor"),
    timestamp_column("at", now=True),
    same_campaign_reference("rater_id", "raters"),
    same_campaign_reference("answers_id", "hour_adjustments"),
    UniqueConstraint("campaign_id", "id"),
    Index("ix_hour_adjustments_rater_id", "campaign_id", "rater_id"),
    CheckConstraint("kind in ('adjustment', 'dispute', 'refusal')", name="kind_known"),
)

# Texts shown in place of an output, and spans shown with it. name: the set to which a plan or a campaign refers.
variants = Table(
    "variants",
    metadata,
    campaign_column(),
    bigint_column("output_id"),
    text_column("kind"),
    text_column("name"),
    text_column("text", nullable=True),
    json_column("spans", nullable=True),
    json_column("how", nullable=True),
    timestamp_column("at", now=True),
    ForeignKeyConstraint(["campaign_id", "output_id"], ["outputs.campaign_id", "outputs.id"]),
    PrimaryKeyConstraint("campaign_id", "output_id", "kind", "name"),
    CheckConstraint("kind in ('degraded', 'prefill', 'back_translation')", name="kind_known"),
    CheckConstraint("(kind = 'prefill') = (text is null) and (kind <> 'prefill' or spans is not null)", name="whole"),
)

calibration_sets = Table(
    "calibration_sets",
    metadata,
    identity_column(),
    text_column("key"),
    Column("version", Integer, nullable=False),
    text_column("protocol"),
    text_column("actor"),
    timestamp_column("at", now=True),
    timestamp_column("frozen_at", nullable=True),
    UniqueConstraint("key", "version"),
    CheckConstraint("version >= 1", name="version_from_one"),
)

calibration_pairs = Table(
    "calibration_pairs",
    metadata,
    Column("set_id", BigInteger, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    text_column("text1"),
    text_column("text2"),
    json_column("consensus"),
    text_column("stratum", nullable=True),
    ForeignKeyConstraint(["set_id"], ["calibration_sets.id"], ondelete="CASCADE"),
    CheckConstraint("n >= 1", name="counts_from_one"),
)
