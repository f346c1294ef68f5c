"""messages to raters"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_rater_messages"
down_revision = "2026_11_25_tutorial_retries"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "rater_messages",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_rater_messages_campaign_id_rater_id_raters"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rater_messages")),
    )
    op.create_index(op.f("ix_rater_messages_rater_id"), "rater_messages", ["campaign_id", "rater_id", "id"])


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("rater_messages")
