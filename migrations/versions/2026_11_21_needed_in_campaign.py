"""what still names a deleted segment, document, system or rater is looked for in its own campaign"""

from alembic import op

revision = "2026_11_21_needed_in_campaign"
down_revision = "2026_11_20_tutorials"
branch_labels = None
depends_on = None

# What names a parent that is deleted (decision 9): parent → (child, column).
NEEDED_BY = {
    "segments": (("outputs", "segment_id"), ("judgments", "segment_id")),
    "documents": (("items", "document_id"),),
    "systems": (("outputs", "system_id"), ("credits", "system_id")),
    "raters": (("judgments", "rater_id"),),
}
# Those that were read for all campaigns: their indexes begin with the campaign, but say nothing of the column. Outputs
# of a segment are found by an index; credits have none that begins with a campaign.
WHOLE = (("items", "document_id"), ("outputs", "system_id"), ("judgments", "segment_id"), ("judgments", "rater_id"))

FUNCTION = """
CREATE OR REPLACE FUNCTION {parent}_needed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
{declared}BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE feature_not_supported USING MESSAGE = 'rows of {parent} are deleted under read committed only';
  END IF;{children}
  RETURN NULL;
END $$"""
REFUSED = """ THEN
    RAISE foreign_key_violation USING CONSTRAINT = '{name}', TABLE = '{child}', SCHEMA = 'public',
        MESSAGE = 'a row of {parent} is still named by a row of {child}';
  END IF;"""
BY_ROW = """
  IF EXISTS (SELECT FROM gone g JOIN public.{child} c ON c.campaign_id = g.campaign_id AND c.{column} = g.id)"""
# A campaign that is told as a value is found by the index that begins with it. Planned anew each time, as a plan for
# one row would stay with the connection. Without nested loops, as statistics may not know the campaign yet: its rows,
# taken for one, would each be compared with all that are deleted.
DECLARED = "DECLARE campaign bigint; named boolean; loops text := current_setting('enable_nestloop');\n"
BY_CAMPAIGN = """
  PERFORM set_config('enable_nestloop', 'off', true);
  FOR campaign IN SELECT DISTINCT campaign_id FROM gone LOOP
    EXECUTE 'SELECT EXISTS (SELECT FROM gone g JOIN public.{child} c ON c.{column} = g.id
        WHERE g.campaign_id = $1 AND c.campaign_id = $1)' INTO named USING campaign;
    EXIT WHEN named;
  END LOOP;
  PERFORM set_config('enable_nestloop', loops, true);
  IF named"""


def _replace(parent: str, *, whole: tuple[tuple[str, str], ...]) -> None:
    """Write the function of a parent; whole: the children that are looked for by campaign."""
    children = []
    for child, column in NEEDED_BY[parent]:
        by_campaign = (child, column) in whole
        name = f"fk_{child}_campaign_id_{column}_{parent}"
        part = (BY_CAMPAIGN if by_campaign else BY_ROW) + REFUSED
        children.append(part.format(parent=parent, child=child, column=column, name=name))
    declared = DECLARED if whole else ""
    op.execute(FUNCTION.format(parent=parent, declared=declared, children="".join(children)))


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    for parent in NEEDED_BY:
        _replace(parent, whole=WHOLE)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    for parent in NEEDED_BY:
        _replace(parent, whole=())
