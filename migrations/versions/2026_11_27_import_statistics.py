"""imports refresh statistics while they work, and wait for nobody else who does; plans refresh those of tasks"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_27_import_statistics"
down_revision = "2026_11_26_comments_on_documents"
branch_labels = None
depends_on = None

ALL = "documents, segments, outputs, tasks, items, credits, raters, judgments, scores"
OF_TASKS = "tasks, items, credits, groups, bucket_raters, raters, enrolments"
# Two imports at once would otherwise wait for each other's end, because the lock is held until then.
SKIP = "(SKIP_LOCKED)"
REFRESH = """
CREATE OR REPLACE FUNCTION {name}() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
  ANALYZE {tables};
END $$"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    _define("refresh_statistics", f"{SKIP} {ALL}")
    _define("refresh_task_statistics", f"{SKIP} {OF_TASKS}")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("DROP FUNCTION refresh_task_statistics")
    _define("refresh_statistics", ALL)


def _define(name: str, tables: str) -> None:
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(REFRESH.format(name=name, schema=schema, tables=tables))
