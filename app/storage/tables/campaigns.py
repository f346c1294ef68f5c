"""Campaigns and the versions of their data."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    UniqueConstraint,
    text,
)

from app.storage.tables._metadata import (
    identity_column,
    json_column,
    key_format_check,
    metadata,
    text_column,
    timestamp_column,
)

campaigns = Table(
    "campaigns",
    metadata,
    identity_column(),
    text_column("key"),
    text_column("name"),
    text_column("series", nullable=True),
    text_column("protocol"),
    Column("protocol_version", SmallInteger, nullable=False),
    json_column("options"),
    text_column("source_language", nullable=True),
    text_column("target_language", nullable=True),
    text_column("basis"),
    text_column("state"),
    json_column("settings"),
    Column("documents_known", Boolean, nullable=False, server_default=text("true")),
    Column("data_version", BigInteger, nullable=False, server_default=text("0")),
    Column("settings_version", BigInteger, nullable=False, server_default=text("1")),
    timestamp_column("created_at", now=True),
    UniqueConstraint("key"),
    key_format_check(),
    CheckConstraint("basis in ('source', 'reference', 'both', 'none')", name="basis_known"),
    CheckConstraint("state in ('draft', 'planned', 'open', 'paused', 'closed')", name="state_known"),
    CheckConstraint("data_version >= 0", name="version_counts_up"),
)

versions = Table(
    "versions",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("n", BigInteger, primary_key=True),
    timestamp_column("at", now=True),
    text_column("actor"),
    text_column("what"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    CheckConstraint("n > 0", name="counts_from_one"),
)

# The versions with their judgments, as a chain of hashes. There are no foreign keys, because each flush writes a seal,
# and `audit --check` finds seals without a version.
seals = Table(
    "seals",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("judgments", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    CheckConstraint("octet_length(content) = 32", name="content_length"),
    CheckConstraint("octet_length(hash) = 32", name="hash_length"),
)
