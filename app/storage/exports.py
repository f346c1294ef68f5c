"""Stream all data of a campaign in one fixed order: by key, never by insertion."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text

from app.domain.attention_checks import ROLE as ATTENTION
from app.stats.ratings import RatingRole
from app.storage.comments import META, SCREEN_OF_ITEM
from app.storage.credited_systems import CREDITED, ITS_CREDITS
from app.storage.db import Session
from app.storage.query_planning import execute_full_scan

Row = sa.Row[Any]
BATCH = 5000
# The metadata of an imported item say which reference was shown in place of an output.
REFERENCE = f"coalesce(i.reference, CASE WHEN i.role = {RatingRole.REFERENCE.value} THEN i.meta ->> 'reference' END)"

SYSTEMS = """SELECT key, name, kind, lab, tags FROM systems WHERE campaign_id = :campaign ORDER BY key COLLATE "C" """
DOCUMENTS = """SELECT key, name, kind, domain, position, meta FROM documents WHERE campaign_id = :campaign
ORDER BY key COLLATE "C" """
SEGMENTS = """
SELECT d.key AS document, g.position, g.source, g.meta,
       (SELECT jsonb_object_agg(r.name, r.text) FROM reference_texts r WHERE r.segment_id = g.id) AS refs
FROM segments g JOIN documents d ON d.campaign_id = :campaign AND d.id = g.document_id WHERE g.campaign_id = :campaign
ORDER BY d.key COLLATE "C", g.position"""
OUTPUTS = """
SELECT s.key AS system, d.key AS document, g.position, o.text,
       p.spans AS prefill, p.how AS prefill_origin, o.alignment,
       (SELECT jsonb_build_object('rater', substr(v.name, 4), 'text', v.text, 'origin', coalesce(v.how, '{}'))
        FROM variants v WHERE v.campaign_id = o.campaign_id AND v.output_id = o.id AND v.kind = 'back_translation'
          AND v.name LIKE 'by:%' ORDER BY v.name LIMIT 1) AS written
FROM outputs o LEFT JOIN variants p ON p.campaign_id = o.campaign_id AND p.output_id = o.id AND p.kind = 'prefill'
     AND p.name = 'default'
