"""What was shown to whom: tasks, their items, and the systems credited with an item."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Integer,
    SmallInteger,
    Table,
    UniqueConstraint,
    text,
)

from app.storage.tables._metadata import bigint, campaign, identity, in_campaign, json, key_check, label, metadata

tasks = Table(
    "tasks",
    metadata,
    identity(),
    campaign(),
    label("public_id"),
    label("key"),
    bigint("rater_id", nullable=True),
    label("state"),
    json("meta"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    in_campaign("rater_id", "raters"),
    UniqueConstraint("public_id"),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "id"),
    key_check(),
    CheckConstraint("state in ('free', 'leased', 'handed_in', 'imported')", name="state_known"),
)

items = Table(
    "items",
    metadata,
    identity(),
    campaign(),
    bigint("task_id"),
    label("key"),
    Column("position", Integer, nullable=False),
    bigint("document_id"),
    Column("first_segment", Integer),
    Column("last_segment", Integer),
    Column("role", SmallInteger, nullable=False),
    Column("accepted", Boolean, nullable=False, server_default=text("true")),
    json("meta"),
    in_campaign("task_id", "tasks"),
    in_campaign("document_id", "documents"),
    UniqueConstraint("campaign_id", "task_id", "key"),
    UniqueConstraint("campaign_id", "task_id", "position"),
    UniqueConstraint("campaign_id", "id"),
    key_check(),
    CheckConstraint("position >= 1", name="position_from_one"),
    CheckConstraint("role between 0 and 4", name="role_known"),
)

item_credits = Table(
    "credits",
    metadata,
    campaign(),
    Column("item_id", BigInteger, primary_key=True),
    Column("system_id", BigInteger, primary_key=True),
    in_campaign("item_id", "items"),
    in_campaign("system_id", "systems"),
)
