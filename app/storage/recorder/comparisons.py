"""Comparisons: answers about the columns of a screen, stored like judgments (`app.storage.recorder.judgments`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from app.storage.recorder.judgments import (
    HELD,
    LOCK_CAMPAIGN_ROW,
    OF_GIVEN,
    REFUSED,
    RELEASED,
    STANDING,
    TOLD,
    USED,
    AnswerOutcome,
    CampaignWriteTarget,
    Connection,
    Verdict,
)
from app.storage.seals import COMPARISON, seal_row_columns_sql, version_seal_insert_sql


@dataclass(frozen=True, slots=True)
class ScreenComparison:
    """One rater's answer about one screen; the fields are those of `RaterAnswer`."""

    token_id: int
    rater_id: int
    task_id: int
    screen: int
    payload: str
    seen: int | None = None
    final: bool = False
    lapsed: bool = False
    session_id: int | None = None


_HAD = """SELECT s.revision, s.payload, s.surplus FROM screen_judgments s
    WHERE s.campaign_id = %(campaign)s AND s.task_id = g.task_id AND s.screen = g.screen AND s.rater_id = g.rater_id"""

STORED_ROWS = f"SELECT {seal_row_columns_sql(COMPARISON, 'x')} FROM stored x"
RECORD = f"""
WITH given AS MATERIALIZED (
    SELECT n, token_id, session_id, rater_id, task_id, screen, seen, final, keep, payload::jsonb AS payload
    FROM unnest(%(n)s::int[], %(token)s::bigint[], %(rater)s::bigint[], %(task)s::bigint[], %(screen)s::int[],
                %(seen)s::int[], %(final)s::bool[], %(keep)s::bool[], %(payload)s::text[], %(session)s::bigint[])
         AS g(n, token_id, rater_id, task_id, screen, seen, final, keep, payload, session_id)),
held AS MATERIALIZED ({HELD}),
standing AS MATERIALIZED (
    SELECT g.*, h.leased_until,
           CASE WHEN NOT ({OF_GIVEN}) THEN 'unauthorized'
                ELSE coalesce({REFUSED}, {STANDING.format(rater="g.rater_id")}) END AS standing,
           coalesce(had.revision, 0) AS had, had.payload AS latest, had.surplus AS latest_surplus,
           after.payload AS after, after.surplus AS after_surplus
    FROM given g LEFT JOIN held h ON h.id = g.task_id
    LEFT JOIN LATERAL ({_HAD} ORDER BY s.revision DESC LIMIT 1) had ON true
    LEFT JOIN LATERAL ({_HAD} AND s.revision = g.seen + 1) after ON g.seen < had.revision),
judged AS MATERIALIZED (
    SELECT s.*, CASE
        WHEN standing IN ('unauthorized', 'closed', 'outdated', 'handed_in', 'unknown') THEN standing
        WHEN seen < had AND after = payload THEN 'replayed'
        WHEN seen <> had THEN 'stale'
        WHEN had > 0 AND latest = payload THEN 'known'
        WHEN had > 0 AND final THEN 'final'
        WHEN standing IN ('lapsed', 'surplus') AND {RELEASED} THEN 'released'
        WHEN standing = 'lapsed' AND NOT keep THEN 'lapsed'
        ELSE 'added' END AS verdict
    FROM standing s),
bumped AS (
    UPDATE campaigns SET data_version = data_version + 1
    WHERE id = %(campaign)s AND EXISTS (SELECT FROM judged WHERE verdict = 'added') RETURNING data_version),
noted AS (
    INSERT INTO versions (campaign_id, n, at, actor, what)
    SELECT %(campaign)s, data_version, clock_timestamp(), %(actor)s, 'comparisons' FROM bumped
    RETURNING n, at, actor, what),
stored AS (
    INSERT INTO screen_judgments (campaign_id, task_id, screen, rater_id, revision, payload, surplus, version)
    SELECT %(campaign)s, task_id, screen, rater_id, had + 1, payload, standing = 'surplus', data_version
    FROM judged CROSS JOIN bumped WHERE verdict = 'added'
    RETURNING *),
sealed AS ({version_seal_insert_sql("noted", STORED_ROWS, campaign="%(campaign)s")}),
{USED},
{TOLD}"""


async def write_comparisons(
    connection: Connection, write_target: CampaignWriteTarget, comparisons: Sequence[ScreenComparison], actor: str
) -> list[AnswerOutcome]:
    """Write the comparisons that can be written, within a transaction; return the outcomes, in their order.

    No two may be about the same screen.
    """
    keys = {
        "campaign": write_target.campaign_id,
        "lasts": write_target.lease_duration,
        "settings": write_target.settings_version,
        "actor": actor,
    }
    given = {
        "n": list(range(len(comparisons))),
        "token": [one.token_id for one in comparisons],
        "rater": [one.rater_id for one in comparisons],
        "task": [one.task_id for one in comparisons],
        "screen": [one.screen for one in comparisons],
        "seen": [one.seen for one in comparisons],
        "final": [one.final for one in comparisons],
        "keep": [one.lapsed for one in comparisons],
        "payload": [one.payload for one in comparisons],
        "session": [one.session_id for one in comparisons],
    }
    await connection.execute(LOCK_CAMPAIGN_ROW, keys)
    rows = await connection.execute(RECORD, {**keys, **given})
    return [AnswerOutcome(cast("Verdict", row[0]), *row[1:]) for row in await rows.fetchall()]
