"""Scores of automatic metrics: complete sets, by the metric's name, each with the data version that added it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text

from app.storage.db import Session
from app.storage.optional_filters import join_optional_conditions
from app.storage.query_planning import execute_full_scan

Row = sa.Row[Any]

PUT = """
INSERT INTO metric_scores (campaign_id, metric, system_id, segment_id, score, higher_is_better, version)
SELECT :campaign, :metric, s, g, x, :higher, :version
FROM unnest(CAST(:systems AS bigint[]), CAST(:segments AS bigint[]), CAST(:scores AS float8[])) AS t (s, g, x)"""
# Objects that can still be deleted have no scores. In a draft, therefore, only objects in a task have scores.
SYSTEMS = """
SELECT s.key, s.id FROM systems s JOIN campaigns c ON c.id = s.campaign_id
WHERE s.campaign_id = :campaign AND (
    EXISTS (SELECT FROM items i JOIN credits k ON k.item_id = i.id
            WHERE i.campaign_id = :campaign AND k.system_id = s.id)
    OR c.state <> 'draft' AND EXISTS (SELECT FROM outputs o WHERE o.campaign_id = :campaign AND o.system_id = s.id))"""
SEGMENTS = """
SELECT d.key, g.position, g.id,
       i.document_id IS NOT NULL OR c.state <> 'draft' AND o.segment_id IS NOT NULL AS stands
FROM segments g JOIN documents d ON d.campaign_id = g.campaign_id AND d.id = g.document_id
JOIN campaigns c ON c.id = g.campaign_id
LEFT JOIN (SELECT DISTINCT document_id FROM items WHERE campaign_id = :campaign) i ON i.document_id = d.id
LEFT JOIN (SELECT DISTINCT segment_id FROM outputs WHERE campaign_id = :campaign) o ON o.segment_id = g.id
WHERE g.campaign_id = :campaign AND d.kind = 'test'
ORDER BY d.position NULLS LAST, d.key COLLATE "C", g.position"""
LATEST = """
SELECT m.metric, m.version, bool_and(m.higher_is_better) AS higher_is_better, count(m.segment_id) AS n_outputs,
       count(DISTINCT m.system_id) AS n_systems, count(*) - count(m.segment_id) AS n_of_systems
FROM (SELECT metric, max(version) AS version FROM metric_scores
      WHERE campaign_id = :campaign AND version <= :version GROUP BY metric) l
JOIN metric_scores m ON m.campaign_id = :campaign AND m.metric = l.metric AND m.version = l.version
GROUP BY m.metric, m.version ORDER BY m.metric COLLATE "C" """
SCORES = """
SELECT s.key AS system, d.key AS document, g.position, m.score FROM metric_scores m
JOIN systems s ON s.campaign_id = :campaign AND s.id = m.system_id
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.id = m.segment_id
LEFT JOIN documents d ON d.campaign_id = :campaign AND d.id = g.document_id
WHERE m.campaign_id = :campaign AND m.metric = :metric AND m.version = :version
ORDER BY s.key COLLATE "C", d.key COLLATE "C" NULLS FIRST, g.position"""

HAS_SCORES = """
SELECT EXISTS (
    SELECT FROM metric_scores m LEFT JOIN segments g ON g.campaign_id = :campaign AND g.id = m.segment_id
    WHERE m.campaign_id = :campaign {conditions})"""
_SCORED_BY = {"system": "m.system_id = :system", "document": "g.document_id = :document"}


def has_scores_by_any_metric(
    session: Session, campaign_id: int, *, system_id: int | None = None, document_id: int | None = None
) -> bool:
    """Tell whether any metric ever scored a system, a document, or a system's outputs on a document."""
    keys = {"campaign": campaign_id, "system": system_id, "document": document_id}
    query = HAS_SCORES.format(conditions=join_optional_conditions(_SCORED_BY, keys))
    return bool(session.execute(text(query), keys).scalar_one())


def store_metric_scores(
    session: Session,
    campaign_id: int,
    metric: str,
    rows: Sequence[tuple[int, int | None, float]],
    *,
    higher_is_better: bool,
    version: int,
) -> None:
    """Store a set of scores under a data version; rows: (system id, segment id or None for the system, score)."""
    systems, segments, scores = zip(*rows, strict=True)
    values = {"systems": list(systems), "segments": list(segments), "scores": list(scores)}
    keys = {"campaign": campaign_id, "metric": metric, "higher": higher_is_better, "version": version}
    session.execute(text(PUT), {**keys, **values})


def load_scorable_systems(session: Session, campaign_id: int) -> dict[str, int]:
    """Return the ids of the systems that can have scores, by key."""
    return {row.key: row.id for row in session.execute(text(SYSTEMS), {"campaign": campaign_id})}


def load_segments_with_scorable_flag(session: Session, campaign_id: int) -> list[Row]:
    """Return the test segments in order: document key, position, id, and whether they can have scores."""
    return list(execute_full_scan(session, SEGMENTS, {"campaign": campaign_id}))


def load_metrics_with_score_counts(session: Session, campaign_id: int, version: int) -> list[Row]:
    """Return the metrics of a campaign at a data version, by name, with counts."""
    return list(execute_full_scan(session, LATEST, {"campaign": campaign_id, "version": version}))


def load_metric_score_set(session: Session, campaign_id: int, metric: str, version: int) -> list[Row]:
    """Return one set: system key, document key and position (None for a score of the system), score."""
    keys = {"campaign": campaign_id, "metric": metric, "version": version}
    return list(execute_full_scan(session, SCORES, keys))
