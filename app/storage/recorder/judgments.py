"""Write a flush of judgments: one statement for all answers of one campaign that arrived together.

A separate statement locks the campaign's row first, so that this one sees every earlier flush. A replay that looked for
the stored answer in the snapshot of its own insert would miss it.

The driver parsed the statement again in Python for each flush, and inspected each element of each list. This took most
of the function's time, so the statement has numbered parameters, and lists are sent in the text format of Postgres.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, cast

import psycopg
from psycopg.rows import TupleRow

from app.storage.seals import JUDGMENT, seal_row_columns_sql, version_seal_insert_sql
from app.storage.tokens import USE_NOTED

Connection = psycopg.AsyncConnection[TupleRow]
Verdict = Literal[
    "added",
    "known",
    "stale",
    "final",
    "unauthorized",
    "closed",
    "outdated",
    "handed_in",
    "unknown",
    "lapsed",
    "released",
]
STORED: frozenset[Verdict] = frozenset({"added", "known"})


@dataclass(frozen=True, slots=True)
class RaterAnswer:
    """One rater's answer at one address.

    seen: the revision that the sender saw, 0 for none, None if unknown. final: a second revision is refused.
    payload: as JSON text. lapsed: the lease has expired and could not be renewed; keep the answer all the same.
    session_id: of the browser that sent the answer, None if the sender uses a token.
    """

    token_id: int
    rater_id: int
    task_id: int
    item_id: int
    segment_id: int | None
    payload: str
    score: float
    n_errors: int
    seen: int | None = None
    final: bool = False
    lapsed: bool = False
    session_id: int | None = None

    @property
    def key_in_flush(self) -> tuple[int, int | None, int]:
        """The key that must be unique among the answers of a flush."""
        return self.item_id, self.segment_id, self.rater_id


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """The outcome of an answer.

    revision: of the answer if it is stored, else the latest one there is (0: none). payload: the latest one, if it is
    the reason for a refusal. surplus: the answer is kept, but another rater has the task now.
    """

    verdict: Verdict
    revision: int
    payload: dict[str, Any] | None
    surplus: bool
    leased_until: datetime | None


@dataclass(frozen=True, slots=True)
class CampaignWriteTarget:
    """Where a campaign's answers are written. lease_duration: how long a lease lasts after a write renews it.

    settings_version: the settings used to check and score the answers; under other settings, nothing is written.
    """

    campaign_id: int
    profile_id: int
    lease_duration: timedelta
    settings_version: int

    @property
    def flush_group_key(self) -> tuple[int, int]:
        """The key that all answers of one flush share."""
        return self.campaign_id, self.settings_version


LOCK_CAMPAIGN_ROW = "SELECT FROM campaigns WHERE id = %(campaign)s FOR NO KEY UPDATE"

# Whether a credential is still valid, for the hot routes and leases: after a revocation or a sign-out it fails at once.
# Here and below, each look-up is a scalar subquery. For an EXISTS, the planner may build a hash of the whole table,
# which it would then have to read for every flush.
LIVE = """coalesce((SELECT k.revoked_at IS NULL AND coalesce(k.expires_at > clock_timestamp(), true)
                 FROM tokens k WHERE k.id = {credential}), false)
       AND coalesce((SELECT e.state <> 'erased' FROM enrolments e WHERE e.rater_id = {rater}), false)
       AND ({session} IS NULL
            OR coalesce((SELECT b.expires_at > clock_timestamp() FROM sessions b WHERE b.id = {session}), false))"""

# Update the last use of these credentials, at most once in USE_NOTED each, in a commit that happens anyway. Locked
# tokens are skipped: this statement waits for no other, so no deadlock is possible.
_OLD = f"interval '{USE_NOTED.total_seconds():.0f} seconds'"
USED = f"""used AS (
    UPDATE tokens SET last_used_at = statement_timestamp() WHERE id IN (
        SELECT k.id FROM tokens k
        WHERE k.id = ANY(ARRAY(SELECT DISTINCT s.token_id FROM standing s WHERE s.standing <> 'unauthorized'))
          AND coalesce(k.last_used_at <= statement_timestamp() - {_OLD}, true)
        FOR NO KEY UPDATE SKIP LOCKED))"""

# The campaign's current reason to refuse an answer, else NULL.
REFUSED = """(SELECT CASE WHEN c.state = 'closed' THEN 'closed'
                         WHEN c.settings_version <> %(settings)s THEN 'outdated' END
                 FROM campaigns c WHERE c.id = %(campaign)s)"""

# A rater's relation to a task. A task that is back in the pool belongs to its last holder until it is leased again.
STANDING = """CASE
       WHEN h.rater_id = {rater} AND h.state = 'leased' THEN 'holds'
       WHEN h.rater_id = {rater} AND h.state = 'handed_in' THEN 'handed_in'
       WHEN h.state = 'free' AND coalesce(h.rater_id = {rater}, true)
            AND (SELECT l.rater_id FROM leases l WHERE l.campaign_id = %(campaign)s AND l.task_id = h.id
                 AND l.n = h.lease) = {rater} THEN 'lapsed'
       WHEN (SELECT l.rater_id FROM leases l WHERE l.campaign_id = %(campaign)s AND l.task_id = h.id
             AND l.rater_id = {rater} LIMIT 1) IS NOT NULL THEN 'surplus'
       ELSE 'unknown' END"""
HELD = """SELECT t.id, t.state, t.rater_id, t.lease, t.leased_until FROM tasks t
    WHERE t.campaign_id = %(campaign)s AND t.id = ANY(%(task)s) AND t.state <> 'imported'
    ORDER BY t.id FOR NO KEY UPDATE OF t"""

_HAD = """SELECT j.id, j.revision, j.payload, j.surplus FROM judgments j
    WHERE j.item_id = g.item_id AND j.segment_id = g.segment_id AND j.rater_id = g.rater_id {which}
    UNION ALL SELECT j.id, j.revision, j.payload, j.surplus FROM judgments j
    WHERE g.segment_id IS NULL AND j.item_id = g.item_id AND j.segment_id IS NULL AND j.rater_id = g.rater_id {which}"""

# The latest judgment is not set aside. If it was, the same answer counts as a new one when it is given again.
VALID = """(SELECT v.judgment_id FROM voids v
             WHERE v.campaign_id = %(campaign)s AND v.judgment_id = latest_id LIMIT 1) IS NULL"""
# This rater handed the task in before, so it was reopened. Only in a reopened task may an answer that was set aside be
# given again (`app.services.tasks.tasks.OwnAnswersByAddress`).
REOPENED = """(SELECT l.n FROM leases l WHERE l.campaign_id = %(campaign)s AND l.task_id = s.task_id
                AND l.rater_id = s.rater_id AND l.ended_how = 'handed_in' LIMIT 1) IS NOT NULL"""
# The rater released the task voluntarily and has not leased it since.
RELEASED = """(SELECT l.ended_how FROM leases l WHERE l.campaign_id = %(campaign)s AND l.task_id = s.task_id
                AND l.rater_id = s.rater_id ORDER BY l.n DESC LIMIT 1) = 'released'"""

# The end of such a statement: renew the lease if it has run out, and report the outcome of each answer.
TOLD = """
renewed AS (
    UPDATE tasks t SET leased_until = statement_timestamp() + %(lasts)s
    WHERE t.campaign_id = %(campaign)s AND t.id IN (
        SELECT task_id FROM judged WHERE standing = 'holds' AND verdict IN ('added', 'known', 'replayed')
          AND leased_until < statement_timestamp())
    RETURNING t.id, t.leased_until)
