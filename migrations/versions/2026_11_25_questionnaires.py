"""answers of raters to questionnaires"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "2026_11_25_questionnaires"
down_revision = "2026_11_25_media"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "questionnaire_answers",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("moment", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "answers",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("moment in ('before', 'after')", name=op.f("ck_questionnaire_answers_moment_known")),
        sa.CheckConstraint("n >= 1", name=op.f("ck_questionnaire_answers_counts_from_one")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_questionnaire_answers_campaign_id_rater_id_raters"),
        ),
        sa.PrimaryKeyConstraint("rater_id", "moment", "n", name=op.f("pk_questionnaire_answers")),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("questionnaire_answers")
