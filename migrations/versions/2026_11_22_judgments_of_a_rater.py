"""judgments of one rater and items of one document are found without reading those of the others"""

from alembic import op

revision = "2026_11_22_judgments_of_a_rater"
down_revision = "2026_11_22_access"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_judgments_rater_id": "judgments (campaign_id, rater_id, id)",
    "ix_items_document_id": "items (campaign_id, document_id)",
}


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    with op.get_context().autocommit_block():
        for name, columns in INDEXES.items():
            # One that was broken off stays behind, and nothing uses it.
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            op.execute(f"CREATE INDEX CONCURRENTLY {name} ON {columns}")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    with op.get_context().autocommit_block():
        for name in INDEXES:
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
