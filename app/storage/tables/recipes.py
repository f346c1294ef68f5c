"""Recipes that a campaign defines. Every change is a new revision; none is ever changed or deleted."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKeyConstraint, Integer, Table, Text

from app.storage.tables._metadata import json_column, key_format_check, metadata, text_column, timestamp_column

recipes = Table(
    "recipes",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    json_column("choices"),
    text_column("actor"),
    timestamp_column("at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    key_format_check("name"),
    CheckConstraint("revision >= 1", name="revision_from_one"),
)
