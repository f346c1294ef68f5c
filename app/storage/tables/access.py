"""Credentials and replay protection. Secrets stand here only as hashes."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from app.storage.tables._metadata import bigint, identity, in_campaign, label, metadata, moment

# once: opens one session and is no credential by itself, because whoever made it may not see what it shows.
# opened_at: when it did.
tokens = Table(
    "tokens",
    metadata,
    identity(),
    label("prefix"),
    Column("hash", LargeBinary, nullable=False),
    label("role"),
    bigint("campaign_id", nullable=True),
    bigint("rater_id", nullable=True),
    bigint("team_id", nullable=True),
    label("name"),
    moment("created_at", now=True),
    moment("expires_at", nullable=True),
    moment("revoked_at", nullable=True),
    Column("once", Boolean, nullable=False, server_default=text("false")),
    moment("opened_at", nullable=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("prefix"),
    CheckConstraint("octet_length(hash) = 32", name="hash_length"),
    in_campaign("rater_id", "raters"),
    in_campaign("team_id", "teams"),
    Index("ix_tokens_rater_id", "campaign_id", "rater_id", postgresql_where=text("rater_id IS NOT NULL")),
    CheckConstraint("role in ('admin', 'manager', 'coordinator', 'viewer', 'frontend', 'rater')", name="role_known"),
    CheckConstraint("(role = 'rater') = (rater_id is not null)", name="rater_named"),
    CheckConstraint("num_nonnulls(rater_id, team_id) = 0 or campaign_id is not null", name="in_campaign"),
    CheckConstraint("team_id is null or role in ('coordinator', 'frontend')", name="team_of_coordinator"),
)

sessions = Table(
    "sessions",
    metadata,
    identity(),
    Column("hash", LargeBinary, nullable=False),
    bigint("token_id"),
    moment("created_at", now=True),
    moment("expires_at"),
    ForeignKeyConstraint(["token_id"], ["tokens.id"], ondelete="CASCADE"),
    UniqueConstraint("hash"),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("token_id", BigInteger, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request_hash", LargeBinary, nullable=False),
    Column("status", SmallInteger),
    Column("body", LargeBinary),
    label("content_type", nullable=True),
    label("location", nullable=True),
    moment("created_at", now=True),
    ForeignKeyConstraint(["token_id"], ["tokens.id"], ondelete="CASCADE"),
)
