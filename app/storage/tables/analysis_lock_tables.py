"""Registrations made before the data could be known, and later amendments; none is ever changed or deleted."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
)

from app.storage.tables._metadata import bigint_column, json_column, metadata, text_column, timestamp_column

locks = Table(
    "locks",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("before_judgments", Boolean, nullable=False),
    json_column("recipe"),
    json_column("rules"),
    text_column("reason", nullable=True),
    Column("hash", LargeBinary, nullable=False),
    text_column("actor"),
    timestamp_column("at"),
    bigint_column("version"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    ForeignKeyConstraint(["campaign_id", "version"], ["versions.campaign_id", "versions.n"]),
    UniqueConstraint("campaign_id", "version"),
    CheckConstraint("n >= 1", name="counts_from_one"),
    CheckConstraint("octet_length(hash) = 32", name="hash_length"),
    CheckConstraint("n = 1 and before_judgments or reason is not null", name="amendment_has_reason"),
)
