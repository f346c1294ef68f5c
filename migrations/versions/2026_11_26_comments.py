"""comments of raters on outputs and screens"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_comments"
down_revision = "2026_11_25_rater_messages"
branch_labels = None
depends_on = None


def _same_campaign(column: str, table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["campaign_id", column],
        [f"{table}.campaign_id", f"{table}.id"],
        name=op.f(f"fk_comments_campaign_id_{column}_{table}"),
    )


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "comments",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=True),
        sa.Column("segment_id", sa.BigInteger(), nullable=True),
        sa.Column("screen", sa.Integer(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        _same_campaign("rater_id", "raters"),
        _same_campaign("task_id", "tasks"),
        _same_campaign("item_id", "items"),
        _same_campaign("segment_id", "segments"),
        sa.CheckConstraint(
            "num_nulls(item_id, segment_id) = CASE WHEN screen IS NULL THEN 0 ELSE 2 END",
            name=op.f("ck_comments_one_place"),
        ),
        sa.CheckConstraint("revision >= 1", name=op.f("ck_comments_revision_from_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comments")),
    )
    op.create_index(
        "uq_comments_address",
        "comments",
        ["campaign_id", "rater_id", "task_id", "item_id", "segment_id", "screen"],
        unique=True,
        postgresql_nulls_not_distinct=True,
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("comments")
