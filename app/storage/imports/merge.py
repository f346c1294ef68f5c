"""Merge the staging tables into the real ones: one pass of set-based SQL, all or nothing.

Objects that a judgment names without a declaration are created. Rows that contradict stored or staged ones are refused
with their file and line. Every `ORDER BY` is by code point, so that the same file gives the same rows whatever the
order of its lines.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.errors import Invalid, Place
from app.storage.imports import staging

MOST_PLACES = 100


class ImportContradiction(Invalid):
    """The files contradict themselves or what is stored; nothing was stored."""

    published = "Contradiction"


@dataclass(frozen=True, slots=True)
class MergeCheckQuery:
    """A query for rows (file, line, what) that must return nothing, and the message for each row."""

    sql: str
    message: str


_KEYS = {
    "systems": """
        SELECT system AS key FROM staged_items UNION SELECT unnest(also) FROM staged_items
        UNION SELECT system FROM staged_outputs UNION SELECT key FROM staged_systems""",
    "documents": """
        SELECT document AS key FROM staged_items UNION SELECT document FROM staged_segments
        UNION SELECT key FROM staged_documents""",
    "raters": "SELECT rater AS key FROM staged_items UNION SELECT key FROM staged_raters",
}

SYSTEMS = f"""
INSERT INTO systems (campaign_id, key, name, kind, lab, tags, state)
SELECT :campaign, k.key, coalesce(s.name, k.key), coalesce(s.kind, 'mt'), s.lab, coalesce(s.tags, '{{}}'), 'active'
FROM ({_KEYS["systems"]}) k LEFT JOIN (SELECT DISTINCT ON (key) * FROM staged_systems ORDER BY key, line) s USING (key)
WHERE k.key IS NOT NULL ORDER BY k.key COLLATE "C" ON CONFLICT (campaign_id, key) DO NOTHING"""

DOCUMENTS = f"""
INSERT INTO documents (campaign_id, key, name, kind, domain, position, meta)
SELECT :campaign, k.key, coalesce(d.name, k.key), coalesce(d.kind, 'test'), d.domain, d.position,
       coalesce(d.meta, '{{}}')
FROM ({_KEYS["documents"]}) k
LEFT JOIN (SELECT DISTINCT ON (key) * FROM staged_documents ORDER BY key, line) d USING (key)
ORDER BY k.key COLLATE "C" ON CONFLICT (campaign_id, key) DO NOTHING"""

PEOPLE = """
INSERT INTO people (key) SELECT DISTINCT person FROM staged_raters WHERE person IS NOT NULL ORDER BY 1
ON CONFLICT (key) DO NOTHING"""

RATERS = f"""
INSERT INTO raters (campaign_id, key, name, person_id, attributes)
SELECT :campaign, k.key, coalesce(r.name, k.key), p.id, coalesce(r.attributes, '{{}}')
FROM ({_KEYS["raters"]}) k
LEFT JOIN (SELECT DISTINCT ON (key) * FROM staged_raters ORDER BY key, line) r USING (key)
LEFT JOIN people p ON p.key = r.person
ORDER BY k.key COLLATE "C" ON CONFLICT (campaign_id, key) DO NOTHING"""

# Omit the answers of raters who are erased, or who already have answers in this campaign.
QUESTIONNAIRE_ANSWERS = """
INSERT INTO questionnaire_answers (campaign_id, rater_id, moment, n, answers, at)
SELECT :campaign, r.id, m.key, a.n, a.value -> 'answers', CAST(a.value ->> 'at' AS timestamptz)
FROM (SELECT DISTINCT ON (key) key, answered FROM staged_raters WHERE answered IS NOT NULL ORDER BY key, line) s
JOIN raters r ON r.campaign_id = :campaign AND r.key = s.key
CROSS JOIN jsonb_each(s.answered) m
CROSS JOIN jsonb_array_elements(m.value) WITH ORDINALITY a (value, n)
WHERE NOT EXISTS (SELECT FROM enrolments e WHERE e.rater_id = r.id AND e.state = 'erased')
  AND NOT EXISTS (SELECT FROM questionnaire_answers q WHERE q.rater_id = r.id AND q.moment = m.key)"""

SEGMENTS = """
INSERT INTO segments (campaign_id, document_id, position, source, meta)
SELECT :campaign, d.id, w.position, max(w.source),
       coalesce((array_agg(w.meta) FILTER (WHERE w.meta IS NOT NULL))[1], '{}')
FROM (SELECT DISTINCT document, position, source, meta FROM staged_segments) w
JOIN documents d ON d.campaign_id = :campaign AND d.key = w.document
GROUP BY d.id, d.key, w.position ORDER BY d.key COLLATE "C", w.position
ON CONFLICT (campaign_id, document_id, position) DO UPDATE
SET source = coalesce(segments.source, excluded.source),
    meta = CASE segments.meta WHEN '{}' THEN excluded.meta ELSE segments.meta END
