"""What comes with judging: answers about whole screens, problems reported, what was done when, and hours."""

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
    in_campaign,
    json_column,
    label_column,
    metadata,
    moment_column,
)

# A judgment about the columns of a screen together (a preference), which no single item can hold.
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
    moment_column("recorded_at", now=True),
    bigint_column("version"),
    in_campaign("task_id", "tasks"),
    in_campaign("rater_id", "raters"),
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
    label_column("public_id"),
    bigint_column("task_id"),
    bigint_column("item_id", nullable=True),
    Column("segment", Integer),
    bigint_column("rater_id"),
    label_column("reason"),
    label_column("note", nullable=True),
    moment_column("at", now=True),
    label_column("answer", nullable=True),
    label_column("answered_by", nullable=True),
    moment_column("answered_at", nullable=True),
    in_campaign("task_id", "tasks"),
    in_campaign("item_id", "items"),
    in_campaign("rater_id", "raters"),
    UniqueConstraint("public_id"),
    Index("ix_flags_campaign_id", "campaign_id", "id"),
    CheckConstraint("num_nulls(answer, answered_by, answered_at) in (0, 3)", name="answered_whole"),
)

# at_ms: the browser's own clock, which only orders and spaces the events of its session.
activity = Table(
    "activity",
    metadata,
    campaign_column(),
    bigint_column("task_id"),
    label_column("session"),
    Column("seq", Integer, nullable=False),
    bigint_column("rater_id"),
    label_column("kind"),
    bigint_column("at_ms"),
    Column("item", Integer),
    Column("segment", Integer),
    moment_column("received_at", now=True),
    in_campaign("task_id", "tasks"),
    in_campaign("rater_id", "raters"),
    PrimaryKeyConstraint("task_id", "session", "seq"),
    Index("ix_activity_rater_id", "campaign_id", "rater_id"),
    CheckConstraint("seq >= 0", name="seq_counts"),
)

# What is paid beside the measured time, and what a rater says is wrong with it; neither is ever changed.
hour_adjustments = Table(
    "hour_adjustments",
    metadata,
    identity_column(),
    campaign_column(),
    bigint_column("rater_id"),
    label_column("kind"),
    Column("seconds", Integer, nullable=False),
    label_column("reason"),
    bigint_column("answers_id", nullable=True),
    label_column("actor"),
    moment_column("at", now=True),
    in_campaign("rater_id", "raters"),
    in_campaign("answers_id", "hour_adjustments"),
    UniqueConstraint("campaign_id", "id"),
    Index("ix_hour_adjustments_rater_id", "campaign_id", "rater_id"),
    CheckConstraint("kind in ('adjustment', 'dispute', 'refusal')", name="kind_known"),
)

# Texts shown in an output's place, and spans shown with it. name: the set that a plan or a campaign refers to.
variants = Table(
    "variants",
    metadata,
    campaign_column(),
    bigint_column("output_id"),
    label_column("kind"),
    label_column("name"),
    label_column("text", nullable=True),
    json_column("spans", nullable=True),
    json_column("how", nullable=True),
    moment_column("at", now=True),
    ForeignKeyConstraint(["campaign_id", "output_id"], ["outputs.campaign_id", "outputs.id"]),
    PrimaryKeyConstraint("campaign_id", "output_id", "kind", "name"),
    CheckConstraint("kind in ('degraded', 'prefill', 'back_translation')", name="kind_known"),
    CheckConstraint("(kind = 'prefill') = (text is null) and (kind <> 'prefill' or spans is not null)", name="whole"),
)

calibration_sets = Table(
    "calibration_sets",
    metadata,
    identity_column(),
    label_column("key"),
    Column("version", Integer, nullable=False),
    label_column("protocol"),
    label_column("actor"),
    moment_column("at", now=True),
    moment_column("frozen_at", nullable=True),
    UniqueConstraint("key", "version"),
    CheckConstraint("version >= 1", name="version_from_one"),
)

calibration_pairs = Table(
    "calibration_pairs",
    metadata,
    Column("set_id", BigInteger, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    label_column("text1"),
    label_column("text2"),
    json_column("consensus"),
    label_column("stratum", nullable=True),
    ForeignKeyConstraint(["set_id"], ["calibration_sets.id"], ondelete="CASCADE"),
    CheckConstraint("n >= 1", name="counts_from_one"),
)
