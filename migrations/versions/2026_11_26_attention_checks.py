"""attention checks: a kind of documents and a role of items of their own"""

from alembic import op

revision = "2026_11_26_attention_checks"
down_revision = "2026_11_26_any_schema"
branch_labels = None
depends_on = None


def _check(table: str, name: str, rule: str) -> None:
    """Replace a check constraint."""
    op.execute(f"ALTER TABLE {table} DROP CONSTRAINT ck_{table}_{name}")
    op.execute(f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_{name} CHECK ({rule}) NOT VALID")
    op.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT ck_{table}_{name}")


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    _check("documents", "kind_known", "kind in ('test', 'calibration', 'tutorial', 'attention')")
    _check("items", "role_known", "role between 0 and 5")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    _check("items", "role_known", "role between 0 and 4")
    _check("documents", "kind_known", "kind in ('test', 'calibration', 'tutorial')")
