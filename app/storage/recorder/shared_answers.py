"""Answers made of stored reports, kept for every process: who looks for one never waits for it, nor fails by it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.domain.errors import Unavailable
from app.storage.db import Session
from app.storage.housekeeping import LOCK
from app.storage.recorder.cache_version import MARKED, Asked
from app.storage.recorder.judgments import Connection
from app.storage.tables import answers


class NotKept(Unavailable):
    """An answer could not be kept for other processes."""


class NotForgotten(Unavailable):
    """Answers that were kept for other processes cannot be deleted now."""


MOST = 256 << 20  # bytes of all that is kept
PATIENCE = "100ms"
# Functions of the connection, for their limits: a table that somebody locks is not waited for. One that is locked or
# damaged, or not there, is then the same as an empty one: the conditions are a lock, what class 42 says (no table, no
# right), the file system, and damage.
_FIND = """
CREATE OR REPLACE FUNCTION pg_temp.kept_answer(wanted bytea, under text) RETURNS bytea LANGUAGE plpgsql STABLE
SET lock_timeout = '5ms' AS $function$
BEGIN
    RETURN (SELECT a.sent FROM public.answers a WHERE a.key = wanted AND a.mark = under);
EXCEPTION
    WHEN lock_not_available OR syntax_error_or_access_rule_violation OR system_error OR internal_error THEN
        RETURN NULL;
END $function$"""
# Only under the mark that still is the current one. Whoever holds the campaign's row is about to change it, so there
# is nothing to wait for; and a flush of judgments is not kept waiting by this lock. A commit here need not reach the
# disk: a crash empties the table.
INSERT = """INSERT INTO public.answers AS a (key, campaign_id, mark, whole, sent)
SELECT $3, m.id, m.mark, $5, $6 FROM ({marked} FOR KEY SHARE OF c SKIP LOCKED) m
WHERE m.mark = $4 AND set_config('synchronous_commit', 'off', true) IS NOT NULL
ON CONFLICT (key) DO UPDATE SET campaign_id = excluded.campaign_id, mark = excluded.mark, whole = excluded.whole,
    sent = excluded.sent, created_at = excluded.created_at
WHERE a.mark <> excluded.mark OR (excluded.whole AND NOT a.whole)"""
_KEEP = """
CREATE OR REPLACE FUNCTION pg_temp.{name}(text, text, bytea, text, boolean, bytea) RETURNS void LANGUAGE plpgsql
SET lock_timeout = '{patience}' AS $function$
#variable_conflict use_column
BEGIN
    {insert};
END $function$"""
_NAMES = {False: "keep_answer", True: "keep_answer_with_names"}
CALLS = {names: f"SELECT pg_temp.{name}($1, $2, $3, $4, $5, $6)".encode() for names, name in _NAMES.items()}
FUNCTIONS = (
    _FIND,
    *(
        _KEEP.format(name=name, patience=PATIENCE, insert=INSERT.format(marked=MARKED[names]))
        for names, name in _NAMES.items()
    ),
)

# The oldest beyond a number of bytes, of which the table itself tells how many there are without reading them.
_SWEEP = """DELETE FROM answers WHERE created_at < now() - interval '1 day' OR key IN (
    SELECT s.key FROM (SELECT a.key, sum(octet_length(a.sent)) OVER (ORDER BY a.created_at DESC, a.key) AS upto
                       FROM answers a) s WHERE s.upto > :most)"""

# The lengths stand beside the table, so the bodies are not read.
_SIZE = b"SELECT coalesce(sum(octet_length(sent)), 0) FROM public.answers"


async def prepare(connection: Connection) -> None:
    """Make a new connection fit for `keep` and for `app.storage.recorder.cache_version.mark`."""
    await connection.execute(";".join(FUNCTIONS), prepare=False)


async def keep(connection: Connection, asked: Asked, *, mark: str, whole: bool, sent: bytes) -> None:
    """Keep an answer under a mark, unless that has passed; of the same mark one with a body, once there is one.

    One statement, which whoever else writes the same answer does not disturb. Raises NotKept, or what a broken or busy
    connection raises.
    """
    cursor = psycopg.AsyncRawCursor(connection)
    given = (asked.prefix, asked.campaign, asked.key, mark, whole, sent)
    try:
        await cursor.execute(CALLS[asked.names], given, prepare=True)
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        raise NotKept(f"SQLSTATE {error.sqlstate}") from error


async def size(connection: Connection) -> int:
    """Bytes of all that is kept. Raises NotKept, or what a broken or busy connection raises."""
    try:
        row = await (await connection.execute(_SIZE)).fetchone()
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        raise NotKept(f"SQLSTATE {error.sqlstate}") from error
    return 0 if row is None else int(row[0])


def forget(session: Session, campaign_ids: Collection[int]) -> None:
    """Delete all answers of some campaigns, as the last thing that a transaction does.

    Whoever is writing one is waited for, and its row seen; whoever comes later waits for the end of this transaction,
    and then sees that the mark is another one. A row that appears from a snapshot of before is not possible. Where
    there is no such table there is nothing to forget.

    Raises NotForgotten where it is locked for long, damaged or not ours: who asks for an erasure is to know.
    """
    if session.execute(text("SELECT to_regclass('public.answers')")).scalar() is None:
        return
    with _raising(NotForgotten):
        session.execute(text("SELECT set_config('lock_timeout', '5s', true)"))
        session.execute(text("LOCK TABLE answers IN SHARE ROW EXCLUSIVE MODE"))
        session.execute(sa.delete(answers).where(answers.c.campaign_id.in_(campaign_ids)))


def sweep(session: Session, *, most: int) -> int:
    """Delete answers older than a day, and the oldest beyond `most` bytes; how many.

    None are deleted while another worker is at it. Raises NotForgotten where they cannot be, for whatever reason.
    """
    with _raising(NotForgotten):
        session.execute(text("SELECT set_config('lock_timeout', '1s', true)"))
        if not session.execute(text("SELECT pg_try_advisory_xact_lock(:n)"), {"n": LOCK}).scalar():
            return 0
        return int(getattr(session.execute(text(_SWEEP), {"most": most}), "rowcount", 0))


@contextmanager
def _raising(kind: type[Unavailable]) -> Iterator[None]:
    """Turn what the database says of the table into an error of ours; that it cannot be reached is told as ever."""
    try:
        yield
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        raise kind(f"SQLSTATE {getattr(error.orig, 'sqlstate', None)}", retry_after=1) from error
