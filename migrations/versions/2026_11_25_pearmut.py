"""campaigns that Pearmut's own pages serve"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "2026_11_25_pearmut"
down_revision = "2026_11_25_archive_links"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "pearmut_campaigns",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("loaded", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=True),
        sa.Column("old_ids", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_pearmut_campaigns_campaign_id_campaigns")
        ),
        sa.PrimaryKeyConstraint("campaign_id", name=op.f("pk_pearmut_campaigns")),
    )
    op.create_table(
        "pearmut_answers",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column(
            "body",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("checks", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("skipped", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("reset", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("begun", sa.Float(precision=53), nullable=True),
        sa.Column("ended", sa.Float(precision=53), nullable=True),
        sa.Column("seconds", sa.Float(precision=53), server_default=sa.text("0"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("octet_length(hash) = 32", name=op.f("ck_pearmut_answers_hash_length")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_pearmut_answers_campaign_id_rater_id_raters"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pearmut_answers")),
    )
    op.create_table(
        "pearmut_users",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("token_id", sa.BigInteger(), nullable=True),
        sa.Column("code_pass", sa.Text(), nullable=False),
        sa.Column("code_fail", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_pearmut_users_campaign_id_rater_id_raters"),
        ),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name=op.f("fk_pearmut_users_token_id_tokens")),
        sa.PrimaryKeyConstraint("rater_id", name=op.f("pk_pearmut_users")),
        sa.UniqueConstraint("campaign_id", "user_id", name=op.f("uq_pearmut_users_campaign_id_user_id")),
    )
    op.create_index(
        "uq_pearmut_answers_sent",
        "pearmut_answers",
        ["campaign_id", "rater_id", "place", "hash"],
        unique=True,
        postgresql_where=sa.text("NOT reset"),
    )
    op.create_index(
        "ix_pearmut_users_token_id",
        "pearmut_users",
        ["token_id"],
        unique=False,
        postgresql_where=sa.text("token_id IS NOT NULL"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index(
        "ix_pearmut_users_token_id", table_name="pearmut_users", postgresql_where=sa.text("token_id IS NOT NULL")
    )
    op.drop_index("uq_pearmut_answers_sent", table_name="pearmut_answers", postgresql_where=sa.text("NOT reset"))
    op.drop_table("pearmut_users")
    op.drop_table("pearmut_answers")
    op.drop_table("pearmut_campaigns")
