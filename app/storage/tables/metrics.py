"""Scores of automatic metrics, computed elsewhere: of an output, or of a system as a whole."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, Float, ForeignKeyConstraint, Index, Table

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    metadata,
    same_campaign_reference,
    text_column,
)

# segment_id: null for a score of the whole system. A score given again is a new row; the last version counts.
metric_scores = Table(
    "metric_scores",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("metric"),
    bigint_column("system_id"),
    bigint_column("segment_id", nullable=True),
    Column("score", Float(53), nullable=False),
    Column("higher_is_better", Boolean, nullable=False),
    bigint_column("version"),
    same_campaign_reference("system_id", "systems"),
    same_campaign_reference("segment_id", "segments"),
    ForeignKeyConstraint(["campaign_id", "version"], ["versions.campaign_id", "versions.n"]),
    Index(
        "uq_metric_scores_output",
        "campaign_id",
        "metric",
        "system_id",
        "segment_id",
        "version",
        unique=True,
        postgresql_nulls_not_distinct=True,
    ),
    CheckConstraint("metric <> ''", name="metric_named"),
    CheckConstraint("score > '-Infinity' and score < 'Infinity'", name="score_finite"),
)
