"""Stored reports: a pure function of (data version, recipe, seed, method version)."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKeyConstraint, LargeBinary, Table, UniqueConstraint

from app.storage.tables._metadata import bigint, campaign, identity, label, metadata, moment

reports = Table(
    "reports",
    metadata,
    identity(),
    campaign(),
    label("kind"),
    bigint("data_version"),
    label("recipe_hash"),
    bigint("seed"),
    label("method_version"),
    Column("body", LargeBinary, nullable=False),
    moment("created_at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("campaign_id", "kind", "data_version", "recipe_hash", "seed", "method_version"),
)
