"""a comment on the output of a whole document names its item alone"""

from alembic import op

revision = "2026_11_26_comments_on_documents"
down_revision = "2026_11_26_names_of_shards"
branch_labels = None
depends_on = None


def _check(rule: str) -> None:
    op.execute("ALTER TABLE comments DROP CONSTRAINT ck_comments_one_place")
    op.execute(f"ALTER TABLE comments ADD CONSTRAINT ck_comments_one_place CHECK ({rule}) NOT VALID")
    op.execute("ALTER TABLE comments VALIDATE CONSTRAINT ck_comments_one_place")


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    _check("CASE WHEN screen IS NULL THEN item_id IS NOT NULL ELSE num_nonnulls(item_id, segment_id) = 0 END")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("DELETE FROM comments WHERE screen IS NULL AND segment_id IS NULL")
    _check("num_nulls(item_id, segment_id) = CASE WHEN screen IS NULL THEN 0 ELSE 2 END")
