"""Material to judge: systems, documents, segments, references and outputs. A stored text never changes.

Statement-level triggers ensure that outputs refer to rows of their own campaign (decision 9).
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
    composite_key_id_column,
    identity_column,
    json_column,
    key_format_check,
    metadata,
    same_campaign_reference,
    text_column,
)

systems = Table(
    "systems",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("key"),
    text_column("name"),
    text_column("kind"),
    text_column("lab", nullable=True),
    Column("tags", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    text_column("state"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "id"),
    key_format_check(),
    CheckConstraint("kind in ('mt', 'human')", name="kind_known"),
    CheckConstraint("state in ('active', 'withdrawn')", name="state_known"),
)

documents = Table(
    "documents",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("key"),
    text_column("name"),
    text_column("kind"),
    text_column("domain", nullable=True),
    text_column("origin", nullable=True),
    Column("position", Integer),
    json_column("meta"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "id"),
    key_format_check(),
    CheckConstraint("kind in ('test', 'calibration', 'tutorial', 'attention')", name="kind_known"),
)

segments = Table(
    "segments",
    metadata,
    identity_column(),
    campaign_column(),
    bigint_column("document_id"),
    Column("position", Integer, nullable=False),
    text_column("source", nullable=True),
    json_column("meta"),
    same_campaign_reference("document_id", "documents"),
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
    text_column("text"),
    same_campaign_reference("segment_id", "segments"),
)

outputs = Table(
    "outputs",
    metadata,
    composite_key_id_column(),
    campaign_column(),
    bigint_column("system_id"),
    bigint_column("segment_id"),
    text_column("text"),
    Column("sha256", LargeBinary, nullable=False),
    text_column("alignment", nullable=True),
    UniqueConstraint("campaign_id", "system_id", "segment_id"),
    PrimaryKeyConstraint("campaign_id", "id"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
)
