"""Background work: the requests, and the results of their chunks. The queue itself has a separate schema."""

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

# key: of the resulting report, so that equal requests share a job. n_chunks: null until the data are read.
# n_done: number of chunks with a result. attempts: how often it was begun.
# error: why it failed, as a problem document. workers: how many chunks each worker computed, once it is done.
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

# Stored once; a chunk that is computed again gives the same bytes. Deleted when the report is stored.
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
