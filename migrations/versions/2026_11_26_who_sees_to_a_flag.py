"""who sees to a flag"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_who_sees_to_a_flag"
down_revision = "2026_11_26_comments"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("flags", sa.Column("assignee", sa.Text(), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("flags", "assignee")
