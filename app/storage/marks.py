"""The mark of a campaign and a credential: two marks are the same only where nothing changed that a report rests on.

One statement in one snapshot, so that a credential that was revoked has no mark from that moment on. A row's `xmin` is
the transaction that wrote it, so a row that was changed and changed back has another one than before.
"""

from __future__ import annotations

import psycopg

from app.storage.recorder_judgments import Connection

# What counts up: versions, settings and the state with the campaign's row, and what has a record in its audit log. A
# named recipe and a lock have one as well, but a ranking rests on them, so they are looked at themselves.
_RESTS = """t.id, t.xmin, c.id, c.xmin,
       coalesce((SELECT a.n FROM audit_log a WHERE a.campaign_id = c.id ORDER BY a.n DESC LIMIT 1), 0),
       (SELECT count(*) FROM recipes r WHERE r.campaign_id = c.id),
       (SELECT count(*) FROM locks l WHERE l.campaign_id = c.id)"""
# Names of systems and domains of documents have no version; who changes one writes its row anew. Each row by its hash,
# in any order: to put thousands of them into one text took longer than all the rest.
_NAMES = """,
       (SELECT concat(count(*), ':', bit_xor(hashint8extended(s.id, s.xmin::text::bigint)))
        FROM systems s WHERE s.campaign_id = c.id),
       (SELECT concat(count(*), ':', bit_xor(hashint8extended(d.id, d.xmin::text::bigint)))
        FROM documents d WHERE d.campaign_id = c.id AND d.domain IS NOT NULL)"""
_MARK = """SELECT concat_ws(' ', {rests}) FROM tokens t CROSS JOIN campaigns c
WHERE t.prefix = $1 AND c.key = $2
  AND t.revoked_at IS NULL AND coalesce(t.expires_at > statement_timestamp(), true)"""
MARK = _MARK.format(rests=_RESTS).encode()
MARK_WITH_NAMES = _MARK.format(rests=_RESTS + _NAMES).encode()


async def mark(connection: Connection, *, prefix: str, campaign: str, names: bool) -> str | None:
    """The mark of a campaign for a credential; None where either is not there, or the credential has ended.

    names: whether names of systems and domains of documents count as well.
    """
    cursor = psycopg.AsyncRawCursor(connection)
    await cursor.execute(MARK_WITH_NAMES if names else MARK, (prefix, campaign), prepare=True)
    row = await cursor.fetchone()
    return None if row is None else str(row[0])
