"""links that open once; invitations with a rate and with signed ids"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_access"
down_revision = "2026_11_22_withdrawals"
branch_labels = None
depends_on = None

CHECKS = {
    "ck_invitations_per_hour_counted": "per_hour >= 1",
    "ck_invitations_signing_key_length": "octet_length(signing_key) = 32",
}


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("tokens", sa.Column("once", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("tokens", sa.Column("opened_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("invitations", sa.Column("per_hour", sa.Integer(), nullable=True))
    op.add_column("invitations", sa.Column("signing_key", sa.LargeBinary(), nullable=True))
    for name, check in CHECKS.items():
        op.execute(f"ALTER TABLE invitations ADD CONSTRAINT {name} CHECK ({check}) NOT VALID")
        op.execute(f"ALTER TABLE invitations VALIDATE CONSTRAINT {name}")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    for name in CHECKS:
        op.drop_constraint(name, "invitations")
    op.drop_column("invitations", "signing_key")
    op.drop_column("invitations", "per_hour")
    op.drop_column("tokens", "opened_at")
    op.drop_column("tokens", "once")
