"""The mark of a campaign and a credential: two marks are the same only where nothing changed that a report rests on.

One statement in one snapshot, so that a credential that was revoked has no mark from that moment on. A row's `xmin` is
the transaction that wrote it, so a row that was changed and changed back has another one than before. The same
statement brings what another process answered under the mark (`app.storage.recorder.shared_answers`), where the one
that asks does not know it.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from app.storage.recorder.judgments import Connection

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
# The mark of a campaign ($2) for a credential ($1); no row where either is not there, or the credential has ended.
_MARKED = """SELECT c.id, concat_ws(' ', {rests}) AS mark FROM tokens t CROSS JOIN campaigns c
WHERE t.prefix = $1 AND c.key = $2
  AND t.revoked_at IS NULL AND coalesce(t.expires_at > statement_timestamp(), true)"""
MARKED = {False: _MARKED.format(rests=_RESTS), True: _MARKED.format(rests=_RESTS + _NAMES)}
"""By whether names count."""
# Computed once (OFFSET 0), and where it is the one that is known nothing else is looked at.
_ASKED = """SELECT m.mark, CASE WHEN m.mark <> $4::text THEN pg_temp.kept_answer($3::bytea, m.mark) END
FROM ({marked} OFFSET 0) m"""
ASKED = {names: _ASKED.format(marked=marked).encode() for names, marked in MARKED.items()}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a mark is asked with. known: the mark under which the process knows the answer already, '' for none."""

    prefix: str
    campaign: str
    names: bool
    key: bytes
    known: str = ""


async def mark(connection: Connection, asked: Asked) -> tuple[str, bytes | None] | None:
    """The mark of a campaign for a credential; None where either is not there, or the credential has ended.

    Beside it what was kept for the request under that mark, where it is another one than the process knows.
    """
    cursor = psycopg.AsyncRawCursor(connection)
    given = (asked.prefix, asked.campaign, asked.key, asked.known)
    await cursor.execute(ASKED[asked.names], given, prepare=True, binary=True)
    row = await cursor.fetchone()
    return None if row is None else (str(row[0]), row[1])
