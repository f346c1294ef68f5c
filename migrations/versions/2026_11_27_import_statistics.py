"""imports refresh statistics while they work, and wait for nobody else who does; plans refresh them, too"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_27_import_statistics"
down_revision = "2026_11_26_comments_on_documents"
branch_labels = None
depends_on = None

TABLES = "documents, segments, outputs, tasks, items, credits, raters, judgments, scores"
# Two imports at once would otherwise wait for each other's end, because the lock is held until then.
REFRESH = """
CREATE OR REPLACE FUNCTION refresh_statistics() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
  ANALYZE {tables};
END $$"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    _replace("(SKIP_LOCKED) " + TABLES + ", enrolments, groups, bucket_raters")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    _replace(TABLES)


def _replace(tables: str) -> None:
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(REFRESH.format(schema=schema, tables=tables))
