"""texts of a tutorial that are answered until all is right"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_tutorial_retries"
down_revision = "2026_11_25_questionnaires"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column(
        "tutorial_answers", sa.Column("settled", sa.Boolean(), server_default=sa.text("true"), nullable=False)
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("tutorial_answers", "settled")
