"""Judgments, which are only ever added, and the scores derived from them.

`scores` repeats the address of its judgment on purpose: ratings are loaded by one scan of this narrow table. It can be
dropped and rebuilt from the payloads at any time. Statement-level triggers ensure that both tables refer to rows of
their own campaign; foreign keys would check row by row (decision 9).
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    composite_key_id_column,
    identity_column,
    json_column,
    metadata,
    same_campaign_reference,
    text_column,
    timestamp_column,
)

judgments = Table(
    "judgments",
    metadata,
    composite_key_id_column(),
    campaign_column(),
    bigint_column("item_id"),
    bigint_column("segment_id", nullable=True),
    bigint_column("rater_id"),
    Column("revision", Integer, nullable=False),
    json_column("payload"),
    Column("surplus", Boolean, nullable=False, server_default=text("false")),
    timestamp_column("started_at", nullable=True),
    timestamp_column("submitted_at", nullable=True),
    timestamp_column("recorded_at", now=True),
    text_column("external_id", nullable=True),
    json_column("meta", nullable=True),
    Column("guidelines", Integer),
    bigint_column("version"),
    # The natural key: a replayed answer can never count twice.
    Index(
        "uq_judgments_address",
        "item_id",
        "segment_id",
        "rater_id",
        "revision",
        unique=True,
        postgresql_nulls_not_distinct=True,
    ),
    PrimaryKeyConstraint("campaign_id", "id"),
    # A rater's judgments are read at every hand-in and for listings.
    Index("ix_judgments_rater_id", "campaign_id", "rater_id", "id"),
    # A sender repeats a judgment under the same external id; imports mostly have none, and so cost nothing.
    Index(
        "ix_judgments_external_id",
        "campaign_id",
        "external_id",
        postgresql_where=text("external_id IS NOT NULL"),
    ),
    CheckConstraint("revision >= 1", name="revision_from_one"),
)

profiles = Table(
    "profiles",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("name"),
    text_column("digest"),
    json_column("weights"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "digest"),
    UniqueConstraint("campaign_id", "id"),
)

scores = Table(
    "scores",
    metadata,
    campaign_column(),
    Column("profile_id", BigInteger, primary_key=True),
    Column("judgment_id", BigInteger, primary_key=True),
    bigint_column("item_id"),
    bigint_column("segment_id", nullable=True),
    bigint_column("rater_id"),
    Column("revision", Integer, nullable=False),
    Column("n_errors", Integer, nullable=False),
    bigint_column("version"),
    bigint_column("at_us"),
    Column("score", Float(53), nullable=False),
    Column("surplus", Boolean, nullable=False),
    CheckConstraint("score > '-Infinity' and score < 'Infinity'", name="score_finite"),
    CheckConstraint("n_errors >= -1", name="errors_counted"),
)

voids = Table(
    "voids",
    metadata,
    campaign_column(),
    Column("judgment_id", BigInteger, primary_key=True),
    text_column("reason"),
    text_column("actor"),
    bigint_column("version"),
    timestamp_column("at", now=True),
    same_campaign_reference("judgment_id", "judgments"),
    ForeignKeyConstraint(["campaign_id", "version"], ["versions.campaign_id", "versions.n"]),
)