JOIN systems s ON s.campaign_id = :campaign AND s.id = o.system_id
JOIN segments g ON g.campaign_id = :campaign AND g.id = o.segment_id
JOIN documents d ON d.campaign_id = :campaign AND d.id = g.document_id WHERE o.campaign_id = :campaign
ORDER BY s.key COLLATE "C", d.key COLLATE "C", g.position"""
RATERS = """
SELECT r.key, r.name, p.key AS person, r.attributes, (
    SELECT jsonb_object_agg(m.moment, m.revisions) FROM (
        SELECT q.moment, jsonb_agg(jsonb_build_object('answers', q.answers, 'at',
               to_char(q.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) ORDER BY q.n) AS revisions
        FROM questionnaire_answers q WHERE q.campaign_id = :campaign AND q.rater_id = r.id GROUP BY q.moment
    ) m) AS answered
FROM raters r LEFT JOIN people p ON p.id = r.person_id
WHERE r.campaign_id = :campaign ORDER BY r.key COLLATE "C" """
# A degraded copy has its own text, which is in no output. Attention checks judge no system, so no file contains them.
JUDGMENTS = f"""
SELECT t.key AS task, i.key AS item, i.position AS item_position, i.role, i.accepted, d.key AS document, g.position,
       r.key AS rater, j.revision, j.payload, j.started_at, j.submitted_at, j.external_id,
       {META} AS meta,
       t.meta AS task_meta, i.meta AS item_meta, i.reference, z.text AS shown, n.text AS comment,
       w.text AS screen_comment,
       k.systems, x.score, j.surplus OR i.surplus_from IS NOT NULL AS surplus
FROM judgments j LEFT JOIN scores x ON x.profile_id = :profile AND x.judgment_id = j.id
JOIN items i ON i.campaign_id = :campaign AND i.id = j.item_id
JOIN tasks t ON t.campaign_id = :campaign AND t.id = i.task_id
JOIN documents d ON d.campaign_id = :campaign AND d.id = i.document_id
JOIN raters r ON r.campaign_id = :campaign AND r.id = j.rater_id
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.id = j.segment_id
LEFT JOIN comments n ON n.campaign_id = :campaign AND n.rater_id = j.rater_id AND n.task_id = t.id
     AND n.item_id = j.item_id AND n.segment_id IS NOT DISTINCT FROM j.segment_id
LEFT JOIN comments w ON w.campaign_id = :campaign AND w.rater_id = j.rater_id AND w.task_id = t.id
     AND w.screen = {SCREEN_OF_ITEM}
LEFT JOIN {CREDITED} k ON k.item_id = i.id
LEFT JOIN (SELECT DISTINCT ON (x.id) x.id, v.text FROM judgments x
     JOIN items y ON y.campaign_id = :campaign AND y.id = x.item_id AND y.variant IS NOT NULL
     JOIN credits c ON c.campaign_id = :campaign AND c.item_id = y.id
     JOIN outputs o ON o.campaign_id = :campaign AND o.system_id = c.system_id AND o.segment_id = x.segment_id
     JOIN variants v ON v.campaign_id = :campaign AND v.output_id = o.id AND v.name = y.variant AND v.kind <> 'prefill'
     WHERE x.campaign_id = :campaign ORDER BY x.id, o.id) z ON z.id = j.id
WHERE j.campaign_id = :campaign AND j.version <= :version AND i.role <> {ATTENTION}
ORDER BY t.key COLLATE "C", i.position, g.position NULLS LAST, r.key COLLATE "C", j.revision"""
# An answer that was voided and then given again is not void in a file, because there a void covers all revisions.
_ANEW = """EXISTS (
    SELECT FROM judgments y WHERE y.campaign_id = :campaign AND y.item_id = j.item_id AND y.rater_id = j.rater_id
      AND y.segment_id IS NOT DISTINCT FROM j.segment_id AND y.revision > j.revision AND y.version <= :version
      AND NOT EXISTS (SELECT FROM voids w WHERE w.campaign_id = :campaign AND w.judgment_id = y.id
                      AND w.version <= :version))"""
VOIDS = f"""
SELECT DISTINCT ON (t.key COLLATE "C", i.position, g.position, r.key COLLATE "C")
       t.key AS task, i.key AS item, g.position, r.key AS rater, v.reason, v.actor
FROM voids v JOIN judgments j ON j.campaign_id = :campaign AND j.id = v.judgment_id
JOIN items i ON i.campaign_id = :campaign AND i.id = j.item_id
JOIN tasks t ON t.campaign_id = :campaign AND t.id = i.task_id
JOIN raters r ON r.campaign_id = :campaign AND r.id = j.rater_id
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.id = j.segment_id
WHERE v.campaign_id = :campaign AND v.version <= :version AND i.role <> {ATTENTION} AND NOT {_ANEW}
ORDER BY t.key COLLATE "C", i.position, g.position, r.key COLLATE "C", j.revision"""

# The latest answer of each rater about each screen. It omits surplus answers, those of raters who lost their task to
# another rater (a task in a file has one rater), and screens with a control item, which would be read as plain ratings.
# Columns name their screen; other imported items do not, and their positions are no screen numbers.
_UNREADABLE = """EXISTS (
    SELECT FROM items i WHERE i.campaign_id = :campaign AND i.task_id = q.task_id
      AND i.screen = q.screen AND (i.role <> 0 OR i.surplus_from IS NOT NULL))"""
_LATEST = f"""(
    SELECT DISTINCT ON (q.task_id, q.screen, q.rater_id) q.* FROM screen_judgments q
    JOIN tasks h ON h.campaign_id = :campaign AND h.id = q.task_id AND coalesce(h.rater_id = q.rater_id, true)
    WHERE q.campaign_id = :campaign AND q.version <= :version AND NOT q.surplus AND NOT {_UNREADABLE}
    ORDER BY q.task_id, q.screen, q.rater_id, q.revision DESC)"""
COMPARISONS = f"""
SELECT t.key AS task, q.screen, r.key AS rater, w.document, w.items, w.columns, q.payload -> 'preference' AS preference,
       w.position
FROM {_LATEST} q JOIN tasks t ON t.campaign_id = :campaign AND t.id = q.task_id
JOIN raters r ON r.campaign_id = :campaign AND r.id = q.rater_id
CROSS JOIN LATERAL (
    SELECT min(d.key) AS document, array_agg(i.key ORDER BY coalesce(i.column_, 1), i.position) AS items,
           CASE WHEN bool_and(i.first_segment = i.last_segment) THEN min(i.first_segment) END AS position,
           jsonb_agg((SELECT coalesce(jsonb_agg(s.key ORDER BY s.key COLLATE "C"), '[]') FROM credits c
                      JOIN systems s ON s.id = c.system_id WHERE c.campaign_id = :campaign AND c.item_id = i.id)
                     ORDER BY coalesce(i.column_, 1), i.position) AS columns
    FROM items i JOIN documents d ON d.id = i.document_id
    WHERE i.campaign_id = :campaign AND i.task_id = q.task_id AND i.screen = q.screen) w
ORDER BY t.key COLLATE "C", q.screen, r.key COLLATE "C" """

METRICS = """
SELECT m.metric, s.key AS system, m.score AS value, m.higher_is_better, d.key AS document, g.position
FROM (SELECT metric, max(version) AS version FROM metric_scores
      WHERE campaign_id = :campaign AND version <= :version GROUP BY metric) l
JOIN metric_scores m ON m.campaign_id = :campaign AND m.metric = l.metric AND m.version = l.version
JOIN systems s ON s.campaign_id = :campaign AND s.id = m.system_id
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.id = m.segment_id
LEFT JOIN documents d ON d.campaign_id = :campaign AND d.id = g.document_id
ORDER BY m.metric COLLATE "C", s.key COLLATE "C", d.key COLLATE "C" NULLS FIRST, g.position"""

# As in `storage.tasks`, a degraded copy is shown with its own text, and a reference in place of an output with the text
# of the reference. If several systems gave an output, it is the first by id. For imported tasks, only the judged parts
# are known to have been shown, and a degraded copy shows the text in its judgments; `judged` applies this rule to all
# tasks, as after an import. Segments are joined by position, not by range: a document may be as long as all others
# together.
QUEUE = "CASE WHEN NOT :judged THEN t.queue END"
SHOWN = f"""
SELECT DISTINCT ON (r.key COLLATE "C", {QUEUE}, t.key COLLATE "C", i.position, g.position)
       t.public_id AS task, t.key AS task_key, r.key AS rater, i.key AS item, i.position AS item_position, i.role,
       k.systems,
       d.key AS document, g.position, g.source,
       CASE WHEN {REFERENCE} IS NOT NULL THEN
                (SELECT f.text FROM reference_texts f WHERE f.segment_id = g.id AND f.name = {REFERENCE})
            WHEN i.variant IS NOT NULL THEN v.text
            WHEN i.role = {RatingRole.DEGRADED.value} THEN
                (SELECT j.meta ->> 'shown' FROM judgments j WHERE j.item_id = i.id AND j.segment_id = g.id
                 ORDER BY j.id LIMIT 1)
            ELSE o.text END AS text,
       i.side_order, b.key AS of, {REFERENCE} AS reference
FROM tasks t LEFT JOIN raters r ON r.id = t.rater_id
JOIN (SELECT x.*, generate_series(coalesce(x.first_segment, 1), least(x.last_segment, m.last)) AS shown
      FROM items x JOIN (SELECT document_id, max(position) AS last FROM segments WHERE campaign_id = :campaign
                         GROUP BY document_id) m ON m.document_id = x.document_id
      WHERE x.campaign_id = :campaign AND (:judged OR x.surplus_from IS NULL)) i ON i.task_id = t.id
LEFT JOIN items b ON b.campaign_id = :campaign AND b.id = i.of_item_id
JOIN documents d ON d.campaign_id = :campaign AND d.id = i.document_id
JOIN segments g ON g.campaign_id = :campaign AND g.document_id = i.document_id AND g.position = i.shown
     AND (NOT :judged AND t.state <> 'imported'
          OR EXISTS (SELECT FROM judgments j WHERE j.item_id = i.id AND j.segment_id = g.id))
LEFT JOIN {CREDITED} k ON k.item_id = i.id
LEFT JOIN credits c ON {ITS_CREDITS} AND c.item_id = i.id
LEFT JOIN outputs o ON o.campaign_id = :campaign AND o.system_id = c.system_id AND o.segment_id = g.id
LEFT JOIN variants v ON v.campaign_id = :campaign AND v.output_id = o.id AND v.name = i.variant AND v.kind <> 'prefill'
WHERE t.campaign_id = :campaign AND (:judged OR t.state <> 'withdrawn') AND i.role <> {ATTENTION}
ORDER BY r.key COLLATE "C", {QUEUE}, t.key COLLATE "C", i.position, g.position, o.id"""


def stream_export_rows(
    session: Session, query: str, campaign_id: int, version: int, *, profile: int | None = None, judged: bool = False
) -> Generator[Row, None, None]:
    """Stream one of the queries above. profile: source of the judgments' scores. judged: only judged parts."""
    keys = {"campaign": campaign_id, "version": version, "profile": profile, "judged": judged}
    yield from execute_full_scan(session, query, keys, batch=BATCH)


# Whether a row `c` belongs to a task that is an attention check; such a task has no other items.
_OF_CHECK_TASK = f"""EXISTS (SELECT FROM items i WHERE i.campaign_id = :campaign AND i.task_id = c.task_id
      AND i.role = {ATTENTION})"""
# Data that no file of judgments can contain, under the names used in reports of losses. The `plans` row ends in a
# pointer, because the plan in force has its own export.
BESIDE = f"""
SELECT 'plans: plan/items has the one in force' AS what, count(*) AS n FROM plans
WHERE campaign_id = :campaign AND data_version <= :version
UNION ALL
SELECT 'entries of the pre-registration', count(*) FROM locks WHERE campaign_id = :campaign AND version <= :version
UNION ALL
SELECT 'versions of guidelines and of consent', count(*) FROM guidelines WHERE campaign_id = :campaign
UNION ALL
SELECT 'versions of the qualification test', count(*) FROM qualifications WHERE campaign_id = :campaign
UNION ALL
SELECT 'settings of the campaign', count(*) FROM campaigns WHERE id = :campaign AND settings - 'created_by' <> '{{}}'
UNION ALL
SELECT 'recipes of its own', count(*) FROM recipes WHERE campaign_id = :campaign
UNION ALL
SELECT 'problems that raters reported', count(*) FROM flags WHERE campaign_id = :campaign
UNION ALL
SELECT 'comments on attention checks', count(*) FROM comments c WHERE c.campaign_id = :campaign AND {_OF_CHECK_TASK}
UNION ALL
SELECT 'comments on what was not judged', count(*) FROM comments c
WHERE c.campaign_id = :campaign AND NOT {_OF_CHECK_TASK} AND NOT EXISTS (
    SELECT FROM judgments j JOIN items i ON i.campaign_id = :campaign AND i.id = j.item_id
    WHERE j.campaign_id = :campaign AND j.rater_id = c.rater_id AND i.task_id = c.task_id AND j.version <= :version
      AND (c.screen = {SCREEN_OF_ITEM} OR c.item_id = j.item_id AND c.segment_id IS NOT DISTINCT FROM j.segment_id))
UNION ALL
SELECT 'answers to attention checks', (
    SELECT count(*) FROM items i JOIN judgments j ON j.item_id = i.id AND j.version <= :version
    WHERE i.campaign_id = :campaign AND i.role = {ATTENTION})
    + (SELECT count(*) FROM screen_judgments c
       WHERE c.campaign_id = :campaign AND c.version <= :version AND {_OF_CHECK_TASK})
UNION ALL
SELECT 'exclusions that stand: make them again', count(*) FROM exclusions
WHERE campaign_id = :campaign AND version <= :version AND (lifted_version IS NULL OR lifted_version > :version)
UNION ALL
SELECT 'comparisons of columns: earlier ones, surplus, and on screens with a control item',
       (SELECT count(*) FROM screen_judgments c
        WHERE c.campaign_id = :campaign AND c.version <= :version AND NOT {_OF_CHECK_TASK})
       - (SELECT count(*) FROM {_LATEST} x)
UNION ALL
SELECT 'that an answer was set aside before it was given anew', count(*)
FROM voids v JOIN judgments j ON j.campaign_id = :campaign AND j.id = v.judgment_id
WHERE v.campaign_id = :campaign AND v.version <= :version AND {_ANEW}"""


def count_unexportable_data(session: Session, campaign_id: int, version: int) -> dict[str, int]:
    """Count the data of a campaign that no format can carry, by description."""
    counts = session.execute(text(BESIDE), {"campaign": campaign_id, "version": version})
    return {row.what: row.n for row in counts if row.n}


def count_comparisons(session: Session, campaign_id: int, version: int) -> int:
    """Count the answers about columns that `COMPARISONS` returns."""
    keys = {"campaign": campaign_id, "version": version}
    return int(session.execute(text(f"SELECT count(*) FROM {_LATEST} x"), keys).scalar_one())


def count_answered_questionnaires(session: Session, campaign_id: int) -> int:
    """Count the questionnaires that raters have answered."""
    query = "SELECT count(DISTINCT (rater_id, moment)) FROM questionnaire_answers WHERE campaign_id = :campaign"
    return int(session.execute(text(query), {"campaign": campaign_id}).scalar_one())


def count_outputs_with_word_alignment(session: Session, campaign_id: int) -> int:
    """Count the outputs with a word alignment."""
    query = "SELECT count(*) FROM outputs WHERE campaign_id = :campaign AND alignment IS NOT NULL"
    return int(session.execute(text(query), {"campaign": campaign_id}).scalar_one())


def find_weight_profile_id_by_digest(session: Session, campaign_id: int, digest: str) -> int | None:
    """Return the id of the profile with that digest, if judgments were scored under it."""
    query = "SELECT id FROM profiles WHERE campaign_id = :campaign AND digest = :digest"
    stored_id = session.execute(text(query), {"campaign": campaign_id, "digest": digest}).scalar_one_or_none()
    return None if stored_id is None else int(stored_id)
