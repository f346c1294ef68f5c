"""Answers made of stored reports, as every process may give them again. A cache: a crash of the server may empty it."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, ForeignKeyConstraint, Index, LargeBinary, Table

from app.storage.tables._metadata import campaign, label, metadata, moment

# key: of the request (`app.services.remembered.key_of`), the digest of all that it says, the secret among it.
# sent: the body after a line that holds the rest. whole: whether there is a body.
answers = Table(
    "answers",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    campaign(),
    label("mark"),
    Column("whole", Boolean, nullable=False),
    Column("sent", LargeBinary, nullable=False),
    moment("created_at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], ondelete="CASCADE"),
    Index("ix_answers_campaign_id", "campaign_id"),
    CheckConstraint("octet_length(key) = 32", name="key_length"),
    prefixes=["UNLOGGED"],
)
