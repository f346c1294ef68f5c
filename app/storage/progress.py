"""Queries about progress: a cheap check for changes, and counts of finished work."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.attention_checks import IS_CHECK
from app.storage.campaigns import CampaignNotFound
from app.storage.query_planning import execute_full_scan
from app.storage.word_count_sql import WORDS_OF

Row = sa.Row[Any]

# A campaign's progress depends only on these values. They include the minute, because rates and expired leases change
# with time. One number combines the rater, lease and state of a task: a hash of the whole row takes almost twice as
# long. The other columns that progress shows never change, or change only when the task is leased again. States differ
# in their first letters. Each digest covers a few tasks, so only the tasks of a changed digest are read again.
BITS = 8
_GLANCE = f"""
SELECT c.id, c.key, c.state, c.data_version, c.settings_version, date_trunc('minute', clock_timestamp()) AS at,
       (SELECT max(version) FROM plans p WHERE p.campaign_id = c.id) AS plan,
       (SELECT max(f.id) FROM flags f WHERE f.campaign_id = c.id) AS flags,
       (SELECT count(*) FROM flags f WHERE f.campaign_id = c.id AND f.answer IS NULL) AS open_flags,
       (SELECT string_agg(p.part || p.digest, ';' ORDER BY p.part) FROM (
            SELECT t.id >> {BITS} AS part, (count(*), bit_xor(hashint8extended(
                   t.id, (coalesce(t.rater_id, 0) << 28) + (t.lease << 7) + ascii(t.state))))::text AS digest
            FROM tasks t WHERE t.campaign_id = c.id GROUP BY 1) p) AS tasks,
       (SELECT (count(*), sum(e.settings_version))::text FROM enrolments e WHERE e.campaign_id = c.id) AS enrolments,
       (SELECT (count(*), sum(i.seats), count(i.revoked_at))::text FROM invitations i WHERE i.campaign_id = c.id)
           AS invitations
FROM campaigns c WHERE c.key = :key"""

# Attention checks are not part of a campaign's work.
_TASKS = f"""
SELECT t.id, t.public_id, t.state, t.rater_id, t.bucket, coalesce(t.words, 0) AS words,
       coalesce(t.segments, 0) AS segments, t.handed_in_at, t.leased_until,
       t.state = 'leased' AND t.leased_until < clock_timestamp() AS expired
FROM {{tasks}} WHERE t.campaign_id = :campaign AND t.state {{states}} AND NOT {IS_CHECK.format(task="t")}
ORDER BY t.id"""
_OF_PARTS = f"""unnest(CAST(:parts AS bigint[])) AS p(n) CROSS JOIN LATERAL (
    SELECT * FROM tasks
    WHERE campaign_id = :campaign AND id >= p.n << {BITS} AND id < (p.n + 1) << {BITS} OFFSET 0) t"""
# For tasks imported with their answers, count what was judged; each answer for a segment counts the segment once. Only
# the sources judged in such tasks are split into words, because progress is computed again after every change.
_IMPORTED = f"""
WITH answered AS MATERIALIZED (
    SELECT i.task_id, j.segment_id
    FROM tasks t JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id AND i.surplus_from IS NULL
    JOIN judgments j ON j.campaign_id = :campaign AND j.item_id = i.id AND j.revision = 1 AND NOT j.surplus
    WHERE t.campaign_id = :campaign AND t.state = 'imported' AND j.segment_id IS NOT NULL),
sized AS MATERIALIZED (
    SELECT id, CASE WHEN :spaced THEN {WORDS_OF.format(text="source")}
                    ELSE (char_length(source) + :characters - 1) / :characters END AS words
    FROM segments WHERE campaign_id = :campaign AND id IN (SELECT segment_id FROM answered))
