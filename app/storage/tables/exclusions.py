"""Raters, tasks, documents and systems that analyses leave out, with the reason; lifted, never deleted."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, ForeignKeyConstraint, Index, Table, text

from app.storage.tables._metadata import bigint_column, in_campaign, label_column, metadata, moment_column

exclusions = Table(
    "exclusions",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    # The data version that an exclusion took is its number: there is one exclusion in a version.
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    bigint_column("rater_id", nullable=True),
    bigint_column("task_id", nullable=True),
    bigint_column("document_id", nullable=True),
    bigint_column("system_id", nullable=True),
    # Made by withdrawing a system: it stands in every analysis, whatever the recipe says of standing exclusions.
    Column("withdrawal", Boolean, nullable=False, server_default=text("false")),
    label_column("reason"),
    label_column("actor"),
    moment_column("at", now=True),
    bigint_column("lifted_version", nullable=True),
    label_column("lifted_reason", nullable=True),
    label_column("lifted_actor", nullable=True),
    moment_column("lifted_at", nullable=True),
    in_campaign("rater_id", "raters"),
    in_campaign("task_id", "tasks"),
    in_campaign("document_id", "documents"),
    in_campaign("system_id", "systems"),
    ForeignKeyConstraint(["campaign_id", "version"], ["versions.campaign_id", "versions.n"]),
    ForeignKeyConstraint(["campaign_id", "lifted_version"], ["versions.campaign_id", "versions.n"]),
    Index(
        "uq_exclusions_standing",
        "campaign_id",
        "rater_id",
        "task_id",
        "document_id",
        "system_id",
        unique=True,
        postgresql_nulls_not_distinct=True,
        postgresql_where=text("lifted_version IS NULL"),
    ),
    CheckConstraint("num_nonnulls(rater_id, task_id, document_id, system_id) = 1", name="names_one"),
    CheckConstraint("num_nulls(lifted_version, lifted_reason, lifted_actor, lifted_at) in (0, 4)", name="lifted_whole"),
    CheckConstraint("lifted_version > version", name="lifted_later"),
    CheckConstraint("NOT withdrawal OR system_id IS NOT NULL", name="withdrawal_of_a_system"),
)
