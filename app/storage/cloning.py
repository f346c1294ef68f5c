"""Copy the set-up of a campaign, and find its outputs that another campaign has unchanged."""

from __future__ import annotations

from app.storage.db import Session
from app.storage.query_planning import execute_full_scan

_SEGMENTS = """
FROM segments g JOIN documents o ON o.campaign_id = :source AND o.id = g.document_id
JOIN documents d ON d.campaign_id = :target AND d.key = o.key"""
_SEGMENT_PAIRS = f"""{_SEGMENTS}
JOIN segments n ON n.campaign_id = :target AND n.document_id = d.id AND n.position = g.position"""
DOCUMENTS = """
INSERT INTO documents (campaign_id, key, name, kind, domain, origin, position, meta)
SELECT :target, key, name, kind, domain, origin, position, meta FROM documents WHERE campaign_id = :source
ORDER BY key COLLATE "C" """
SEGMENTS = f"""
INSERT INTO segments (campaign_id, document_id, position, source, meta)
SELECT :target, d.id, g.position, g.source, g.meta {_SEGMENTS} WHERE g.campaign_id = :source
ORDER BY d.id, g.position"""
REFERENCES = f"""
INSERT INTO reference_texts (campaign_id, segment_id, name, text)
SELECT :target, n.id, r.name, r.text {_SEGMENT_PAIRS}
JOIN reference_texts r ON r.campaign_id = :source AND r.segment_id = g.id WHERE g.campaign_id = :source"""
SYSTEMS = """
INSERT INTO systems (campaign_id, key, name, kind, lab, tags, state)
SELECT :target, key, name, kind, lab, tags, state FROM systems WHERE campaign_id = :source ORDER BY key COLLATE "C" """
OUTPUTS = f"""
INSERT INTO outputs (campaign_id, system_id, segment_id, text, sha256, alignment)
SELECT :target, m.id, n.id, x.text, x.sha256, x.alignment {_SEGMENT_PAIRS}
JOIN outputs x ON x.campaign_id = :source AND x.segment_id = g.id
JOIN systems s ON s.campaign_id = :source AND s.id = x.system_id
JOIN systems m ON m.campaign_id = :target AND m.key = s.key
WHERE g.campaign_id = :source ORDER BY m.id, n.id"""
PREFILLS = f"""
INSERT INTO variants (campaign_id, output_id, kind, name, text, spans, how)
SELECT :target, y.id, v.kind, v.name, v.text, v.spans, v.how {_SEGMENT_PAIRS}
JOIN outputs x ON x.campaign_id = :source AND x.segment_id = g.id
JOIN systems s ON s.campaign_id = :source AND s.id = x.system_id
JOIN systems m ON m.campaign_id = :target AND m.key = s.key
JOIN outputs y ON y.campaign_id = :target AND y.system_id = m.id AND y.segment_id = n.id
JOIN variants v ON v.campaign_id = :source AND v.output_id = x.id AND v.kind = 'prefill'
WHERE g.campaign_id = :source"""
# Copy the sets of scores that count: the last one of each metric, under the clone's first version.
METRICS = """
INSERT INTO metric_scores (campaign_id, metric, system_id, segment_id, score, higher_is_better, version)
SELECT :target, x.metric, m.id, n.id, x.score, x.higher_is_better, c.data_version
FROM (SELECT metric, max(version) AS version FROM metric_scores WHERE campaign_id = :source GROUP BY metric) l
JOIN metric_scores x ON x.campaign_id = :source AND x.metric = l.metric AND x.version = l.version
JOIN campaigns c ON c.id = :target
JOIN systems s ON s.campaign_id = :source AND s.id = x.system_id
JOIN systems m ON m.campaign_id = :target AND m.key = s.key
LEFT JOIN segments g ON g.campaign_id = :source AND g.id = x.segment_id
LEFT JOIN documents d ON d.campaign_id = :source AND d.id = g.document_id
LEFT JOIN documents e ON e.campaign_id = :target AND e.key = d.key
LEFT JOIN segments n ON n.campaign_id = :target AND n.document_id = e.id AND n.position = g.position
ORDER BY x.metric COLLATE "C", m.id, n.id"""
GUIDELINES = """
INSERT INTO guidelines (campaign_id, kind, version, texts, actor)
SELECT DISTINCT ON (kind) :target, kind, 1, texts, :actor FROM guidelines WHERE campaign_id = :source
ORDER BY kind, version DESC"""
QUALIFICATIONS = """
INSERT INTO qualifications (campaign_id, version, items, pass_mark, attempts, actor)
SELECT :target, 1, items, pass_mark, attempts, :actor FROM qualifications WHERE campaign_id = :source
ORDER BY version DESC LIMIT 1"""
RECIPES = """
INSERT INTO recipes (campaign_id, name, revision, choices, actor)
SELECT DISTINCT ON (name) :target, name, 1, choices, :actor FROM recipes WHERE campaign_id = :source
ORDER BY name, revision DESC"""
TEXTS = (DOCUMENTS, SEGMENTS, REFERENCES)
SYSTEM_TEXTS = (SYSTEMS, OUTPUTS, PREFILLS, METRICS)
RULES = (GUIDELINES, QUALIFICATIONS, RECIPES)

UNCHANGED = """
SELECT s.key, d.key, g.position FROM outputs x
JOIN systems s ON s.campaign_id = :source AND s.id = x.system_id
JOIN segments g ON g.campaign_id = :source AND g.id = x.segment_id
JOIN documents d ON d.campaign_id = :source AND d.id = g.document_id
JOIN documents e ON e.campaign_id = :target AND e.key = d.key
JOIN segments n ON n.campaign_id = :target AND n.document_id = e.id AND n.position = g.position
JOIN systems m ON m.campaign_id = :target AND m.key = s.key
JOIN outputs y ON y.campaign_id = :target AND y.system_id = m.id AND y.segment_id = n.id
WHERE x.campaign_id = :source AND y.sha256 = x.sha256 AND n.source IS NOT DISTINCT FROM g.source"""
LENGTHS = """
SELECT d.key, count(g.id) FROM documents d JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id
WHERE d.campaign_id = :campaign GROUP BY d.key"""


def copy_campaign_rows(session: Session, statements: tuple[str, ...], *, source: int, target: int, actor: str) -> int:
    """Copy rows from one campaign into another that has no such rows; return the most rows added to a table at once."""
    keys = {"source": source, "target": target, "actor": actor}
    return max(int(getattr(execute_full_scan(session, statement, keys), "rowcount", 0)) for statement in statements)


def load_unchanged_output_keys(session: Session, *, source: int, target: int) -> set[tuple[str, str, int]]:
    """Return the (system, document, position) of outputs that are identical in both campaigns, on identical sources."""
    rows = execute_full_scan(session, UNCHANGED, {"source": source, "target": target})
    return {(row[0], row[1], row[2]) for row in rows}


def count_document_segments(session: Session, campaign_id: int) -> dict[str, int]:
    """Return the number of segments of each document, by key."""
    rows = execute_full_scan(session, LENGTHS, {"campaign": campaign_id})
    return {row[0]: row[1] for row in rows}
