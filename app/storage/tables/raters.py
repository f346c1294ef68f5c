"""Raters and people. A rater is an account within a campaign; several accounts can belong to one person."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    json_column,
    key_format_check,
    metadata,
    same_campaign_reference,
    text_column,
    timestamp_column,
)

people = Table(
    "people",
    metadata,
    identity_column(),
    text_column("key"),
    timestamp_column("created_at", now=True),
    UniqueConstraint("key"),
    key_format_check(),
)

raters = Table(
    "raters",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("key"),
    text_column("name"),
    bigint_column("person_id", nullable=True),
    json_column("attributes"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    ForeignKeyConstraint(["person_id"], ["people.id"]),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "id"),
    # Every lease looks up the other accounts of a person; without the index, it would read all raters of the campaign.
    Index("ix_raters_person_id", "person_id", "campaign_id", postgresql_where=text("person_id IS NOT NULL")),
    key_format_check(),
)

# Only personal data: erasing a rater deletes the row and leaves the scores under the key.
contacts = Table(
    "contacts",
    metadata,
    campaign_column(),
    Column("rater_id", BigInteger, primary_key=True),
    text_column("name", nullable=True),
    text_column("email", nullable=True),
    text_column("note", nullable=True),
    timestamp_column("updated_at", now=True),
    same_campaign_reference("rater_id", "raters", ondelete="CASCADE"),
)

teams = Table(
    "teams",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("key"),
    text_column("name"),
    timestamp_column("created_at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "id"),
    key_format_check(),
)

# capacity: the most that a rater will do, counted in its unit; null: no limit. buckets: the names of the buckets
# intended for the rater; null: any. settings_version: the version that If-Match compares.
enrolments = Table(
    "enrolments",
    metadata,
    campaign_column(),
    Column("rater_id", BigInteger, primary_key=True),
    bigint_column("team_id", nullable=True),
    text_column("state"),
    Column("capacity", Integer),
    text_column("capacity_unit", nullable=False),
    Column("buckets", ARRAY(Text)),
    Column("languages", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    text_column("external_id", nullable=True),
    bigint_column("invitation_id", nullable=True),
    Column("settings_version", BigInteger, nullable=False, server_default=text("1")),
    timestamp_column("created_at", now=True),
    timestamp_column("erased_at", nullable=True),
    same_campaign_reference("rater_id", "raters"),
    same_campaign_reference("team_id", "teams"),
    same_campaign_reference("invitation_id", "invitations"),
    Index(
        "uq_enrolments_external_id",
        "campaign_id",
        "external_id",
        unique=True,
        postgresql_where=text("external_id IS NOT NULL"),
    ),
    Index("ix_enrolments_team_id", "campaign_id", "team_id"),
    CheckConstraint("state in ('active', 'paused', 'left', 'erased')", name="state_known"),
    CheckConstraint("capacity_unit in ('items', 'segments', 'words')", name="unit_known"),
    CheckConstraint("capacity >= 0", name="capacity_counts"),
)

# For crowd platforms: up to `seats` people with the secret may enrol; each is known by an external id.
# per_hour: new seats in any hour; null: no limit. signing_key: the platform signs its ids with it; null: unsigned.
invitations = Table(
    "invitations",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("public_id"),
    Column("hash", LargeBinary, nullable=False),
    text_column("platform", nullable=True),
    Column("seats", Integer, nullable=False),
    text_column("completion_url", nullable=True),
    bigint_column("team_id", nullable=True),
    text_column("actor"),
    timestamp_column("created_at", now=True),
    timestamp_column("expires_at", nullable=True),
    timestamp_column("revoked_at", nullable=True),
    Column("per_hour", Integer),
    Column("signing_key", LargeBinary),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    same_campaign_reference("team_id", "teams"),
    UniqueConstraint("public_id"),
    UniqueConstraint("campaign_id", "id"),
    CheckConstraint("octet_length(hash) = 32", name="hash_length"),
    CheckConstraint("seats >= 1", name="seats_counted"),
    CheckConstraint("per_hour >= 1", name="per_hour_counted"),
    CheckConstraint("octet_length(signing_key) = 32", name="signing_key_length"),
)

# Guidelines and consent texts, in versions; texts: Markdown by language.
guidelines = Table(
    "guidelines",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    json_column("texts"),
    text_column("actor"),
    timestamp_column("at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    CheckConstraint("kind in ('guidelines', 'consent')", name="kind_known"),
    CheckConstraint("version >= 1", name="version_from_one"),
)

consents = Table(
    "consents",
    metadata,
    campaign_column(),
    Column("rater_id", BigInteger, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    text_column("language", nullable=True),
    timestamp_column("at", now=True),
    same_campaign_reference("rater_id", "raters"),
)

# Messages from managers to raters; they are personal data, so erasing the rater deletes them.
rater_messages = Table(
    "rater_messages",
    metadata,
    identity_column(),
    campaign_column(),
    bigint_column("rater_id"),
    text_column("text"),
    text_column("actor"),
    timestamp_column("at", now=True),
    timestamp_column("read_at", nullable=True),
    same_campaign_reference("rater_id", "raters"),
    Index("ix_rater_messages_rater_id", "campaign_id", "rater_id", "id"),
)

# items: the questions, with answers and explanations. pass_mark: share of the items that must be correct.
qualifications = Table(
    "qualifications",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    json_column("items"),
    Column("pass_mark", Float(53), nullable=False),
    Column("attempts", Integer),
    text_column("actor"),
    timestamp_column("at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    CheckConstraint("version >= 1", name="version_from_one"),
    CheckConstraint("pass_mark >= 0 and pass_mark <= 1", name="pass_mark_is_share"),
    CheckConstraint("attempts >= 1", name="attempts_counted"),
)

# waived: passed without an attempt, with the reason for it.
qualification_attempts = Table(
    "qualification_attempts",
    metadata,
    campaign_column(),
    Column("rater_id", BigInteger, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    json_column("answers"),
    Column("share", Float(53)),
    Column("passed", Boolean, nullable=False),
    text_column("waived", nullable=True),
    text_column("actor"),
    timestamp_column("at", now=True),
    same_campaign_reference("rater_id", "raters"),
    ForeignKeyConstraint(["campaign_id", "version"], ["qualifications.campaign_id", "qualifications.version"]),
    CheckConstraint("n >= 1", name="counts_from_one"),
    CheckConstraint("num_nonnulls(share, waived) = 1", name="tried_or_waived"),
)
