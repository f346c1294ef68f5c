"""Media of campaigns: the facts about each file. The bytes are elsewhere (`app.storage.media`)."""

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
    key_format_check,
    metadata,
    text_column,
    timestamp_column,
)

# name: used in segments and outputs. public_id: shown to raters instead, and does not reveal the name.
# sha256: of the stored bytes, and their name in the store. given: of the bytes as sent; of a PDF, a picture is stored.
# captions: name of a WebVTT file of the campaign.
media_files = Table(
    "media_files",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("public_id"),
    text_column("name"),
    Column("sha256", LargeBinary, nullable=False),
    Column("given", LargeBinary, nullable=False),
    text_column("media_type"),
    bigint_column("size"),
    Column("duration_ms", BigInteger),
    Column("width", Integer),
    Column("height", Integer),
    text_column("captions", nullable=True),
    text_column("transcript", nullable=True),
    text_column("actor"),
    timestamp_column("created_at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "name"),
    UniqueConstraint("public_id"),
    key_format_check("name"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
    CheckConstraint("size >= 0", name="size_counts"),
)

# Files that arrive in parts. The data received so far are in a file named by this id; its length is the offset.
media_uploads = Table(
    "media_uploads",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("public_id"),
    text_column("name"),
    bigint_column("size"),
    Column("sha256", LargeBinary),
    text_column("actor"),
    timestamp_column("created_at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("public_id"),
    key_format_check("name"),
    CheckConstraint("size >= 1", name="size_counts"),
)

# Signing keys that all processes of an installation share.
signing_keys = Table(
    "signing_keys",
    metadata,
    Column("purpose", Text, primary_key=True),
    Column("key", LargeBinary, nullable=False),
    timestamp_column("created_at", now=True),
    CheckConstraint("octet_length(key) = 32", name="key_length"),
)