WHERE segments.source IS NULL AND excluded.source IS NOT NULL OR segments.meta = '{}' AND excluded.meta <> '{}'"""

REFERENCES = """
INSERT INTO reference_texts (campaign_id, segment_id, name, text)
SELECT DISTINCT :campaign, g.id, r.key, r.value
FROM staged_segments s CROSS JOIN jsonb_each_text(s.refs) r
JOIN documents d ON d.campaign_id = :campaign AND d.key = s.document
JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = s.position
ON CONFLICT (segment_id, name) DO NOTHING"""

OUTPUTS = """
INSERT INTO outputs (campaign_id, system_id, segment_id, text, sha256)
SELECT :campaign, s.id, g.id, o.text, sha256(convert_to(o.text, 'UTF8'))
FROM staged_outputs o
JOIN systems s ON s.campaign_id = :campaign AND s.key = o.system
JOIN documents d ON d.campaign_id = :campaign AND d.key = o.document
JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = o.position
ORDER BY s.id, g.id ON CONFLICT (campaign_id, system_id, segment_id) DO NOTHING"""

# Spans to be shown with an output; spans that are already stored stay.
ANY_PREFILL = "SELECT EXISTS (SELECT FROM staged_outputs WHERE prefill IS NOT NULL)"
PREFILLS = """
INSERT INTO variants (campaign_id, output_id, kind, name, spans)
SELECT :campaign, x.id, 'prefill', 'default', o.prefill
FROM staged_outputs o
JOIN systems s ON s.campaign_id = :campaign AND s.key = o.system
JOIN documents d ON d.campaign_id = :campaign AND d.key = o.document
JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = o.position
JOIN outputs x ON x.campaign_id = :campaign AND x.system_id = s.id AND x.segment_id = g.id
WHERE o.prefill IS NOT NULL ORDER BY x.id ON CONFLICT (campaign_id, output_id, kind, name) DO NOTHING"""

TASKS = """
INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, meta)
SELECT :campaign,
       't_' || encode(substring(sha256((gen_random_uuid()::text || gen_random_uuid())::bytea) FOR 16), 'hex'),
       j.task, min(r.id), 'imported', coalesce((array_agg(j.task_meta) FILTER (WHERE j.task_meta IS NOT NULL))[1], '{}')
FROM (SELECT DISTINCT task, rater, task_meta FROM staged_items) j
JOIN raters r ON r.campaign_id = :campaign AND r.key = j.rater
GROUP BY j.task ORDER BY j.task COLLATE "C" ON CONFLICT (campaign_id, key) DO NOTHING"""

# If the files give no positions, items get positions after those of the task, by key.
ITEMS = """
WITH taken AS MATERIALIZED (
    SELECT t.id, t.key, coalesce((SELECT i.position FROM items i WHERE i.campaign_id = :campaign AND i.task_id = t.id
                                  ORDER BY i.position DESC LIMIT 1), 0) AS n
    FROM tasks t WHERE t.campaign_id = :campaign AND t.key IN (SELECT task FROM staged_items))
INSERT INTO items (campaign_id, task_id, key, position, document_id, first_segment, last_segment, role, accepted, meta)
SELECT :campaign, t.id, j.item,
       coalesce(j.item_position, greatest(t.n, max(j.item_position) OVER (PARTITION BY t.id))
                + row_number() OVER (PARTITION BY t.id, j.item_position IS NULL ORDER BY j.item COLLATE "C")),
       d.id, NULL, NULL, j.role, j.accepted, coalesce(j.item_meta, '{}')
FROM (SELECT task, item, min(document) AS document, min(item_position) AS item_position, min(role) AS role,
             bool_and(accepted) AS accepted, (array_agg(item_meta) FILTER (WHERE item_meta IS NOT NULL))[1] AS item_meta
      FROM staged_items GROUP BY task, item) j
JOIN taken t ON t.key = j.task
JOIN documents d ON d.campaign_id = :campaign AND d.key = j.document
WHERE NOT EXISTS (SELECT FROM items i WHERE i.campaign_id = :campaign AND i.task_id = t.id AND i.key = j.item)
ORDER BY t.id, j.item COLLATE "C" """

# The row of each staged item. Later statements join by its number.
PLACED = """
CREATE TEMP TABLE placed ON COMMIT DROP AS
SELECT j.n, i.id AS item_id, i.document_id, t.id AS task_id, t.rater_id, i.id > :newest AS is_new
FROM staged_items j JOIN tasks t ON t.campaign_id = :campaign AND t.key = j.task
JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id AND i.key = j.item"""
_COUNT = "SELECT count(*) FROM made"
NEWEST = "SELECT coalesce(max(id), 0) FROM items WHERE campaign_id = :campaign"

# A stored item keeps its credits.
CREDITS = """
INSERT INTO credits (campaign_id, item_id, system_id)
SELECT :campaign, j.item_id, s.id
FROM (SELECT DISTINCT p.item_id, k.system FROM placed p JOIN staged_items j USING (n)
      CROSS JOIN LATERAL unnest(array_prepend(j.system, j.also)) AS k (system)
      WHERE p.is_new AND j.system IS NOT NULL) j
