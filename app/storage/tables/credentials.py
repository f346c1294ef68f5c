"""Credentials and protection against replays. Secrets are stored only as hashes."""

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
    metadata,
    same_campaign_reference,
    text_column,
    timestamp_column,
)

# once: the token opens one session and is no credential by itself, because its creator may not see what it shows.
# opened_at: when it opened the session. last_used_at: precise to a few minutes (`app.storage.tokens`).
tokens = Table(
    "tokens",
    metadata,
    identity_column(),
    text_column("prefix"),
    Column("hash", LargeBinary, nullable=False),
    text_column("role"),
    bigint_column("campaign_id", nullable=True),
    bigint_column("rater_id", nullable=True),
    bigint_column("team_id", nullable=True),
    text_column("name"),
    timestamp_column("created_at", now=True),
    timestamp_column("expires_at", nullable=True),
    timestamp_column("revoked_at", nullable=True),
    Column("once", Boolean, nullable=False, server_default=text("false")),
    timestamp_column("opened_at", nullable=True),
    timestamp_column("last_used_at", nullable=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("prefix"),
    CheckConstraint("octet_length(hash) = 32", name="hash_length"),
    same_campaign_reference("rater_id", "raters"),
    same_campaign_reference("team_id", "teams"),
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
    timestamp_column("created_at", now=True),
    timestamp_column("expires_at"),
    ForeignKeyConstraint(["token_id"], ["tokens.id"], ondelete="CASCADE"),
    UniqueConstraint("hash"),
)

# Addresses of campaigns' public archives. Anybody with the address may read, so there is no need to hash it.
archive_links = Table(
    "archive_links",
    metadata,
    identity_column(),
    bigint_column("campaign_id"),
    text_column("address"),
    text_column("actor"),
    timestamp_column("created_at", now=True),
    timestamp_column("revoked_at", nullable=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("address"),
    # Only one usable link at a time.
    Index("ix_archive_links_open", "campaign_id", unique=True, postgresql_where=text("revoked_at IS NULL")),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("token_id", BigInteger, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request_hash", LargeBinary, nullable=False),
    Column("status", SmallInteger),
    Column("body", LargeBinary),
    text_column("content_type", nullable=True),
    text_column("location", nullable=True),
    timestamp_column("created_at", now=True),
    ForeignKeyConstraint(["token_id"], ["tokens.id"], ondelete="CASCADE"),
)
