"""Who leases asks for the other accounts of a person: by index, however many raters a campaign has."""

from __future__ import annotations

import psycopg

from app.storage.leases import leases
from app.storage.leases.person_clashes import HAS_ANOTHER

RATERS = 10_000
MANY = f"""
INSERT INTO campaigns (key, name, protocol, protocol_version, options, basis, state, settings)
VALUES ('c', 'c', 'da', 1, '{{}}', 'none', 'open', '{{}}');
INSERT INTO people (key) SELECT 'p' || n FROM generate_series(1, {RATERS // 2}) n;
INSERT INTO raters (campaign_id, key, name, person_id)
SELECT c.id, 'r' || p.id || '-' || n, 'r', CASE WHEN p.id % 2 = 0 THEN p.id END
FROM campaigns c, people p, generate_series(1, 2) n;
ANALYZE raters; ANALYZE people;
"""
_ONE = "SELECT campaign_id, id, person_id FROM raters WHERE person_id IS NOT NULL ORDER BY id LIMIT 1"
QUESTIONS = {
    "mine": f"WITH {leases._MINE} SELECT id FROM mine",
    "others": f"WITH {leases._OTHERS} SELECT id FROM others",
    "another": "SELECT " + HAS_ANOTHER.format(campaign="%(campaign)s", task="1", rater="%(rater)s"),
}


def plan_of(db: psycopg.Connection[tuple[object, ...]], question: str, keys: dict[str, object]) -> str:
    """How a question is answered, in the words of the planner."""
    rows = db.execute(f"EXPLAIN {question}".encode(), keys).fetchall()
    return "\n".join(str(row[0]) for row in rows)


def test_other_accounts_of_a_person_are_found_without_reading_all_raters(database_url: str) -> None:
    with psycopg.connect(database_url) as db:
        db.execute(MANY.encode())
        row = db.execute(_ONE.encode()).fetchone()
        assert row is not None
        keys = dict(zip(("campaign", "rater", "person"), row, strict=True))
        for name, question in QUESTIONS.items():
            told = plan_of(db, question, keys)
            assert "ix_raters_person_id" in told, f"{name}:\n{told}"
            assert "Seq Scan on raters" not in told, f"{name}:\n{told}"
        db.execute("DROP INDEX ix_raters_person_id")  # the control
        told = plan_of(db, QUESTIONS["mine"], keys)
        assert "Seq Scan on raters" in told, told
