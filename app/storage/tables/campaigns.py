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

from app.storage.tables._metadata import identity, json, key_check, label, metadata, moment

campaigns = Table(
    "campaigns",
    metadata,
    identity(),
    label("key"),
    label("name"),
    label("series", nullable=True),
    label("protocol"),
    Column("protocol_version", SmallInteger, nullable=False),
    json("options"),
    label("source_language", nullable=True),
    label("target_language", nullable=True),
    label("basis"),
    label("state"),
    json("settings"),
    Column("documents_known", Boolean, nullable=False, server_default=text("true")),
    Column("data_version", BigInteger, nullable=False, server_default=text("0")),
    Column("settings_version", BigInteger, nullable=False, server_default=text("1")),
    moment("created_at", now=True),
    UniqueConstraint("key"),
    key_check(),
    CheckConstraint("basis in ('source', 'reference', 'both', 'none')", name="basis_known"),
    CheckConstraint("state in ('draft', 'planned', 'open', 'paused', 'closed')", name="state_known"),
    CheckConstraint("data_version >= 0", name="version_counts_up"),
)

versions = Table(
    "versions",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("n", BigInteger, primary_key=True),
    moment("at", now=True),
    label("actor"),
    label("what"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    CheckConstraint("n > 0", name="counts_from_one"),
)

# The versions with their judgments, chained by hashes. No declared keys: each flush writes one, and `audit --check`
# finds a seal of nothing.
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
