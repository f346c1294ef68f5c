"""Tasks and what they show: their items, the systems credited with an item, and who held a task when.

Statement-level triggers ensure that items and credits refer to rows of their own campaign (decision 9).
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    UniqueConstraint,
    text,
)

from app.storage.tables._metadata import (
    bigint_column,
    campaign_column,
    identity_column,
    json_column,
    key_format_check,
    metadata,
    same_campaign_reference,
    text_column,
    timestamp_column,
)

# rater_id: the rater of the task; null while any rater of its bucket may take it. chain: tasks of one plan that must go
# to the same rater, because a group extends over them. queue: the order in which tasks are given out. leased_until is
# by the database clock. lease: how often the task was leased; it only increases, so that a late write can be detected.
# pooled: the rater got the task from the bucket, and it goes back there if the lease expires before a hand-in. A task
# without a plan was imported, or is an attention check, as its `meta` says.
tasks = Table(
    "tasks",
    metadata,
    identity_column(),
    campaign_column(),
    text_column("public_id"),
    text_column("key"),
    bigint_column("rater_id", nullable=True),
    text_column("state"),
    json_column("meta"),
    Column("plan", Integer),
    Column("arm", Integer),
    Column("bucket", Integer),
    Column("chain", Integer),
    Column("queue", Integer),
    Column("words", Integer),
    Column("segments", Integer),
    text_column("presentation", nullable=True),
    Column("lease", Integer, nullable=False, server_default=text("0")),
    Column("pooled", Boolean, nullable=False, server_default=text("false")),
    timestamp_column("leased_until", nullable=True),
    timestamp_column("handed_in_at", nullable=True),
    text_column("completion_code", nullable=True),
    ForeignKeyConstraint(["campaign_id"], ["campaigns.id"]),
    ForeignKeyConstraint(["campaign_id", "plan"], ["plans.campaign_id", "plans.version"]),
    same_campaign_reference("rater_id", "raters"),
    UniqueConstraint("public_id"),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "id"),
    # A rater can hold one task at a time, and a search for free tasks does not read the others.
    Index("uq_tasks_held", "campaign_id", "rater_id", unique=True, postgresql_where=text("state = 'leased'")),
    Index("ix_tasks_free_of_rater", "campaign_id", "rater_id", "queue", postgresql_where=text("state = 'free'")),
    Index(
        "ix_tasks_free_of_bucket",
        "campaign_id",
        "bucket",
        "queue",
        postgresql_where=text("state = 'free' AND rater_id IS NULL"),
    ),
    Index("ix_tasks_of_rater", "campaign_id", "rater_id", "plan", postgresql_where=text("plan IS NOT NULL")),
    Index(
        "ix_tasks_checks_of_rater",
        "campaign_id",
        "rater_id",
        postgresql_where=text("plan IS NULL AND state = 'handed_in'"),
    ),
    Index("ix_tasks_chain", "campaign_id", "plan", "chain", postgresql_where=text("chain IS NOT NULL")),
    Index("ix_tasks_leased_until", "campaign_id", "leased_until", postgresql_where=text("state = 'leased'")),
    key_format_check(),
    CheckConstraint("state in ('free', 'leased', 'handed_in', 'imported', 'withdrawn')", name="state_known"),
    CheckConstraint("state <> 'leased' or rater_id is not null and leased_until is not null", name="lease_whole"),
    CheckConstraint(
        "state <> 'handed_in' or rater_id is not null and handed_in_at is not null", name="handed_in_whole"
    ),
    CheckConstraint("presentation in ('document', 'segment', 'side_by_side')", name="presentation_known"),
)

# screen, column_: the position on a screen with several items. group_id: of the plan. of_item_id: the item that a
# repeat or a degraded copy repeats. variant: whose texts are shown instead of the outputs; prefill: whose spans are
# shown with them; reference: the name of the reference shown in place of the output. side_order: 1 if the source is
# shown second, for protocols that hide which is which. surplus_from: the data version since which no ranking counts it.
items = Table(
    "items",
    metadata,
    identity_column(),
    campaign_column(),
    bigint_column("task_id"),
    text_column("key"),
    Column("position", Integer, nullable=False),
    bigint_column("document_id"),
    Column("first_segment", Integer),
    Column("last_segment", Integer),
    Column("role", SmallInteger, nullable=False),
    Column("accepted", Boolean, nullable=False, server_default=text("true")),
    json_column("meta"),
    Column("screen", Integer),
    Column("column_", SmallInteger),
    bigint_column("group_id", nullable=True),
    bigint_column("of_item_id", nullable=True),
    text_column("variant", nullable=True),
    text_column("prefill", nullable=True),
    text_column("reference", nullable=True),
    Column("side_order", SmallInteger),
    Column("propensity", Float(53)),
    bigint_column("surplus_from", nullable=True),
    same_campaign_reference("group_id", "groups"),
    same_campaign_reference("of_item_id", "items"),
    ForeignKeyConstraint(["campaign_id", "surplus_from"], ["versions.campaign_id", "versions.n"]),
    UniqueConstraint("campaign_id", "task_id", "key"),
    UniqueConstraint("campaign_id", "task_id", "position"),
    UniqueConstraint("campaign_id", "id"),
    Index("ix_items_document_id", "campaign_id", "document_id"),
    Index("ix_items_group_id", "campaign_id", "group_id", postgresql_where=text("group_id IS NOT NULL")),
    # Without it, every item that a replan deletes would be searched for in all others.
    Index("ix_items_of_item_id", "campaign_id", "of_item_id", postgresql_where=text("of_item_id IS NOT NULL")),
    key_format_check(),
    CheckConstraint("position >= 1", name="position_from_one"),
    CheckConstraint("role between 0 and 5", name="role_known"),
    CheckConstraint("side_order in (0, 1)", name="side_order_known"),
    CheckConstraint("propensity > 0 and propensity <= 1", name="propensity_is_probability"),
)

item_credits = Table(
    "credits",
    metadata,
    campaign_column(),
    Column("item_id", BigInteger, primary_key=True),
    Column("system_id", BigInteger, primary_key=True),
)

# Former holders of a task may still write to it; how their lease ended decides whether this counts.
leases = Table(
    "leases",
    metadata,
    campaign_column(),
    bigint_column("task_id"),
    Column("n", Integer, nullable=False),
    bigint_column("rater_id"),
    timestamp_column("leased_at", now=True),
    timestamp_column("ended_at", nullable=True),
    text_column("ended_how", nullable=True),
    same_campaign_reference("task_id", "tasks"),
    same_campaign_reference("rater_id", "raters"),
    PrimaryKeyConstraint("campaign_id", "task_id", "n"),
    Index("ix_leases_rater_id", "campaign_id", "rater_id"),
    CheckConstraint("n >= 1", name="counts_from_one"),
    CheckConstraint("ended_how in ('handed_in', 'released', 'expired', 'reassigned', 'withdrawn')", name="end_known"),
)
