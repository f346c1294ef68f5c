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

from app.storage.tables._metadata import (
    bigint_column,
    identity_column,
    in_campaign,
    label_column,
    metadata,
    moment_column,
)

# once: opens one session and is no credential by itself, because whoever made it may not see what it shows.
# opened_at: when it did.
tokens = Table(
    "tokens",
    metadata,
    identity_column(),
    label_column("prefix"),
    Column("hash", LargeBinary, nullable=False),
    label_column("role"),
    bigint_column("campaign_id", nullable=True),
    bigint_column("rater_id", nullable=True),
    bigint_column("team_id", nullable=True),
    label_column("name"),
    moment_column("created_at", now=True),
    moment_column("expires_at", nullable=True),
    moment_column("revoked_at", nullable=True),
    Column("once", Boolean, nullable=False, server_default=text("false")),
    moment_column("opened_at", nullable=True),
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
    identity_column(),
    Column("hash", LargeBinary, nullable=False),
    bigint_column("token_id"),
    moment_column("created_at", now=True),
    moment_column("expires_at"),
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
    label_column("content_type", nullable=True),
    label_column("location", nullable=True),
    moment_column("created_at", now=True),
    ForeignKeyConstraint(["token_id"], ["tokens.id"], ondelete="CASCADE"),
)
