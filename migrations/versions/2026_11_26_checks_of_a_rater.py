"""attention checks of one rater are found without reading other tasks"""

from alembic import op

revision = "2026_11_26_checks_of_a_rater"
down_revision = "2026_11_26_attention_checks"
branch_labels = None
depends_on = None

NAME = "ix_tasks_checks_of_rater"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    with op.get_context().autocommit_block():
        # One that was broken off stays behind, and nothing uses it.
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}")
        op.execute(
            f"CREATE INDEX CONCURRENTLY {NAME} ON tasks (campaign_id, rater_id) "
            "WHERE plan IS NULL AND state = 'handed_in'"
        )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    with op.get_context().autocommit_block():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}")
