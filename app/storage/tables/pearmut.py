"""Campaigns served by Pearmut's own pages: the loaded campaign, its users, and what their pages sent."""

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

# loaded: the campaign in Pearmut's form after loading, without tokens, as JSON text, because the order of its models is
# the order of columns; it never changes. token_hash: of its former token, if that still opens its dashboard. old_ids:
# whether the names of its users are credentials.
pearmut_campaigns = Table(
    "pearmut_campaigns",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    text_column("loaded"),
    Column("token_hash", LargeBinary),
    Column("old_ids", Boolean, nullable=False, server_default=text("false")),
    timestamp_column("created_at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
)

# user_id: the user's name in Pearmut. position: from 0. token_id: the credential under which a user acts who has only
# that name.
pearmut_users = Table(
    "pearmut_users",
    metadata,
    campaign_column(),
    Column("rater_id", BigInteger, primary_key=True),
    Column("position", Integer, nullable=False),
    text_column("user_id"),
    bigint_column("token_id", nullable=True),
    text_column("code_pass"),
    text_column("code_fail"),
    text_column("note", nullable=True),
    same_campaign_reference("rater_id", "raters"),
    ForeignKeyConstraint(["token_id"], ["tokens.id"]),
    UniqueConstraint("campaign_id", "user_id"),
    Index("ix_pearmut_users_token_id", "token_id", postgresql_where=text("token_id IS NOT NULL")),
)

# place: Pearmut's item_i. hash: of the data sent, so that repeats count once. seconds: between actions, as Pearmut
# counts them. checks: the result of each rule of the document.
pearmut_answers = Table(
    "pearmut_answers",
    metadata,
    identity_column(),
    campaign_column(),
    bigint_column("rater_id"),
    text_column("place"),
    Column("hash", LargeBinary, nullable=False),
    json_column("body"),
    json_column("checks", nullable=True),
    Column("skipped", Boolean, nullable=False, server_default=text("false")),
    Column("reset", Boolean, nullable=False, server_default=text("false")),
    Column("begun", Float(53)),
    Column("ended", Float(53)),
    Column("seconds", Float(53), nullable=False, server_default=text("0")),
    timestamp_column("at", now=True),
    same_campaign_reference("rater_id", "raters"),
    Index(
        "uq_pearmut_answers_sent",
        "campaign_id",
        "rater_id",
        "place",
        "hash",
        unique=True,
        postgresql_where=text("NOT reset"),
    ),
    CheckConstraint("octet_length(hash) = 32", name="hash_length"),
)
