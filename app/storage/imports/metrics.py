"""Merge the scores of automatic metrics that an import staged; they replace the campaign's scores of these metrics."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.imports import staging
from app.storage.imports.merge import MergeCheckQuery, require_merge_checks_pass

SCORED = """
CREATE TEMP TABLE scored ON COMMIT DROP AS
SELECT m.file, m.line, m.metric, s.id AS system_id, g.id AS segment_id, m.value AS score, m.higher_is_better,
       s.id IS NOT NULL AND (m.document IS NULL OR g.id IS NOT NULL) AS is_here
FROM staged_scores m
LEFT JOIN systems s ON s.campaign_id = :campaign AND s.key = m.system
LEFT JOIN documents d ON d.campaign_id = :campaign AND d.key = m.document AND d.kind = 'test'
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = m.position"""
LEFT = "SELECT count(*) FROM scored WHERE NOT is_here"
CHECKS = (
    MergeCheckQuery(
        """SELECT file, line, metric FROM (
               SELECT *, row_number() OVER (PARTITION BY metric, system_id, segment_id ORDER BY file, line) AS n
               FROM scored WHERE is_here) x
           WHERE n > 1 ORDER BY file, line""",
        "{} scores this a second time",
    ),
    MergeCheckQuery(
        """SELECT file, line, metric FROM (
               SELECT *, first_value(higher_is_better) OVER (PARTITION BY metric ORDER BY file, line) AS said
               FROM scored) x
           WHERE higher_is_better <> said ORDER BY file, line""",
        "whether higher is better by {} is said otherwise elsewhere",
    ),
)
CHANGED = """
WITH given AS (SELECT metric, system_id, segment_id, score, higher_is_better FROM scored WHERE is_here),
held AS (
    SELECT m.metric, m.system_id, m.segment_id, m.score, m.higher_is_better
    FROM (SELECT metric, max(version) AS version FROM metric_scores
          WHERE campaign_id = :campaign AND metric IN (SELECT metric FROM given) GROUP BY metric) l
    JOIN metric_scores m ON m.campaign_id = :campaign AND m.metric = l.metric AND m.version = l.version)
SELECT DISTINCT metric FROM ((TABLE given EXCEPT TABLE held) UNION ALL (TABLE held EXCEPT TABLE given)) other
ORDER BY metric"""
STORE = """
INSERT INTO metric_scores (campaign_id, metric, system_id, segment_id, score, higher_is_better, version)
SELECT :campaign, metric, system_id, segment_id, score, higher_is_better, :version
FROM scored WHERE is_here AND metric = ANY(:metrics)
ORDER BY metric COLLATE "C", system_id, segment_id"""


def find_metrics_with_changed_scores(session: Session, campaign_id: int) -> tuple[Sequence[str], int]:
    """Return the metrics whose staged set differs from the stored one, and the number of scores for unknown objects.

    Raises ImportContradiction, with file and line, if the files contradict themselves.
    """
    keys = {"campaign": campaign_id}
    session.execute(text(SCORED), keys)
    staging.analyze_tables_by_small_sample(session, "scored")
    require_merge_checks_pass(session, campaign_id, CHECKS)
    left = int(session.execute(text(LEFT)).scalar_one())
    return list(session.execute(text(CHANGED), keys).scalars()), left


def store_staged_metric_scores(session: Session, campaign_id: int, metrics: Sequence[str], *, version: int) -> int:
    """Store the sets of these metrics, after `find_metrics_with_changed_scores`; return the number of scores."""
    keys = {"campaign": campaign_id, "metrics": list(metrics), "version": version}
    return int(getattr(session.execute(text(STORE), keys), "rowcount", 0))
