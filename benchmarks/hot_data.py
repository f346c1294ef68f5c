"""Synthetic campaigns for the hot routes, written to the database with a few statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import psycopg

from app.services.access import sessions, tokens
from app.storage.db import Database

ITEMS: Final = 20
SEGMENTS: Final = 20
LIFETIME: Final = timedelta(hours=12)
DONE: Final = 5  # tasks that each rater who requests one has already handed in
ANALYZED: Final = (
    "tasks",
    "items",
    "groups",
    "leases",
    "bucket_raters",
    "segments",
    "outputs",
    "credits",
    "enrolments",
)


@dataclass(frozen=True, slots=True)
class PageSession:
    """What raters' pages send: the cookie of a session, and the proof that the page is ours."""

    secret: str
    csrf: str

    @property
    def lines(self) -> str:
        """Both as headers, with the other headers that browsers send with each request."""
        return (
            f"Cookie: rater={self.secret}\r\nX-CSRF-Token: {self.csrf}\r\nOrigin: http://localhost\r\n"
            "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n"
            "Accept: application/json\r\nAccept-Language: en\r\nAccept-Encoding: gzip, deflate, br\r\n"
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
        )


_CAMPAIGN = """
WITH c AS (
    INSERT INTO campaigns (key, name, protocol, protocol_version, basis, state, target_language, data_version)
    VALUES (%(key)s, %(key)s, %(protocol)s, 1, 'source', 'open', 'de', 1) RETURNING id),
v AS (INSERT INTO versions (campaign_id, n, actor, what) SELECT id, 1, 'benchmark', 'texts' FROM c),
s AS (INSERT INTO systems (campaign_id, key, name, kind, state) SELECT id, 'A', 'A', 'mt', 'active' FROM c),
w AS (INSERT INTO profiles (campaign_id, name, digest) SELECT id, 'score', 'score' FROM c WHERE %(protocol)s = 'da'),
p AS (INSERT INTO plans (campaign_id, version, seed, hash, method_version, data_version, actor)
      SELECT id, 1, 1, sha256(''), '1', 1, 'benchmark' FROM c),
r AS (INSERT INTO raters (campaign_id, key, name)
      SELECT c.id, 'r' || n, 'r' || n FROM c, generate_series(0, %(raters)s - 1) n RETURNING campaign_id, id),
e AS (INSERT INTO enrolments (campaign_id, rater_id, state, capacity_unit)
      SELECT campaign_id, id, 'active', 'items' FROM r),
b AS (INSERT INTO bucket_raters (campaign_id, plan, bucket, rater_id) SELECT campaign_id, 1, 1, id FROM r)
SELECT id FROM c"""
_TEXTS = """
WITH d AS (INSERT INTO documents (campaign_id, key, name, kind)
           SELECT %(c)s, 'd' || n, 'd' || n, 'test' FROM generate_series(1, %(documents)s) n RETURNING id),
g AS (INSERT INTO segments (campaign_id, document_id, position, source)
      SELECT %(c)s, d.id, p, 'Source of ' || d.id || ' ' || p || ', some ten words long as sentences are, no more.'
      FROM d, generate_series(1, %(segments)s) p RETURNING id)
INSERT INTO outputs (campaign_id, system_id, segment_id, text, sha256)
SELECT %(c)s, s.id, g.id, t, sha256(t::bytea) FROM systems s, g,
     LATERAL (SELECT 'Output for ' || g.id || ', some ten words long as sentences are, no more.' AS t) x
WHERE s.campaign_id = %(c)s"""
_TASKS = """
WITH u AS (INSERT INTO groups (campaign_id, plan, bucket, unit, nth)
           SELECT %(c)s, 1, 1, n, 1 FROM generate_series(1, %(tasks)s) n RETURNING id, unit),
t AS (INSERT INTO tasks (campaign_id, public_id, key, state, plan, bucket, queue)
      SELECT %(c)s, 't_' || md5(%(c)s || ':' || n) , 't' || n, 'free', 1, 1, n FROM generate_series(1, %(tasks)s) n
      RETURNING id, queue),
i AS (INSERT INTO items (campaign_id, task_id, key, position, document_id, role, group_id)
      SELECT %(c)s, t.id, 'i' || p, p, d.id, 0, u.id FROM t JOIN u ON u.unit = t.queue
      CROSS JOIN generate_series(1, %(items)s) p
      JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM documents WHERE campaign_id = %(c)s) d
           ON d.n = (t.queue * 7 + p) %% %(documents)s
      RETURNING id)
INSERT INTO credits (campaign_id, item_id, system_id)
SELECT %(c)s, i.id, s.id FROM i, systems s WHERE s.campaign_id = %(c)s"""
_HOLD = """
WITH r AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM raters WHERE campaign_id = %(c)s),
t AS (UPDATE tasks SET state = 'leased', rater_id = r.id, lease = 1, leased_until = now() + interval '1 day'
      FROM r WHERE tasks.campaign_id = %(c)s AND tasks.queue = r.n RETURNING tasks.id, r.id AS rater)
INSERT INTO leases (campaign_id, task_id, n, rater_id) SELECT %(c)s, id, 1, rater FROM t"""
_DONE = """
WITH r AS (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM raters WHERE campaign_id = %(c)s
           ORDER BY id LIMIT %(asking)s)
UPDATE tasks SET state = 'handed_in', rater_id = r.id, handed_in_at = now() FROM r
WHERE tasks.campaign_id = %(c)s AND tasks.queue > r.n * %(done)s AND tasks.queue <= (r.n + 1) * %(done)s"""
_GIVE_BACK = """
WITH t AS (UPDATE tasks SET state = 'free', rater_id = NULL, pooled = false, lease = 0, leased_until = NULL
           WHERE campaign_id = %(c)s AND state = 'leased' RETURNING id)
DELETE FROM leases USING t WHERE leases.campaign_id = %(c)s AND leases.task_id = t.id"""


