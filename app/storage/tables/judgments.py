"""Judgments, which are only ever added, and the scores derived from them.

`scores` repeats the address of its judgment on purpose: ratings are loaded by one scan of this narrow table.
It can be dropped and rebuilt from the payloads at any time. That both refer to rows of their own campaign is held by
triggers of whole statements rather than by declared keys, which check row by row (decision 9).
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
    bigint,
    campaign,
    identity,
    in_campaign,
    json,
    label,
    metadata,
    moment,
    same_number,
)

judgments = Table(
    "judgments",
    metadata,
    same_number(),
    campaign(),
    bigint("item_id"),
    bigint("segment_id", nullable=True),
    bigint("rater_id"),
    Column("revision", Integer, nullable=False),
    json("payload"),
    Column("surplus", Boolean, nullable=False, server_default=text("false")),
    moment("started_at", nullable=True),
    moment("submitted_at", nullable=True),
    moment("recorded_at", now=True),
    label("external_id", nullable=True),
    json("meta", nullable=True),
    Column("guidelines", Integer),
    bigint("version"),
    # The natural key: a replay of an answer can never count twice.
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
    # A rater's own are read whenever they hand in, and listed.
    Index("ix_judgments_rater_id", "campaign_id", "rater_id", "id"),
    # Whoever sends a judgment again names it as before; imports mostly name none, and pay nothing.
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
    identity(),
    campaign(),
    label("name"),
    label("digest"),
    json("weights"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "digest"),
    UniqueConstraint("campaign_id", "id"),
)

scores = Table(
    "scores",
    metadata,
    campaign(),
    Column("profile_id", BigInteger, primary_key=True),
    Column("judgment_id", BigInteger, primary_key=True),
    bigint("item_id"),
    bigint("segment_id", nullable=True),
    bigint("rater_id"),
    Column("revision", Integer, nullable=False),
    Column("n_errors", Integer, nullable=False),
    bigint("version"),
    bigint("at_us"),
    Column("score", Float(53), nullable=False),
    Column("surplus", Boolean, nullable=False),
    CheckConstraint("score > '-Infinity' and score < 'Infinity'", name="score_finite"),
    CheckConstraint("n_errors >= -1", name="errors_counted"),
)

voids = Table(
    "voids",
    metadata,
    campaign(),
    Column("judgment_id", BigInteger, primary_key=True),
    label("reason"),
    label("actor"),
    bigint("version"),
    moment("at", now=True),
    in_campaign("judgment_id", "judgments"),
    ForeignKeyConstraint(["campaign_id", "version"], ["versions.campaign_id", "versions.n"]),
)
