"""word alignments of outputs with their sources"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_alignments"
down_revision = "2026_11_22_seals"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("outputs", sa.Column("alignment", sa.Text(), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("outputs", "alignment")
