"""Count a campaign's judgments: all of them, or those since the last count."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text

from app.storage.db import Session
from app.storage.query_planning import execute_full_scan

Row = sa.Row[Any]

# The end of the minute in which a judgment was recorded. So whatever ends after a full minute was recorded after it.
_MINUTE = "date_trunc('minute', recorded_at + interval '1 minute' - interval '1 microsecond')"
# An answer is counted once, however often it was revised.
_ANSWERS = "campaign_id = :campaign AND version <= :version AND revision = 1 AND NOT surplus"
# One scan serves the counts of tasks, systems, groups and minutes.
_ALL = f"""
WITH answered AS MATERIALIZED (
    SELECT item_id, count(*) AS n, min(recorded_at) AS first, max(recorded_at) AS last, max(id) AS newest
    FROM judgments WHERE {_ANSWERS} GROUP BY item_id),
shown AS MATERIALIZED (
    SELECT i.id, i.task_id, i.group_id, i.role, t.state IN ('handed_in', 'imported') AS done, a.n, a.first, a.last,
           a.newest
    FROM tasks t JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id AND i.surplus_from IS NULL
    LEFT JOIN answered a ON a.item_id = i.id WHERE t.campaign_id = :campaign AND t.state <> 'withdrawn')
SELECT 'task' AS what, task_id AS id, count(*) AS items, count(*) FILTER (WHERE done) AS done,
       count(*) FILTER (WHERE n > 0 AND role = 0) AS rated, coalesce(sum(n), 0)::bigint AS judgments,
       min(first) AS first, max(last) AS last, max(newest) AS newest
FROM shown GROUP BY task_id
UNION ALL
SELECT 'system', c.system_id, count(*), count(*) FILTER (WHERE done), count(*) FILTER (WHERE n > 0),
       coalesce(sum(n), 0)::bigint, NULL, NULL, NULL
FROM shown s JOIN credits c ON c.campaign_id = :campaign AND c.item_id = s.id WHERE s.role = 0 GROUP BY c.system_id
UNION ALL
SELECT 'group', group_id, count(*), count(*) FILTER (WHERE done), count(*) FILTER (WHERE n > 0), 0, NULL, NULL, NULL
FROM shown WHERE group_id IS NOT NULL GROUP BY group_id
UNION ALL
SELECT 'minute', s.task_id, 0, 0, 0, count(*), {_MINUTE}, NULL, NULL
FROM judgments j JOIN shown s ON s.id = j.item_id WHERE {_ANSWERS} AND recorded_at > :since GROUP BY 2, 7"""
_NEW = f"""
WITH answered AS MATERIALIZED (
    SELECT item_id, {_MINUTE} AS minute, count(*) AS n, min(recorded_at) AS first, max(recorded_at) AS last,
           max(id) AS newest
    FROM judgments WHERE {_ANSWERS} AND id > :after GROUP BY 1, 2)
SELECT i.id AS item, i.task_id, i.group_id, i.role, a.minute, a.n, a.first, a.last, a.newest,
       EXISTS (SELECT FROM judgments WHERE {_ANSWERS} AND item_id = i.id AND id <= :after OFFSET 0) AS begun,
       ARRAY(SELECT c.system_id FROM credits c WHERE c.campaign_id = :campaign AND c.item_id = i.id) AS systems
FROM answered a CROSS JOIN LATERAL (
    SELECT * FROM items WHERE campaign_id = :campaign AND id = a.item_id AND surplus_from IS NULL OFFSET 0) i
CROSS JOIN LATERAL (
    SELECT FROM tasks WHERE campaign_id = :campaign AND id = i.task_id AND state <> 'withdrawn' OFFSET 0) t"""
_CONTENTS = """
WITH shown AS MATERIALIZED (
    SELECT id, task_id, group_id, role FROM items
    WHERE campaign_id = :campaign AND task_id = ANY(:tasks) AND surplus_from IS NULL)
SELECT 'system' AS what, s.task_id, c.system_id AS id, count(*) AS items
FROM shown s CROSS JOIN LATERAL (
    SELECT system_id FROM credits WHERE campaign_id = :campaign AND item_id = s.id OFFSET 0) c
WHERE s.role = 0 GROUP BY 2, 3
UNION ALL
SELECT 'group', task_id, group_id, count(*) FROM shown WHERE group_id IS NOT NULL GROUP BY 2, 3"""
ANSWERING = ("judgments", "comparisons", "hand-in", "task reopened")
"""The kinds of data versions that raters' work creates: judgments arrive, and tasks change their state."""
_ANSWERED = """
SELECT count(*) FROM versions
WHERE campaign_id = :campaign AND n > :after AND n <= :version AND what = ANY(:answering)"""

_LAST_BUT_ANSWERS = """
SELECT n FROM versions WHERE campaign_id = :campaign AND what <> ALL(:answering) ORDER BY n DESC LIMIT 1"""


def count_items_and_judgments(session: Session, campaign_id: int, *, version: int, since: datetime) -> list[Row]:
    """Count items, items in finished tasks, items with judgments, and judgments, by task, by system and by group.

    Also count the judgments since a time, by task and by the end of their minute, which the column `first` holds.
    """
    return list(execute_full_scan(session, _ALL, {"campaign": campaign_id, "version": version, "since": since}))


def count_new_judgments_by_item(session: Session, campaign_id: int, *, after: int, version: int) -> list[Row]:
    """Count judgments with ids beyond `after`, up to a version, by item and minute. begun: the item had one before."""
    keys = {"campaign": campaign_id, "after": after, "version": version}
    return list(session.execute(text(_NEW), keys))


def count_task_items_by_system_and_group(session: Session, campaign_id: int, tasks: Collection[int]) -> list[Row]:
    """Count the items of some tasks: by task and system, and by task and group."""
    return list(session.execute(text(_CONTENTS), {"campaign": campaign_id, "tasks": sorted(tasks)}))


def have_only_answers_changed_data(session: Session, campaign_id: int, *, after: int, version: int) -> bool:
    """Tell whether only raters' work created the data versions after a given one."""
    keys = {"campaign": campaign_id, "after": after, "version": version, "answering": list(ANSWERING)}
    return bool(session.execute(text(_ANSWERED), keys).scalar_one() == version - after)


def find_last_data_version_not_from_answers(session: Session, campaign_id: int) -> int:
    """Return the last data version that raters' work did not create; 0 if there is none."""
    keys = {"campaign": campaign_id, "answering": list(ANSWERING)}
    return int(session.execute(text(_LAST_BUT_ANSWERS), keys).scalar() or 0)
