"""Frozen designs: a plan with its arms, buckets and groups. Later plans are new versions; none is ever changed."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
    text,
)

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    json_column,
    metadata,
    same_campaign_reference,
    text_column,
    timestamp_column,
)

# seed: of the design. compiled: the plan itself, as packed JSON, from which a replan continues. hash: SHA-256 of
# design, test set, raters and all assignments. data_version: the version on which the plan is based.
plans = Table(
    "plans",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    json_column("design"),
    bigint_column("seed"),
    Column("hash", LargeBinary, nullable=False),
    json_column("report"),
    Column("compiled", LargeBinary, nullable=False, server_default=text("''::bytea")),
    json_column("change", nullable=True),
    text_column("method_version"),
    bigint_column("data_version"),
    text_column("actor"),
    timestamp_column("at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    ForeignKeyConstraint(["campaign_id", "data_version"], ["versions.campaign_id", "versions.n"]),
    CheckConstraint("version >= 1", name="version_from_one"),
    CheckConstraint("octet_length(hash) = 32", name="hash_length"),
)

arms = Table(
    "arms",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("plan", Integer, primary_key=True, autoincrement=False),
    Column("n", Integer, primary_key=True, autoincrement=False),
    text_column("name"),
    text_column("presentation"),
    text_column("prefill", nullable=True),
    ForeignKeyConstraint(["campaign_id", "plan"], ["plans.campaign_id", "plans.version"]),
    UniqueConstraint("campaign_id", "plan", "name"),
    CheckConstraint("presentation in ('document', 'segment', 'side_by_side')", name="presentation_known"),
)

# raters: those who may rate the items of a bucket.
bucket_raters = Table(
    "bucket_raters",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("plan", Integer, primary_key=True, autoincrement=False),
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    Column("rater_id", BigInteger, primary_key=True),
    ForeignKeyConstraint(["campaign_id", "plan"], ["plans.campaign_id", "plans.version"]),
    same_campaign_reference("rater_id", "raters"),
    Index("ix_bucket_raters_rater_id", "campaign_id", "rater_id"),
)

plan_documents = Table(
    "plan_documents",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("plan", Integer, primary_key=True, autoincrement=False),
    Column("document_id", BigInteger, primary_key=True),
    Column("bucket", Integer),
    Column("inclusion", Float(53), nullable=False, server_default=text("1")),
    ForeignKeyConstraint(["campaign_id", "plan"], ["plans.campaign_id", "plans.version"]),
    same_campaign_reference("document_id", "documents"),
    CheckConstraint("inclusion >= 0 and inclusion <= 1", name="inclusion_is_probability"),
)

# unit: the same for all ratings of one stretch, so that nobody rates it twice. nth: number of the rating in its unit.
groups = Table(
    "groups",
    metadata,
    identity_column(),
    campaign_column(),
    Column("plan", Integer, nullable=False),
    Column("bucket", Integer, nullable=False),
    Column("unit", Integer, nullable=False),
    Column("nth", Integer, nullable=False),
    bigint_column("document_id", nullable=True),
    Column("first_segment", Integer),
    Column("last_segment", Integer),
    bigint_column("rater_id", nullable=True),
    Column("propensity", Float(53)),
    ForeignKeyConstraint(["campaign_id", "plan"], ["plans.campaign_id", "plans.version"]),
    same_campaign_reference("document_id", "documents"),
    same_campaign_reference("rater_id", "raters"),
    UniqueConstraint("campaign_id", "id"),
    Index("ix_groups_unit", "campaign_id", "plan", "unit"),
    CheckConstraint("nth >= 1", name="nth_from_one"),
    CheckConstraint("propensity > 0 and propensity <= 1", name="propensity_is_probability"),
)