SELECT CASE verdict WHEN 'replayed' THEN 'known' ELSE verdict END,
       CASE verdict WHEN 'added' THEN had + 1 WHEN 'replayed' THEN seen + 1 ELSE had END,
       CASE WHEN verdict IN ('stale', 'final') THEN latest END,
       CASE verdict WHEN 'added' THEN standing = 'surplus' WHEN 'replayed' THEN after_surplus
                    WHEN 'known' THEN latest_surplus ELSE false END,
       CASE standing WHEN 'holds' THEN coalesce(r.leased_until, j.leased_until) END
FROM judged j LEFT JOIN renewed r ON r.id = j.task_id ORDER BY n"""

OF_GIVEN = LIVE.format(credential="g.token_id", rater="g.rater_id", session="g.session_id")
STORED_ROWS = f"SELECT {seal_row_columns_sql(JUDGMENT, 'x')} FROM stored x"
RECORD = f"""
WITH given AS MATERIALIZED (
    SELECT n, token_id, session_id, rater_id, task_id, item_id, segment_id, seen, final, keep,
           payload::jsonb AS payload, score, n_errors
    FROM unnest(%(n)s::int[], %(token)s::bigint[], %(rater)s::bigint[], %(task)s::bigint[], %(item)s::bigint[],
                %(segment)s::bigint[], %(seen)s::int[], %(final)s::bool[], %(keep)s::bool[], %(payload)s::text[],
                %(score)s::float8[], %(errors)s::int[], %(session)s::bigint[])
         AS g(n, token_id, rater_id, task_id, item_id, segment_id, seen, final, keep, payload, score, n_errors,
              session_id)),
