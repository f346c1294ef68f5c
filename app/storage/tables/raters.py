"""Who judges. A rater is an account within a campaign; several accounts can be one person."""

from __future__ import annotations

from sqlalchemy import ForeignKeyConstraint, Table, UniqueConstraint

from app.storage.tables._metadata import bigint, campaign, identity, json, key_check, label, metadata, moment

people = Table(
    "people", metadata, identity(), label("key"), moment("created_at", now=True), UniqueConstraint("key"), key_check()
)

raters = Table(
    "raters",
    metadata,
    identity(),
    campaign(),
    label("key"),
    label("name"),
    bigint("person_id", nullable=True),
    json("attributes"),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    ForeignKeyConstraint(["person_id"], ["people.id"]),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "id"),
    key_check(),
)
