"""Heartbeats: each extends the lease and brings activity events, which are stored once however often they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

from app.storage.recorder.judgments import HELD, OF_GIVEN, STANDING, USED, CampaignWriteTarget, Connection

Standing = Literal["unauthorized", "outdated", "holds", "handed_in", "lapsed", "surplus", "unknown"]

BEAT = f"""
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(%(n)s::int[], %(token)s::bigint[], %(rater)s::bigint[], %(task)s::bigint[],
                         %(session)s::bigint[])
         AS g(n, token_id, rater_id, task_id, session_id)),
held AS MATERIALIZED ({HELD}),
standing AS MATERIALIZED (
    SELECT g.*, CASE WHEN NOT ({OF_GIVEN}) THEN 'unauthorized'
                     WHEN (SELECT c.settings_version FROM campaigns c WHERE c.id = %(campaign)s) <> %(settings)s
                     THEN 'outdated'
                     ELSE {STANDING.format(rater="g.rater_id")} END AS standing
    FROM given g LEFT JOIN held h ON h.id = g.task_id),
extended AS (
    UPDATE tasks t SET leased_until = statement_timestamp() + %(lasts)s
    WHERE t.campaign_id = %(campaign)s AND t.id IN (SELECT task_id FROM standing WHERE standing = 'holds')
    RETURNING t.id, t.leased_until),
noted AS (
    INSERT INTO activity (campaign_id, task_id, session, seq, rater_id, kind, at_ms, item, segment, media,
                          media_ms)
    SELECT %(campaign)s, s.task_id, e.session, e.seq, s.rater_id, e.kind, e.at_ms, e.item, e.segment, e.media,
           e.media_ms
    FROM unnest(%(e_n)s::int[], %(e_session)s::text[], %(e_seq)s::int[], %(e_kind)s::text[], %(e_at)s::bigint[],
                %(e_item)s::int[], %(e_segment)s::int[], %(e_media)s::text[], %(e_media_ms)s::bigint[])
         AS e(n, session, seq, kind, at_ms, item, segment, media, media_ms)
    JOIN standing s ON s.n = e.n AND s.standing IN ('holds', 'lapsed', 'surplus')
    ON CONFLICT (task_id, session, seq) DO NOTHING),
{USED}
SELECT s.standing, x.leased_until FROM standing s LEFT JOIN extended x ON x.id = s.task_id ORDER BY s.n"""


@dataclass(frozen=True, slots=True)
class ActivityEvent:
    """An event on a rater's page. seq: unique within its session. at_ms: by the browser's clock.

    media, media_ms: id of a media file that is played, and the position in it, in milliseconds.
    """

    session: str
    seq: int
    kind: str
    at_ms: int
    item: int | None = None
    segment: int | None = None
    media: str | None = None
    media_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A heartbeat from the holder of a task. session_id: of the browser, None if the sender uses a token."""

    token_id: int
    rater_id: int
    task_id: int
    events: tuple[ActivityEvent, ...]
    session_id: int | None = None


@dataclass(frozen=True, slots=True)
class LeaseAfterHeartbeat:
    """The sender's relation to the task, and the new end of the lease."""

    standing: Standing
    leased_until: datetime | None


async def extend_leases_and_store_events(
    connection: Connection, write_target: CampaignWriteTarget, beats: Sequence[Heartbeat]
) -> list[LeaseAfterHeartbeat]:
    """Extend leases and store events; return the results, in the order of `beats`. No two may be for one task."""
    events = [(n, event) for n, one in enumerate(beats) for event in one.events]
    keys: dict[str, Any] = {
        "campaign": write_target.campaign_id,
        "lasts": write_target.lease_duration,
        "settings": write_target.settings_version,
        "n": list(range(len(beats))),
        "token": [one.token_id for one in beats],
        "rater": [one.rater_id for one in beats],
        "task": [one.task_id for one in beats],
        "session": [one.session_id for one in beats],
        "e_n": [n for n, _ in events],
        "e_session": [event.session for _, event in events],
        "e_seq": [event.seq for _, event in events],
        "e_kind": [event.kind for _, event in events],
        "e_at": [event.at_ms for _, event in events],
        "e_item": [event.item for _, event in events],
        "e_segment": [event.segment for _, event in events],
        "e_media": [event.media for _, event in events],
        "e_media_ms": [event.media_ms for _, event in events],
    }
    rows = await (await connection.execute(BEAT, keys)).fetchall()
    return [LeaseAfterHeartbeat(cast("Standing", row[0]), row[1]) for row in rows]