held AS MATERIALIZED ({HELD}),
standing AS MATERIALIZED (
    SELECT g.*, h.leased_until,
           CASE WHEN NOT ({OF_GIVEN}) THEN 'unauthorized'
                ELSE coalesce({REFUSED}, {STANDING.format(rater="g.rater_id")}) END AS standing,
           coalesce(had.revision, 0) AS had, had.id AS latest_id, had.payload AS latest, had.surplus AS latest_surplus,
           after.payload AS after, after.surplus AS after_surplus
    FROM given g LEFT JOIN held h ON h.id = g.task_id
    LEFT JOIN LATERAL (SELECT * FROM ({_HAD.format(which="")}) x ORDER BY x.revision DESC LIMIT 1) had ON true
    LEFT JOIN LATERAL ({_HAD.format(which="AND j.revision = g.seen + 1")}) after ON g.seen < had.revision),
judged AS MATERIALIZED (
    SELECT s.*, CASE
        WHEN standing IN ('unauthorized', 'closed', 'outdated', 'handed_in', 'unknown') THEN standing
        WHEN seen < had AND after = payload THEN 'replayed'
        WHEN seen <> had THEN 'stale'
        WHEN had > 0 AND latest = payload AND {VALID} THEN 'known'
        WHEN had > 0 AND final AND ({VALID} OR NOT {REOPENED}) THEN 'final'
        WHEN standing IN ('lapsed', 'surplus') AND {RELEASED} THEN 'released'
        WHEN standing = 'lapsed' AND NOT keep THEN 'lapsed'
        ELSE 'added' END AS verdict
    FROM standing s),
added AS MATERIALIZED (
    SELECT *, nextval(pg_get_serial_sequence('judgments', 'id')) AS id, clock_timestamp() AS at
    FROM judged WHERE verdict = 'added'),
bumped AS (
    UPDATE campaigns SET data_version = data_version + 1
    WHERE id = %(campaign)s AND EXISTS (SELECT FROM added) RETURNING data_version),
noted AS (
    INSERT INTO versions (campaign_id, n, at, actor, what)
    SELECT %(campaign)s, data_version, clock_timestamp(), %(actor)s, 'judgments' FROM bumped
    RETURNING n, at, actor, what),
stored AS (
    INSERT INTO judgments (id, campaign_id, item_id, segment_id, rater_id, revision, payload, surplus, submitted_at,
                           guidelines, version)
    OVERRIDING SYSTEM VALUE
    SELECT id, %(campaign)s, item_id, segment_id, rater_id, had + 1, payload, standing = 'surplus', at,
           (SELECT max(w.version) FROM guidelines w WHERE w.campaign_id = %(campaign)s AND w.kind = 'guidelines'),
           data_version FROM added CROSS JOIN bumped
    RETURNING *),
