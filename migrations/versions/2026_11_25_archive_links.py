"""addresses of public archives"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_archive_links"
down_revision = "2026_11_23_no_shared_answers"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "archive_links",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_archive_links_campaign_id_campaigns")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_archive_links")),
        sa.UniqueConstraint("address", name=op.f("uq_archive_links_address")),
    )
    op.create_index(
        "ix_archive_links_open",
        "archive_links",
        ["campaign_id"],
        unique=True,
        postgresql_where=sa.text("revoked_at IS NULL"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("archive_links")
