"""Merge staged answers about screens: put the items on their screens, and add the answers."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage import seals
from app.storage.imports.merge import MergeCheckQuery, require_merge_checks_pass

_SHOWN = """
    SELECT DISTINCT t.id AS task_id, t.state, u.item, c.screen, u.n::smallint AS n, c.position, c.file, c.line
    FROM staged_comparisons c CROSS JOIN jsonb_array_elements_text(c.items) WITH ORDINALITY AS u (item, n)
    JOIN tasks t ON t.campaign_id = :campaign AND t.key = c.task"""
_ANSWERS = """
    SELECT DISTINCT t.id AS task_id, t.key AS task, c.screen, r.id AS rater_id, c.payload,
           (SELECT s.payload FROM screen_judgments s WHERE s.campaign_id = :campaign AND s.task_id = t.id
            AND s.screen = c.screen AND s.rater_id = r.id ORDER BY s.revision DESC LIMIT 1) AS latest,
           (SELECT coalesce(max(s.revision), 0) FROM screen_judgments s WHERE s.campaign_id = :campaign
            AND s.task_id = t.id AND s.screen = c.screen AND s.rater_id = r.id) AS had
    FROM staged_comparisons c JOIN tasks t ON t.campaign_id = :campaign AND t.key = c.task
    JOIN raters r ON r.campaign_id = :campaign AND r.key = c.rater"""

CHECKS = (
    MergeCheckQuery(
        f"""SELECT min(x.file), min(x.line), x.item FROM ({_SHOWN}) x
            JOIN items i ON i.campaign_id = :campaign AND i.task_id = x.task_id AND i.key = x.item
            WHERE x.state = 'imported' GROUP BY x.task_id, x.item, i.screen, i.column_
            HAVING count(DISTINCT (x.screen, x.n)) > 1
                OR i.screen IS NOT NULL AND bool_or((i.screen, i.column_) IS DISTINCT FROM (x.screen, x.n))
            ORDER BY 1, 2""",
        "item {} stands on another screen or in another column elsewhere",
    ),
    MergeCheckQuery(
        """SELECT min(file), min(line), task || ':' || screen FROM staged_comparisons
           GROUP BY task, screen, rater HAVING count(DISTINCT payload) > 1 OR count(DISTINCT items) > 1
           ORDER BY 1, 2""",
        "screen {} is answered in two ways",
    ),
)
_PLACE = f"""
UPDATE items i SET screen = x.screen, column_ = x.n, first_segment = coalesce(x.position, i.first_segment),
       last_segment = coalesce(x.position, i.last_segment)
FROM ({_SHOWN}) x
WHERE i.campaign_id = :campaign AND i.task_id = x.task_id AND i.key = x.item AND x.state = 'imported'
  AND i.screen IS NULL"""
_NEW = f"SELECT count(*) FROM ({_ANSWERS}) a WHERE a.payload IS DISTINCT FROM a.latest"
_ADD = f"""
INSERT INTO screen_judgments (campaign_id, task_id, screen, rater_id, revision, payload, surplus, version)
SELECT :campaign, a.task_id, a.screen, a.rater_id, a.had + 1, a.payload, false, :version
FROM ({_ANSWERS}) a WHERE a.payload IS DISTINCT FROM a.latest
ORDER BY a.task COLLATE "C", a.screen"""
_ANY = "SELECT EXISTS (SELECT FROM staged_comparisons)"


def count_new_comparisons(session: Session, campaign_id: int) -> int:
    """Count the staged answers that differ from the stored ones. Raises ImportContradiction, with file and line."""
    if not session.execute(text(_ANY)).scalar_one():
        return 0
    require_merge_checks_pass(session, campaign_id, CHECKS)
    return int(session.execute(text(_NEW), {"campaign": campaign_id}).scalar_one())


def store_staged_comparisons(session: Session, campaign_id: int, *, version: int) -> None:
    """Put items on their screens and add all new answers, under a version that is sealed at the end."""
    keys = {"campaign": campaign_id}
    session.execute(text(_PLACE), keys)
    seals.collect_hashes_in_temporary_table(session)
    session.execute(text(seals.hash_collecting_insert_sql(seals.COMPARISON, _ADD)), {**keys, "version": version})
