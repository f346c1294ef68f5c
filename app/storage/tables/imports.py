"""Imports under way: the announcement, the bytes that arrived, and the report of the result."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    json_column,
    metadata,
    text_column,
    timestamp_column,
)

imports = Table(
    "imports",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("public_id"),
    text_column("format"),
    json_column("options"),
    text_column("state"),
    json_column("report", nullable=True),
    timestamp_column("created_at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("public_id"),
    CheckConstraint("state in ('receiving', 'committed')", name="state_known"),
)

import_files = Table(
    "import_files",
    metadata,
    Column("import_id", BigInteger, primary_key=True),
    Column("name", Text, primary_key=True),
    bigint_column("size"),
    Column("sha256", LargeBinary, nullable=False),
    ForeignKeyConstraint(["import_id"], ["imports.id"], ondelete="CASCADE"),
)

import_chunks = Table(
    "import_chunks",
    metadata,
    Column("import_id", BigInteger, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    ForeignKeyConstraint(["import_id", "name"], ["import_files.import_id", "import_files.name"], ondelete="CASCADE"),
)
