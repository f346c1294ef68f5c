"""Raters, tasks, documents and systems that analyses leave out, with the reason. They are lifted, never deleted."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, ForeignKeyConstraint, Index, Table, text

from app.storage.tables._metadata import bigint_column, metadata, same_campaign_reference, text_column, timestamp_column

exclusions = Table(
    "exclusions",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    # The data version of an exclusion is also its number, because each version has only one exclusion.
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    bigint_column("rater_id", nullable=True),
    bigint_column("task_id", nullable=True),
    bigint_column("document_id", nullable=True),
    bigint_column("system_id", nullable=True),
    # Created by withdrawing a system: it is in force in every analysis, whatever the recipe says about exclusions.
    Column("withdrawal", Boolean, nullable=False, server_default=text("false")),
    text_column("reason"),
    text_column("actor"),
    timestamp_column("at", now=True),
    bigint_column("lifted_version", nullable=True),
    text_column("lifted_reason", nullable=True),
    text_column("lifted_actor", nullable=True),
    timestamp_column("lifted_at", nullable=True),
    same_campaign_reference("rater_id", "raters"),
    same_campaign_reference("task_id", "tasks"),
    same_campaign_reference("document_id", "documents"),
    same_campaign_reference("system_id", "systems"),
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
