"""media of campaigns: sources and outputs that are heard or seen"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_media"
down_revision = "2026_11_25_webhooks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("activity", sa.Column("media", sa.Text(), nullable=True))
    op.add_column("activity", sa.Column("media_ms", sa.BigInteger(), nullable=True))
    op.create_table(
        "media_files",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("given", sa.LargeBinary(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("width", sa.Integer(), nullable=True),
        sa.Column("height", sa.Integer(), nullable=True),
        sa.Column("captions", sa.Text(), nullable=True),
        sa.Column("transcript", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "name ~ '^[A-Za-z0-9._~:@+-]+$' AND char_length(name) <= 128 AND name NOT IN ('.', '..')",
            name=op.f("ck_media_files_name_is_key"),
        ),
        sa.CheckConstraint("octet_length(sha256) = 32", name=op.f("ck_media_files_sha256_length")),
        sa.CheckConstraint("size >= 0", name=op.f("ck_media_files_size_counts")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_media_files_campaign_id_campaigns")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_media_files")),
        sa.UniqueConstraint("campaign_id", "name", name=op.f("uq_media_files_campaign_id_name")),
        sa.UniqueConstraint("public_id", name=op.f("uq_media_files_public_id")),
    )
    op.create_table(
        "media_uploads",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "name ~ '^[A-Za-z0-9._~:@+-]+$' AND char_length(name) <= 128 AND name NOT IN ('.', '..')",
            name=op.f("ck_media_uploads_name_is_key"),
        ),
        sa.CheckConstraint("size >= 1", name=op.f("ck_media_uploads_size_counts")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_media_uploads_campaign_id_campaigns")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_media_uploads")),
        sa.UniqueConstraint("public_id", name=op.f("uq_media_uploads_public_id")),
    )
    op.create_table(
        "signing_keys",
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("octet_length(key) = 32", name=op.f("ck_signing_keys_key_length")),
        sa.PrimaryKeyConstraint("purpose", name=op.f("pk_signing_keys")),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("signing_keys")
    op.drop_table("media_uploads")
    op.drop_table("media_files")
    op.drop_column("activity", "media_ms")
    op.drop_column("activity", "media")