sealed AS ({version_seal_insert_sql("noted", STORED_ROWS, campaign="%(campaign)s")}),
scored AS (
    INSERT INTO scores (campaign_id, profile_id, judgment_id, item_id, segment_id, rater_id, revision, n_errors,
                        version, at_us, score, surplus)
    SELECT %(campaign)s, %(profile)s, id, item_id, segment_id, rater_id, had + 1, n_errors, data_version,
           (extract(epoch FROM at) * 1000000)::bigint, score, standing = 'surplus' FROM added CROSS JOIN bumped),
{USED},
{TOLD}"""


_NAMED = re.compile(r"%\((\w+)\)s")
TYPES = {
    "campaign": "bigint",
    "profile": "bigint",
    "lasts": "interval",
    "settings": "bigint",
    "actor": "text",
    "n": "int[]",
    "token": "bigint[]",
    "rater": "bigint[]",
    "task": "bigint[]",
    "item": "bigint[]",
    "segment": "bigint[]",
    "seen": "int[]",
    "final": "bool[]",
    "keep": "bool[]",
    "payload": "text[]",
    "score": "float8[]",
    "errors": "int[]",
    "session": "bigint[]",
}
PARAMETERS = tuple(TYPES)


def _number_parameters(statement: str) -> str:
    return _NAMED.sub(lambda found: f"${PARAMETERS.index(found[1]) + 1}", statement)


# A call is one transaction and one round trip. Each statement in such a function has its own snapshot, so the second
# one sees what others committed while the first one waited for the lock. The function belongs to the connection and its
# text stays with the code that calls it, so two releases can use the same database.
FUNCTION = f"""
CREATE OR REPLACE FUNCTION pg_temp.record_answers({", ".join(TYPES.values())})
RETURNS TABLE (verdict text, revision int, latest jsonb, surplus boolean, leased_until timestamptz)
LANGUAGE plpgsql AS $function$
#variable_conflict use_column
BEGIN
    PERFORM FROM campaigns WHERE id = $1 FOR NO KEY UPDATE;
    RETURN QUERY {_number_parameters(RECORD)};
END $function$"""
CALL = f"SELECT * FROM pg_temp.record_answers({', '.join(f'${n + 1}' for n in range(len(PARAMETERS)))})".encode()

# Citus can plan a statement of several steps only when it knows the values.
PLANNED_EACH_TIME = """
SELECT set_config('plan_cache_mode', 'force_custom_plan', false) FROM pg_extension WHERE extname = 'citus'"""


async def prepare_write_connection(connection: Connection) -> None:
    """Prepare a new connection for `write_judgments`."""
    await connection.execute(FUNCTION, prepare=False)
    await connection.execute(PLANNED_EACH_TIME, prepare=False)


async def write_judgments(
    connection: Connection, write_target: CampaignWriteTarget, answers: Sequence[RaterAnswer], actor: str
) -> list[AnswerOutcome]:
    """Write the answers that can be written; return the outcomes, in their order. No two may have the same address.

    Outside a transaction, the call is a transaction by itself. `prepare_write_connection` must have prepared the
    connection.
    """
    given = (
        write_target.campaign_id,
        write_target.profile_id,
        write_target.lease_duration,
        write_target.settings_version,
        actor,
        _array(range(len(answers))),
        _array(a.token_id for a in answers),
        _array(a.rater_id for a in answers),
        _array(a.task_id for a in answers),
        _array(a.item_id for a in answers),
        _array(a.segment_id for a in answers),
        _array(a.seen for a in answers),
        _array(a.final for a in answers),
        _array(a.lapsed for a in answers),
        _array(_element(a.payload) for a in answers),
        _array(a.score for a in answers),
        _array(a.n_errors for a in answers),
        _array(a.session_id for a in answers),
    )
    cursor = psycopg.AsyncRawCursor(connection)
    await cursor.execute(CALL, given)
    return [AnswerOutcome(cast("Verdict", row[0]), *row[1:]) for row in await cursor.fetchall()]


def _array(values: Iterable[object]) -> str:
    """Format an array as Postgres reads it, from numbers, truth values and results of `_element`."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def _element(text: str) -> str:
    """Format a text as an element of an array."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
