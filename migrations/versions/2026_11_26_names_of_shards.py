"""the trigger that keeps texts knows a table by the beginning of its name: Citus puts a number behind it"""

from alembic import op

revision = "2026_11_26_names_of_shards"
down_revision = "2026_11_26_checks_of_a_rater"
branch_labels = None
depends_on = None

SAME_TEXT = """
CREATE OR REPLACE FUNCTION refuse_other_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF {outputs} THEN
    IF NEW.text IS DISTINCT FROM OLD.text THEN
      RAISE EXCEPTION 'an output never changes' USING ERRCODE = 'restrict_violation';
    END IF;
  ELSIF OLD.source IS NOT NULL AND NEW.source IS DISTINCT FROM OLD.source THEN
    RAISE EXCEPTION 'a source never changes' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(SAME_TEXT.format(outputs="starts_with(TG_TABLE_NAME, 'outputs')"))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(SAME_TEXT.format(outputs="TG_TABLE_NAME = 'outputs'"))
