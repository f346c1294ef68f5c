"""data versions with their judgments, chained by hashes"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_seals"
down_revision = "2026_11_22_judgments_of_a_rater"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "seals",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("judgments", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("octet_length(content) = 32", name=op.f("ck_seals_content_length")),
        sa.CheckConstraint("octet_length(hash) = 32", name=op.f("ck_seals_hash_length")),
        sa.PrimaryKeyConstraint("campaign_id", "version", name=op.f("pk_seals")),
    )
    op.execute(
        "CREATE TRIGGER seals_append_only BEFORE UPDATE OR DELETE ON seals "
        "FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    op.execute(
        "CREATE TRIGGER seals_never_truncated BEFORE TRUNCATE ON seals "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("seals")
