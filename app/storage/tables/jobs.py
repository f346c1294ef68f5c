"""Work in the background: what was asked, and what its chunks came to. The queue itself has a schema of its own."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
)

from app.storage.tables._metadata import (
    campaign_column,
    identity_column,
    json_column,
    metadata,
    text_column,
    timestamp_column,
)

# key: of the report that it makes, so that one question is one job. n_chunks: null until the data have been read.
# n_done: of them, those with a result. attempts: how often it was begun.
# error: why it failed, as a problem. workers: how many chunks each computed, once it is done.
jobs = Table(
    "jobs",
    metadata,
    identity_column(),
    text_column("public_id"),
    campaign_column(),
    text_column("kind"),
    text_column("key"),
    json_column("request"),
    text_column("state"),
    Column("n_chunks", Integer),
    Column("n_done", Integer, nullable=False, server_default="0"),
    json_column("error", nullable=True),
    json_column("workers"),
    Column("attempts", Integer, nullable=False, server_default="1"),
    timestamp_column("created_at", now=True),
    timestamp_column("started_at", nullable=True),
    timestamp_column("finished_at", nullable=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("public_id"),
    UniqueConstraint("key"),
    Index("ix_jobs_of_campaign", "campaign_id", "id"),
    Index("ix_jobs_unfinished", "id", postgresql_where="finished_at IS NULL"),
    CheckConstraint(
        "state IN ('queued', 'running', 'finishing', 'done', 'failed', 'cancelled')", name="state_is_known"
    ),
    CheckConstraint("n_chunks >= 0", name="chunks_counted"),
    CheckConstraint("n_done between 0 and coalesce(n_chunks, 0)", name="done_counted"),
    CheckConstraint("(state = 'failed') = (error IS NOT NULL)", name="failure_has_reason"),
    CheckConstraint("(state IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL)", name="end_has_time"),
)

# Stored once; whoever computes a chunk again has the same bytes. Gone when the report is stored.
chunk_results = Table(
    "chunk_results",
    metadata,
    Column("job_id", BigInteger, primary_key=True, autoincrement=False),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
    text_column("worker"),
    ForeignKeyConstraint(["job_id"], ["jobs.id"], ondelete="CASCADE"),
    CheckConstraint("n >= 0", name="counts_from_zero"),
)
