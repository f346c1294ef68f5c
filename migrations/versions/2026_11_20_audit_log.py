"""the audit log, chained by campaign"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_20_audit_log"
down_revision = "2026_11_20_recipes_locks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "audit_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=True),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("n >= 1", name=op.f("ck_audit_log_counts_from_one")),
        sa.CheckConstraint("octet_length(hash) = 32", name=op.f("ck_audit_log_hash_length")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_audit_log_campaign_id_campaigns")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_index(
        "uq_audit_log_campaign_id_n",
        "audit_log",
        ["campaign_id", "n"],
        unique=True,
        postgresql_nulls_not_distinct=True,
    )
    op.execute(
        "CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log "
        "FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    op.execute(
        "CREATE TRIGGER audit_log_never_truncated BEFORE TRUNCATE ON audit_log "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index("uq_audit_log_campaign_id_n", table_name="audit_log", postgresql_nulls_not_distinct=True)
    op.drop_table("audit_log")
