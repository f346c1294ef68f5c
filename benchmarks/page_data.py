"""The largest campaign that pages must cope with, written to the database for `benchmarks.page_loads`."""

from __future__ import annotations

from typing import Final

import psycopg

KEY: Final = "large"
SYSTEMS: Final = 60
RATERS: Final = 2000
DOCUMENTS: Final = 20
SEGMENTS: Final = 20
"""Per document: 400 in all."""
RATINGS: Final = 4
"""Per output: 96,000 judgments in all."""

_STATEMENTS: Final = f"""
INSERT INTO campaigns (key, name, protocol, protocol_version, options, basis, state, settings, source_language,
                       target_language, data_version)
VALUES ('{KEY}', 'A large campaign', 'da', 1, '{{}}', 'source', 'open', '{{}}', 'en', 'de', 0);
INSERT INTO versions (campaign_id, n, actor, what) SELECT id, 1, 'bench', 'texts' FROM campaigns;
UPDATE campaigns SET data_version = 1;
INSERT INTO profiles (campaign_id, name, digest, weights) SELECT id, 'score', 'score', '{{}}' FROM campaigns;
INSERT INTO systems (campaign_id, key, name, kind, state)
SELECT c.id, 'system-' || n, 'System ' || n, 'mt', 'active' FROM campaigns c, generate_series(1, {SYSTEMS}) n;
INSERT INTO raters (campaign_id, key, name)
SELECT c.id, 'rater-' || n, 'Rater ' || n FROM campaigns c, generate_series(1, {RATERS}) n;
INSERT INTO enrolments (campaign_id, rater_id, state, capacity_unit)
SELECT campaign_id, id, 'active', 'items' FROM raters;
INSERT INTO documents (campaign_id, key, name, kind, position)
SELECT c.id, 'news-' || n, 'News ' || n, 'test', n FROM campaigns c, generate_series(1, {DOCUMENTS}) n;
INSERT INTO segments (campaign_id, document_id, position, source)
SELECT d.campaign_id, d.id, n, 'The river rose for the ' || n || 'th day, and the people of the lower town left.'
FROM documents d, generate_series(1, {SEGMENTS}) n ORDER BY d.id, n;
INSERT INTO outputs (campaign_id, system_id, segment_id, text, sha256)
SELECT g.campaign_id, s.id, g.id, 'Der Fluss stieg am ' || g.position || '. Tag.', sha256('x')
FROM segments g, systems s;
INSERT INTO plans (campaign_id, version, seed, hash, method_version, data_version, actor)
SELECT id, 1, 1, sha256(''), '1', 1, 'bench' FROM campaigns;
INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, plan, bucket, queue, handed_in_at)
SELECT d.campaign_id, 't_' || lpad(to_hex(d.position * 1000 + n), 32, '0'), 't' || d.position || '-' || n, r.id,
       'handed_in', 1, 1, d.position * 1000 + n, now()
FROM documents d, generate_series(1, %ratings%) n, raters r
WHERE r.key = 'rater-' || ((d.position * 4 + n) * 23 %% {RATERS} + 1);
INSERT INTO items (campaign_id, task_id, key, position, document_id, role)
SELECT t.campaign_id, t.id, 'i' || n, n, d.id, 0
FROM tasks t JOIN documents d ON d.position = t.queue / 1000, generate_series(1, {SYSTEMS}) n;
INSERT INTO credits (campaign_id, item_id, system_id)
SELECT i.campaign_id, i.id, s.id FROM items i JOIN systems s ON s.key = 'system-' || i.position;
INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, submitted_at, version)
SELECT i.campaign_id, i.id, g.id, t.rater_id, 1, jsonb_build_object('protocol', 'da', 'score',
       20 + i.position %% 40 + (i.id * 7 + g.id * 13) %% 41), now() - g.position * interval '1 minute', 1
FROM items i JOIN tasks t ON t.id = i.task_id JOIN segments g ON g.document_id = i.document_id;
INSERT INTO scores (campaign_id, profile_id, judgment_id, item_id, segment_id, rater_id, revision, n_errors, version,
                    at_us, score, surplus)
SELECT j.campaign_id, p.id, j.id, j.item_id, j.segment_id, j.rater_id, 1, -1, 1, 0,
       (j.payload ->> 'score')::float8, false
FROM judgments j, profiles p;
INSERT INTO flags (campaign_id, public_id, task_id, rater_id, reason, note)
SELECT t.campaign_id, 'f_' || lpad(to_hex(t.id * 10 + n), 32, '0'), t.id, t.rater_id, 'bad_source', 'breaks off ' || n
FROM tasks t, generate_series(1, 5) n
"""


def fill(url: str, ratings: int = RATINGS) -> None:
    """Create the campaign in an empty database of any version since tables were given their present names.

    ratings: per output.
    """
    with psycopg.connect(url, autocommit=True) as db:
        for statement in _STATEMENTS.split(";\n"):
            db.execute(statement.replace("%ratings%", str(ratings)).replace("%%", "%").encode())
        db.execute("ANALYZE")
