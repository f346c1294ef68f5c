"""people who sign in at an identity provider, and when a token was last used"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_accounts"
down_revision = "2026_11_26_who_sees_to_a_flag"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("tokens", sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "accounts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["token_id"], ["tokens.id"], name=op.f("fk_accounts_token_id_tokens"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_accounts_issuer_subject")),
    )
    op.create_index(op.f("ix_accounts_token_id"), "accounts", ["token_id"])
    op.create_table(
        "account_sessions",
        sa.Column("session_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("sid", sa.Text(), nullable=True),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_account_sessions_session_id_sessions"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_account_sessions_account_id_accounts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_account_sessions")),
    )
    op.create_index(op.f("ix_account_sessions_account_id"), "account_sessions", ["account_id", "sid"])
    op.create_table(
        "logout_tokens",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_logout_tokens")),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("logout_tokens")
    op.drop_table("account_sessions")
    op.drop_table("accounts")
    op.drop_column("tokens", "last_used_at")