JOIN systems s ON s.campaign_id = :campaign AND s.key = j.system
ORDER BY j.item_id, s.id"""

# Checked before anything is created: a given position of an item must be free.
POSITIONS = MergeCheckQuery(
    """SELECT min(j.file), min(j.line), j.task || ' at ' || j.item_position
       FROM staged_items j LEFT JOIN tasks t ON t.campaign_id = :campaign AND t.key = j.task
       LEFT JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id AND i.position = j.item_position
       WHERE j.item_position IS NOT NULL GROUP BY j.task, j.item_position
       HAVING count(DISTINCT j.item) > 1 OR bool_or(i.key <> j.item)""",
    "two items of task {}",
)

DECLARATIONS = {
    "systems": SYSTEMS,
    "documents": DOCUMENTS,
    "people": PEOPLE,
    "raters": RATERS,
    "segments": SEGMENTS,
    "references": REFERENCES,
    "outputs": OUTPUTS,
    "prefills": PREFILLS,
    "tasks": TASKS,
    "items": ITEMS,
}

# Needed only if an output was not created, because created ones are as staged.
OTHER_OUTPUT = MergeCheckQuery(
    """SELECT o.file, o.line, o.system || ' on ' || o.document || ':' || o.position FROM staged_outputs o
       JOIN systems s ON s.campaign_id = :campaign AND s.key = o.system
       JOIN documents d ON d.campaign_id = :campaign AND d.key = o.document
       JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = o.position
       JOIN outputs x ON x.campaign_id = :campaign AND x.system_id = s.id AND x.segment_id = g.id
       WHERE x.text <> o.text ORDER BY o.file, o.line""",
    "the output of {} has another text elsewhere",
)

CHECKS = (
    MergeCheckQuery(
        """SELECT s.file, s.line, s.document || ':' || s.position FROM staged_segments s
           JOIN documents d ON d.campaign_id = :campaign AND d.key = s.document
           JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = s.position
           WHERE s.source IS NOT NULL AND g.source IS DISTINCT FROM s.source ORDER BY s.file, s.line""",
        "segment {} has another source text elsewhere",
    ),
    MergeCheckQuery(
        """SELECT s.file, s.line, s.document || ':' || s.position FROM staged_segments s
           JOIN documents d ON d.campaign_id = :campaign AND d.key = s.document
           JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = s.position
           WHERE g.meta <> s.meta ORDER BY s.file, s.line""",
        "segment {} has other metadata elsewhere",
    ),
    MergeCheckQuery(
        """SELECT s.file, s.line, s.document || ':' || s.position || ' (' || r.key || ')'
           FROM staged_segments s CROSS JOIN jsonb_each_text(s.refs) r
           JOIN documents d ON d.campaign_id = :campaign AND d.key = s.document
           JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = s.position
           JOIN reference_texts x ON x.segment_id = g.id AND x.name = r.key
           WHERE x.text IS DISTINCT FROM r.value ORDER BY s.file, s.line""",
        "segment {} has another reference text elsewhere",
    ),
    OTHER_OUTPUT,
    MergeCheckQuery(
        """SELECT DISTINCT ON (j.task) j.file, j.line, j.task FROM staged_items j
           JOIN placed p USING (n) JOIN tasks t ON t.campaign_id = :campaign AND t.id = p.task_id
           JOIN raters r ON r.id = t.rater_id
           WHERE r.key <> j.rater OR t.meta <> j.task_meta ORDER BY j.task, j.file, j.line""",
        "task {} has another rater or other metadata elsewhere",
    ),
    MergeCheckQuery(
        """SELECT DISTINCT ON (j.task, j.item) j.file, j.line, j.item FROM staged_items j
           JOIN placed p USING (n) JOIN items i ON i.campaign_id = :campaign AND i.id = p.item_id
                AND i.id BETWEEN (SELECT min(item_id) FROM placed) AND (SELECT max(item_id) FROM placed)
           JOIN documents d ON d.id = i.document_id
           LEFT JOIN (SELECT c.item_id, array_agg(s.key) AS systems FROM credits c JOIN systems s ON s.id = c.system_id
                 WHERE c.campaign_id = :campaign AND c.item_id IN (SELECT item_id FROM placed)
                   AND c.item_id BETWEEN (SELECT min(item_id) FROM placed) AND (SELECT max(item_id) FROM placed)
                 GROUP BY c.item_id
                ) c ON c.item_id = i.id
           WHERE d.key <> j.document OR i.role <> j.role OR i.accepted <> j.accepted OR i.meta <> j.item_meta
              OR i.position <> j.item_position
              OR coalesce(cardinality(c.systems), 0) <> (j.system IS NOT NULL)::int + coalesce(cardinality(j.also), 0)
              OR j.system <> ALL (c.systems)
           ORDER BY j.task, j.item, j.file, j.line""",
        "item {} has another document, system, role, place or metadata elsewhere",
    ),
    MergeCheckQuery(
        """SELECT d.file, d.line, d.key FROM staged_systems d
           JOIN systems s ON s.campaign_id = :campaign AND s.key = d.key
           WHERE d.name NOT IN (d.key, s.name) OR d.kind = 'human' AND NOT d.guessed AND s.kind <> 'human'
              OR s.lab IS DISTINCT FROM coalesce(d.lab, s.lab) OR cardinality(d.tags) > 0 AND s.tags <> d.tags
           ORDER BY d.file, d.line""",
        "system {} is stored already, and otherwise",
    ),
    MergeCheckQuery(
        """SELECT d.file, d.line, d.key FROM staged_documents d
           JOIN documents s ON s.campaign_id = :campaign AND s.key = d.key
           WHERE d.name NOT IN (d.key, s.name) OR d.kind <> 'test' AND s.kind <> d.kind OR s.domain IS DISTINCT FROM
                 coalesce(d.domain, s.domain) OR s.position IS DISTINCT FROM coalesce(d.position, s.position)
              OR s.meta <> d.meta ORDER BY d.file, d.line""",
        "document {} is stored already, and otherwise",
    ),
    MergeCheckQuery(
        """SELECT d.file, d.line, d.key FROM staged_raters d
           JOIN raters s ON s.campaign_id = :campaign AND s.key = d.key
           LEFT JOIN people p ON p.id = s.person_id
           WHERE d.name NOT IN (d.key, s.name) OR p.key IS DISTINCT FROM coalesce(d.person, p.key)
              OR s.attributes <> d.attributes ORDER BY d.file, d.line""",
        "rater {} is stored already, and otherwise",
    ),
)


def create_entities_from_staging(session: Session, campaign_id: int) -> dict[str, int]:
    """Create all objects that the staged rows name; return the numbers of created rows by table.

    Raises ImportContradiction, with file and line, if staged rows contradict each other or stored data.
    """
    keys = {"campaign": campaign_id}
    require_merge_checks_pass(session, campaign_id, (POSITIONS,))
    newest = session.execute(text(NEWEST), keys).scalar_one()
    prefilled = session.execute(text(ANY_PREFILL)).scalar_one()
    created = {
        noun: _run(session, statement, keys) if prefilled or statement is not PREFILLS else 0
        for noun, statement in DECLARATIONS.items()
    }
    session.execute(text(PLACED), {**keys, "newest": newest})
    staging.analyze_tables_by_small_sample(session, "placed")
    _run(session, CREDITS, keys)
    _run(session, QUESTIONNAIRE_ANSWERS, keys)
    staged = session.execute(text("SELECT count(*) FROM staged_outputs")).scalar_one()
    as_staged = created["outputs"] == staged
    require_merge_checks_pass(
        session, campaign_id, tuple(check for check in CHECKS if not (as_staged and check is OTHER_OUTPUT))
    )
    return created


def _run(session: Session, statement: str, keys: dict[str, int]) -> int:
    """Return the number of rows that a statement added or changed.

    If some rows may already exist, the returned rows are counted, because Citus reports the rows that it tried to add.
    """
    if "ON CONFLICT" in statement:
        return int(session.execute(text(f"WITH made AS ({statement} RETURNING 1) {_COUNT}"), keys).scalar_one())
    return int(getattr(session.execute(text(statement), keys), "rowcount", 0))


def require_merge_checks_pass(session: Session, campaign_id: int, checks: tuple[MergeCheckQuery, ...]) -> None:
    """Raise ImportContradiction with all rows that the checks return."""
    places = [place for check in checks for place in find_merge_check_violations(session, campaign_id, check)]
    if places:
        raise ImportContradiction(places=tuple(places[:MOST_PLACES]))


def find_merge_check_violations(session: Session, campaign_id: int, check: MergeCheckQuery) -> list[Place]:
    """Return the first violations of a check."""
    rows = session.execute(text(f"{check.sql} LIMIT {MOST_PLACES}"), {"campaign": campaign_id})
    return [Place((row[0], row[1]), check.message.format(row[2])) for row in rows]