SELECT a.task_id AS id, count(*) AS segments, coalesce(sum(g.words), 0)::bigint AS words
FROM answered a JOIN sized g ON g.id = a.segment_id GROUP BY a.task_id"""
_RATERS = """
SELECT r.id, r.key, e.state, x.key AS team, e.rater_id IS NOT NULL AS enrolled,
       EXISTS (SELECT FROM bucket_raters b WHERE b.campaign_id = :campaign AND b.rater_id = r.id
               AND b.plan = (SELECT max(version) FROM plans WHERE campaign_id = :campaign)) AS planned,
       coalesce(f.n, 0) AS open_flags
FROM raters r LEFT JOIN enrolments e ON e.rater_id = r.id LEFT JOIN teams x ON x.id = e.team_id
LEFT JOIN (SELECT rater_id, count(*) AS n FROM flags WHERE campaign_id = :campaign AND answer IS NULL GROUP BY 1) f
     ON f.rater_id = r.id
WHERE r.campaign_id = :campaign ORDER BY r.key COLLATE "C" """
_BEGAN = """
SELECT rater_id, min(leased_at) AS began FROM leases
WHERE campaign_id = :campaign AND rater_id = ANY(:raters) GROUP BY 1"""
_SYSTEMS = """
SELECT id, key, name FROM systems WHERE campaign_id = :campaign ORDER BY key COLLATE "C" """
_PLAN = """
SELECT version, report -> 'balance' ->> 'normalized_entropy' AS normalized_entropy FROM plans
WHERE campaign_id = :campaign ORDER BY version DESC LIMIT 1"""


def load_progress_fingerprint_parts(session: Session, key: str) -> Row:
    """Return everything that determines the progress of a campaign. Raises CampaignNotFound."""
    row = session.execute(text(_GLANCE), {"key": key}).one_or_none()
    if row is None:
        raise CampaignNotFound
    return row


def load_tasks_not_withdrawn(
    session: Session, campaign_id: int, digest_parts: Sequence[int] | None = None
) -> list[Row]:
    """Return the tasks that are not withdrawn. digest_parts: only tasks in these parts of the digest; None for all."""
    query = _TASKS.format(tasks="tasks t" if digest_parts is None else _OF_PARTS, states="<> 'withdrawn'")
    keys = {"campaign": campaign_id} if digest_parts is None else {"campaign": campaign_id, "parts": list(digest_parts)}
    return list(session.execute(text(query), keys))


def load_leased_tasks(session: Session, campaign_id: int) -> list[Row]:
    """Return the leased tasks. For these only, the digests miss a change, because leases can be extended."""
    return list(session.execute(text(_TASKS.format(tasks="tasks t", states="= 'leased'")), {"campaign": campaign_id}))


def load_imported_task_sizes(session: Session, campaign_id: int, *, characters_per_word: int | None) -> list[Row]:
    """Return the numbers of segments and of source words for each task that was imported with its answers.

    characters_per_word: how many characters count as a word in a language without spaces; None if it has spaces.
    """
    keys = {"campaign": campaign_id, "spaced": characters_per_word is None, "characters": characters_per_word or 1}
    return list(execute_full_scan(session, _IMPORTED, keys))


def load_raters_and_plan_membership(session: Session, campaign_id: int) -> list[Row]:
    """Return all raters, and whether the plan in force includes them."""
    return list(session.execute(text(_RATERS), {"campaign": campaign_id}))


def load_first_lease_time_by_rater(session: Session, campaign_id: int, raters: Sequence[int]) -> dict[int, datetime]:
    """Return when some raters leased their first task, by rater; raters without a lease are missing."""
    rows = session.execute(text(_BEGAN), {"campaign": campaign_id, "raters": list(raters)})
    return {row.rater_id: row.began for row in rows}


def load_systems(session: Session, campaign_id: int) -> list[Row]:
    """Return all systems."""
    return list(session.execute(text(_SYSTEMS), {"campaign": campaign_id}))


def load_plan_version_and_workload_entropy(session: Session, campaign_id: int) -> Row | None:
    """Return the version and the normalized entropy of the plan in force."""
    return session.execute(text(_PLAN), {"campaign": campaign_id}).one_or_none()
