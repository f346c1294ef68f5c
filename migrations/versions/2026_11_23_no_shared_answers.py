"""stored reports answer by themselves: no table of answers for all processes"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_23_no_shared_answers"
down_revision = "2026_11_22_alignments"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("answers")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "answers",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("sent", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("octet_length(key) = 32", name=op.f("ck_answers_key_length")),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_answers_campaign_id_campaigns"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_answers")),
        prefixes=["UNLOGGED"],
    )
    op.create_index("ix_answers_campaign_id", "answers", ["campaign_id"], unique=False)
    # Read far more often than written, and in a hurry.
    op.execute("ALTER TABLE answers ALTER COLUMN sent SET STORAGE EXTERNAL")
