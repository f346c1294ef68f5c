"""answers of raters in the tutorial"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "2026_11_20_tutorials"
down_revision = "2026_11_20_reporting"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "tutorial_answers",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "payload",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("right", sa.Boolean(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("position >= 1", name=op.f("ck_tutorial_answers_position_from_one")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_tutorial_answers_campaign_id_rater_id_raters"),
        ),
        sa.PrimaryKeyConstraint("rater_id", "document", "position", name=op.f("pk_tutorial_answers")),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("tutorial_answers")