def judged(url: str, key: str, raters: int, protocol: str = "da") -> Mapping[str, str]:
    """Create a campaign in which each rater holds one large task; return the raters' secrets by task.

    The bound writes to the most recent campaign. Scores of a protocol with weights have a profile from the first answer
    on.
    """
    sizes = {"items": ITEMS, "documents": ITEMS, "segments": SEGMENTS}
    with psycopg.connect(url) as db:
        campaign = _make(db, key, raters, protocol, tasks=raters, **sizes)
        db.execute(_HOLD, {"c": campaign})
        db.commit()
        _analyze(db)
        held = db.execute(
            "SELECT r.key, t.public_id FROM tasks t JOIN raters r ON r.id = t.rater_id WHERE t.campaign_id = %s",
            (campaign,),
        ).fetchall()
    secrets = _secrets(url, key, [rater for rater, _ in held])
    with psycopg.connect(url) as db:  # the names by which the bound finds its tokens
        db.execute("DELETE FROM tokens WHERE name = 'bound'")
        db.execute(
            """INSERT INTO tokens (prefix, hash, role, campaign_id, rater_id, name)
               SELECT 'bench' || substr(key, 2), sha256(key::bytea), 'rater', campaign_id, id, 'bound' FROM raters
               WHERE campaign_id = %s""",
            (campaign,),
        )
    return {task: secrets[rater] for rater, task in held}


def waiting(url: str, key: str, *, tasks: int, raters: int, asking: int) -> Mapping[str, str]:
    """Create a campaign of free two-item tasks; return secrets of raters who will request one and did some before."""
    with psycopg.connect(url) as db:
        campaign = _make(db, key, raters, "da", tasks=tasks + asking * DONE, items=2, documents=50, segments=3)
        db.execute(_DONE, {"c": campaign, "asking": asking, "done": DONE})
        db.commit()
        _analyze(db)
    return _secrets(url, key, [f"r{n}" for n in range(asking)])


def give_back(url: str, key: str) -> None:
    """Free all leased tasks, and delete their leases."""
    with psycopg.connect(url) as db:
        row = db.execute("SELECT id FROM campaigns WHERE key = %s", (key,)).fetchone()
        assert row is not None
        db.execute(_GIVE_BACK, {"c": row[0]})


def _make(db: psycopg.Connection[Any], key: str, raters: int, protocol: str, **sizes: int) -> int:
    row = db.execute(_CAMPAIGN, {"key": key, "raters": raters, "protocol": protocol}).fetchone()
    assert row is not None
    given = {"c": row[0], **sizes}
    # The planner has no statistics about rows of the same statement: it would pair 100,000 tasks and groups one by one.
    db.execute("SET LOCAL enable_nestloop = off")
    db.execute(_TEXTS, given)
    db.execute(_TASKS, given)
    db.execute("RESET enable_nestloop")
    return int(row[0])


def _analyze(db: psycopg.Connection[Any]) -> None:
    """Do what autovacuum would do a minute later."""
    db.autocommit = True
    for table in ANALYZED:
        db.execute(f"VACUUM ANALYZE {table}".encode())
    db.autocommit = False


def signed_in(database: Database, secrets: Mapping[str, str]) -> dict[str, PageSession]:
    """Exchange raters' tokens for sessions, and return these by the tokens' keys."""
    with database.transaction() as session:
        opened = {
            key: sessions.exchange_token_for_session(session, one, lifetime=LIFETIME) for key, one in secrets.items()
        }
    return {key: PageSession(one.secret, one.csrf) for key, one in opened.items()}


def _secrets(url: str, key: str, raters: Sequence[str]) -> dict[str, str]:
    """Give each rater a token; written directly, because an earlier version of the service may have other columns."""
    made = {name: tokens.generate_token_prefix_and_secret() for name in raters}
    rows = [(prefix, tokens.hash_secret(secret), key, name) for name, (prefix, secret) in made.items()]
    with psycopg.connect(url) as db, db.cursor() as cursor:
        cursor.executemany(
            """INSERT INTO tokens (prefix, hash, role, campaign_id, rater_id, name)
               SELECT %s, %s, 'rater', c.id, r.id, '' FROM campaigns c JOIN raters r ON r.campaign_id = c.id
               WHERE c.key = %s AND r.key = %s""",
            rows,
        )
    return {name: secret for name, (_, secret) in made.items()}
