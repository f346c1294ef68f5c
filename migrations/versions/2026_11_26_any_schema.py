"""functions of triggers read the schema that their tables are in, whichever that is"""

from typing import cast

import psycopg
import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_any_schema"
down_revision = "2026_11_26_accounts"
branch_labels = None
depends_on = None

NAMED = """
SELECT p.oid::regprocedure::text AS signature, pg_get_functiondef(p.oid) AS definition,
       coalesce(array_to_string(p.proconfig, ','), '') LIKE '%search_path%' AS has_path
FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace AND p.prosrc LIKE '%public%' ORDER BY 1"""
# What the functions say of a schema, and what it becomes. The path that they set then says where the other names are.
WORDS = (
    ("'DELETE FROM public.%I', child", "'DELETE FROM %I.%I', TG_TABLE_SCHEMA, child"),
    ("'SELECT EXISTS (SELECT FROM public.%I)', child", "'SELECT EXISTS (SELECT FROM %I.%I)', TG_TABLE_SCHEMA, child"),
    ("SCHEMA = 'public'", "SCHEMA = TG_TABLE_SCHEMA"),
    ("public.", ""),
)


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    connection = op.get_bind()
    driver = cast("psycopg.Connection[object]", connection.connection.driver_connection)  # which reads no % or : in it
    schema = connection.execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    for function in connection.execute(sa.text(NAMED)).all():
        definition = function.definition
        for said, meant in WORDS:
            definition = definition.replace(said, meant)
        driver.execute(definition.encode())
        if function.has_path:  # temporary tables last: the function has the rights of the schema's owner
            op.execute(f"ALTER FUNCTION {function.signature} SET search_path = pg_catalog, {schema}, pg_temp")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")  # and nothing else: the functions do the same as before
