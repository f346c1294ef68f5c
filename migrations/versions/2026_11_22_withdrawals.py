"""a withdrawn system is left out by an exclusion of its own"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_withdrawals"
down_revision = "2026_11_21_answers"
branch_labels = None
depends_on = None

# Each takes the latest data version of its campaign that is no exclusion's yet; the method version rises with this
# release, so no stored report stands that ranks the system at that version. A calibration set that was taken in is a
# withdrawn system, too: its ratings are no ranking's, and stay as they are.
WITHDRAWN_BEFORE = """
INSERT INTO exclusions (campaign_id, version, system_id, reason, actor, withdrawal)
SELECT w.campaign_id, v.n, w.id, 'withdrawn from the campaign', 'migration', true
FROM (SELECT s.campaign_id, s.id, row_number() OVER (PARTITION BY s.campaign_id ORDER BY s.id) AS place
      FROM systems s WHERE s.state = 'withdrawn'
      AND NOT EXISTS (SELECT FROM documents d
          WHERE d.campaign_id = s.campaign_id AND d.kind = 'calibration' AND starts_with(d.origin, s.key || '@'))
      AND NOT EXISTS (SELECT FROM exclusions e
          WHERE e.campaign_id = s.campaign_id AND e.system_id = s.id AND e.lifted_version IS NULL)) w
JOIN (SELECT f.campaign_id, f.n, row_number() OVER (PARTITION BY f.campaign_id ORDER BY f.n DESC) AS place
      FROM versions f WHERE NOT EXISTS (SELECT FROM exclusions e
          WHERE e.campaign_id = f.campaign_id AND e.version = f.n)) v
  ON v.campaign_id = w.campaign_id AND v.place = w.place"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("exclusions", sa.Column("withdrawal", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.execute(
        "ALTER TABLE exclusions ADD CONSTRAINT ck_exclusions_withdrawal_of_a_system"
        " CHECK (NOT withdrawal OR system_id IS NOT NULL) NOT VALID"
    )
    op.execute("ALTER TABLE exclusions VALIDATE CONSTRAINT ck_exclusions_withdrawal_of_a_system")
    op.execute(WITHDRAWN_BEFORE)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("exclusions", "withdrawal")
