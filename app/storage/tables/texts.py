"""What is judged: systems, documents, segments, references and outputs. A text once stored never changes.

That outputs refer to rows of their own campaign is held by triggers of whole statements (decision 9).
"""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    in_campaign,
    json_column,
    key_check,
    label_column,
    metadata,
    same_number,
)

systems = Table(
    "systems",
    metadata,
    identity_column(),
    campaign_column(),
    label_column("key"),
    label_column("name"),
    label_column("kind"),
    label_column("lab", nullable=True),
    Column("tags", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    label_column("state"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "id"),
    key_check(),
    CheckConstraint("kind in ('mt', 'human')", name="kind_known"),
    CheckConstraint("state in ('active', 'withdrawn')", name="state_known"),
)

documents = Table(
    "documents",
    metadata,
    identity_column(),
    campaign_column(),
    label_column("key"),
    label_column("name"),
    label_column("kind"),
    label_column("domain", nullable=True),
    label_column("origin", nullable=True),
    Column("position", Integer),
    json_column("meta"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "id"),
    key_check(),
    CheckConstraint("kind in ('test', 'calibration', 'tutorial')", name="kind_known"),
)

segments = Table(
    "segments",
    metadata,
    identity_column(),
    campaign_column(),
    bigint_column("document_id"),
    Column("position", Integer, nullable=False),
    label_column("source", nullable=True),
    json_column("meta"),
    in_campaign("document_id", "documents"),
    UniqueConstraint("campaign_id", "document_id", "position"),
    UniqueConstraint("campaign_id", "id"),
    CheckConstraint("position >= 1", name="position_from_one"),
)

reference_texts = Table(
    "reference_texts",
    metadata,
    campaign_column(),
    Column("segment_id", bigint_column("segment_id").type, primary_key=True),
    Column("name", Text, primary_key=True),
    label_column("text"),
    in_campaign("segment_id", "segments"),
)

outputs = Table(
    "outputs",
    metadata,
    same_number(),
    campaign_column(),
    bigint_column("system_id"),
    bigint_column("segment_id"),
    label_column("text"),
    Column("sha256", LargeBinary, nullable=False),
    label_column("alignment", nullable=True),
    UniqueConstraint("campaign_id", "system_id", "segment_id"),
    PrimaryKeyConstraint("campaign_id", "id"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
)
