"""Stored reports: each is a pure function of (data version, recipe, seed, method version)."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKeyConstraint, LargeBinary, Table, UniqueConstraint

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    metadata,
    text_column,
    timestamp_column,
)

reports = Table(
    "reports",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("kind"),
    bigint_column("data_version"),
    text_column("recipe_hash"),
    bigint_column("seed"),
    text_column("method_version"),
    Column("body", LargeBinary, nullable=False),
    timestamp_column("created_at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "kind", "data_version", "recipe_hash", "seed", "method_version"),
)
