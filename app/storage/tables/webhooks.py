"""Webhooks, the outbox of their events, and the result of each delivery."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    json_column,
    metadata,
    same_campaign_reference,
    text_column,
    timestamp_column,
)

# secret: signs what is sent, so it cannot be a hash. next_event: the first event that was not delivered.
# claimed_until: a worker is sending until then. stopped_at, stopped_because: it failed for too long, or was stopped by
# the receiver.
webhooks = Table(
    "webhooks",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("public_id"),
    text_column("url"),
    text_column("secret"),
    Column("kinds", ARRAY(Text), nullable=False),
    text_column("actor"),
    timestamp_column("created_at", now=True),
    bigint_column("next_event"),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    timestamp_column("failing_since", nullable=True),
    timestamp_column("next_at", now=True),
    timestamp_column("claimed_until", nullable=True),
    timestamp_column("stopped_at", nullable=True),
    text_column("stopped_because", nullable=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    UniqueConstraint("public_id"),
    UniqueConstraint("campaign_id", "id"),
    CheckConstraint("cardinality(kinds) > 0", name="kinds_named"),
)

# The number of a campaign's last event. The row is locked until the transaction of the event ends, so that events
# become visible in the order of their numbers.
webhook_streams = Table(
    "webhook_streams",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("last", BigInteger, nullable=False, server_default=text("0")),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
)

# webhook_id: the only receiver, for a test. rater_id: the rater concerned; the key is read when the event is sent.
webhook_events = Table(
    "webhook_events",
    metadata,
    Column("campaign_id", BigInteger, primary_key=True),
    Column("n", BigInteger, primary_key=True, autoincrement=False),
    text_column("kind"),
    json_column("data"),
    bigint_column("rater_id", nullable=True),
    bigint_column("webhook_id", nullable=True),
    timestamp_column("at", now=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    same_campaign_reference("rater_id", "raters"),
    same_campaign_reference("webhook_id", "webhooks", ondelete="CASCADE"),
)

# status: of the response. error: why there was no response.
webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    identity_column(),
    campaign_column(),
    bigint_column("webhook_id"),
    bigint_column("n"),
    text_column("kind"),
    Column("attempt", Integer, nullable=False),
    Column("status", SmallInteger),
    text_column("error", nullable=True),
    Column("milliseconds", Integer, nullable=False),
    timestamp_column("at", now=True),
    same_campaign_reference("webhook_id", "webhooks", ondelete="CASCADE"),
    Index("ix_webhook_deliveries_webhook", "campaign_id", "webhook_id", "id"),
)
