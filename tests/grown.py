"""A campaign of any size, made in the database: as many judgments as are asked for, and a few of everything listed.

One rater and one system come last, so that nothing of theirs is near the beginning.
"""

from __future__ import annotations

import re

import psycopg

SYSTEMS, RATERS, SEGMENTS, RATINGS = 10, 20, 5, 3
OF_A_DOCUMENT = SYSTEMS * SEGMENTS * RATINGS
LAST = "last"
TABLE = re.compile(r"\s*INSERT INTO (\w+)")

MADE = f"""
INSERT INTO campaigns (key, name, protocol, protocol_version, options, basis, state, settings, target_language,
                       data_version)
VALUES (%(key)s, 'grown', 'da', 1, '{{}}', 'source', 'open', '{{}}', 'de', 0);
INSERT INTO versions (campaign_id, n, actor, what) SELECT id, 1, 'test', 'texts' FROM campaigns WHERE key = %(key)s;
UPDATE campaigns SET data_version = 1 WHERE key = %(key)s;
INSERT INTO profiles (campaign_id, name, digest, weights)
SELECT id, 'score', 'score', '{{}}' FROM campaigns WHERE key = %(key)s;
INSERT INTO systems (campaign_id, key, name, kind, state)
SELECT c.id, CASE WHEN n = {SYSTEMS} + 1 THEN '{LAST}' ELSE 's' || n END, 'S', 'mt', 'active'
FROM campaigns c, generate_series(1, {SYSTEMS} + 1) n WHERE c.key = %(key)s ORDER BY n;
INSERT INTO raters (campaign_id, key, name)
SELECT c.id, CASE WHEN n = {RATERS} + 1 THEN '{LAST}' ELSE 'r' || n END, 'R'
FROM campaigns c, generate_series(1, {RATERS} + 1) n WHERE c.key = %(key)s ORDER BY n;
INSERT INTO teams (campaign_id, key, name) SELECT id, 'team', 'T' FROM campaigns WHERE key = %(key)s;
INSERT INTO enrolments (campaign_id, rater_id, state, capacity_unit)
SELECT r.campaign_id, r.id, 'active', 'items' FROM raters r JOIN campaigns c ON c.id = r.campaign_id
WHERE c.key = %(key)s;
INSERT INTO documents (campaign_id, key, name, kind, position)
SELECT c.id, 'd' || n, 'D', 'test', n FROM campaigns c, generate_series(1, %(documents)s) n WHERE c.key = %(key)s
ORDER BY n;
INSERT INTO segments (campaign_id, document_id, position, source)
SELECT d.campaign_id, d.id, n, 'The dog barks ' || d.position || ' times.'
FROM documents d JOIN campaigns c ON c.id = d.campaign_id, generate_series(1, {SEGMENTS}) n WHERE c.key = %(key)s
ORDER BY d.id, n;
INSERT INTO outputs (campaign_id, system_id, segment_id, text, sha256)
SELECT g.campaign_id, s.id, g.id, 'Der Hund bellt.', sha256('Der Hund bellt.')
FROM segments g JOIN campaigns c ON c.id = g.campaign_id JOIN systems s ON s.campaign_id = c.id AND s.key = 's4'
WHERE c.key = %(key)s;
INSERT INTO plans (campaign_id, version, seed, hash, method_version, data_version, actor)
SELECT id, 1, 1, sha256(''), '1', 1, 'test' FROM campaigns WHERE key = %(key)s;
INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, plan, bucket, queue, handed_in_at)
SELECT d.campaign_id, 't_' || lpad(to_hex(d.id * {RATINGS} + n), 32, '0'), 't' || d.position || '-' || n, r.id,
       'handed_in', 1, d.position %% 7 + 1, d.position * {RATINGS} + n, now()
FROM documents d JOIN campaigns c ON c.id = d.campaign_id, generate_series(1, {RATINGS}) n, raters r
WHERE c.key = %(key)s AND r.campaign_id = c.id AND r.key = CASE WHEN d.position = %(documents)s THEN '{LAST}'
      ELSE 'r' || ((d.position + n * 5) %% {RATERS} + 1) END
ORDER BY d.id, n;
INSERT INTO items (campaign_id, task_id, key, position, document_id, role)
SELECT t.campaign_id, t.id, 'i' || n, n, d.id, 0
FROM tasks t JOIN campaigns c ON c.id = t.campaign_id JOIN documents d ON d.campaign_id = c.id
     AND d.position = (t.queue - 1) / {RATINGS}, generate_series(1, {SYSTEMS}) n
WHERE c.key = %(key)s ORDER BY t.id, n;
INSERT INTO credits (campaign_id, item_id, system_id)
SELECT i.campaign_id, i.id, s.id FROM items i JOIN campaigns c ON c.id = i.campaign_id
JOIN documents d ON d.id = i.document_id
JOIN systems s ON s.campaign_id = c.id AND s.key = CASE WHEN d.position = %(documents)s THEN '{LAST}'
     ELSE 's' || i.position END
WHERE c.key = %(key)s;
INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, submitted_at, version)
SELECT i.campaign_id, i.id, g.id, t.rater_id, 1,
       jsonb_build_object('protocol', 'da', 'score', (i.id * 7 + g.id * 13) %% 101) || CASE WHEN g.position = 1
         THEN '{{"errors": [{{"severity": "minor", "category": "accuracy/omission"}}]}}'::jsonb ELSE '{{}}' END,
       now(), 1
FROM items i JOIN campaigns c ON c.id = i.campaign_id JOIN tasks t ON t.id = i.task_id
JOIN segments g ON g.campaign_id = i.campaign_id AND g.document_id = i.document_id
WHERE c.key = %(key)s ORDER BY i.id, g.position;
INSERT INTO scores (campaign_id, profile_id, judgment_id, item_id, segment_id, rater_id, revision, n_errors, version,
                    at_us, score, surplus)
SELECT j.campaign_id, p.id, j.id, j.item_id, j.segment_id, j.rater_id, 1, -1, 1, 0,
       (j.payload ->> 'score')::float8, false
FROM judgments j JOIN campaigns c ON c.id = j.campaign_id JOIN profiles p ON p.campaign_id = c.id
WHERE c.key = %(key)s;
INSERT INTO webhooks (campaign_id, public_id, url, secret, kinds, actor, next_event)
SELECT id, 'w_' || md5(key), 'https://hooks.example.org/', '', '{{task.handed_in}}', 'test', 1 FROM campaigns
WHERE key = %(key)s;
INSERT INTO webhook_deliveries (campaign_id, webhook_id, n, kind, attempt, status, milliseconds)
SELECT t.campaign_id, w.id, t.queue, 'task.handed_in', 1, 200, 5
FROM tasks t JOIN webhooks w ON w.campaign_id = t.campaign_id JOIN campaigns c ON c.id = t.campaign_id
WHERE c.key = %(key)s ORDER BY t.id;
INSERT INTO flags (campaign_id, public_id, task_id, rater_id, reason)
SELECT t.campaign_id, 'f_' || substr(t.public_id, 3), t.id, t.rater_id, 'other'
FROM tasks t JOIN campaigns c ON c.id = t.campaign_id WHERE c.key = %(key)s ORDER BY t.id;
"""


def grow(url: str, key: str, judgments: int) -> int:
    """Make a campaign of about so many judgments, in whole documents; how many it has."""
    documents = max(2, judgments // OF_A_DOCUMENT)
    with psycopg.connect(url, autocommit=True) as db:
        for statement in MADE.split(";\n"):
            if statement.strip():
                db.execute(statement.encode(), {"key": key, "documents": documents} if "%" in statement else None)
                # Without this, the next statement joins a million rows by nested loops.
                if made := TABLE.match(statement):
                    db.execute(f"ANALYZE {made[1]}".encode())
        db.execute("ANALYZE")
    return documents * OF_A_DOCUMENT
