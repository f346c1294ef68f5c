"""The audit log: who changed what, as a chain of hashes within each campaign."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKeyConstraint, Index, LargeBinary, Table

from app.storage.tables._metadata import bigint_column, identity_column, metadata, text_column, timestamp_column

# what: the JSON text that was hashed, stored as text so that parsing and writing cannot change a byte of it.
audit_log = Table(
    "audit_log",
    metadata,
    identity_column(),
    bigint_column("campaign_id", nullable=True),
    Column("n", BigInteger, nullable=False),
    timestamp_column("at"),
    text_column("actor"),
    text_column("action"),
    text_column("what"),
    Column("hash", LargeBinary, nullable=False),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    CheckConstraint("n >= 1", name="counts_from_one"),
    CheckConstraint("octet_length(hash) = 32", name="hash_length"),
    Index("uq_audit_log_campaign_id_n", "campaign_id", "n", unique=True, postgresql_nulls_not_distinct=True),
)
