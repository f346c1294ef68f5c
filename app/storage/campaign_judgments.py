"""Queries about a campaign's judgments as managers see them, and about voiding some. Nothing is ever deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage import seals
from app.storage.comments import OF_OUTPUT, OF_SCREEN
from app.storage.credited_systems import CREDITED
from app.storage.judgment_filter import find_filtered_judgment_ids, resolve_judgment_filter
from app.storage.query_planning import execute_full_scan

Row = sa.Row[Any]
BATCH = 2000

_FROM = """
FROM judgments j JOIN items i ON i.campaign_id = j.campaign_id AND i.id = j.item_id
JOIN tasks t ON t.campaign_id = j.campaign_id AND t.id = i.task_id
JOIN documents d ON d.campaign_id = j.campaign_id AND d.id = i.document_id
JOIN raters r ON r.campaign_id = j.campaign_id AND r.id = j.rater_id
LEFT JOIN segments g ON g.campaign_id = j.campaign_id AND g.id = j.segment_id
LEFT JOIN voids v ON v.campaign_id = j.campaign_id AND v.judgment_id = j.id"""
_WHERE = "\nWHERE j.campaign_id = :campaign"
_SELECT = f"""
SELECT j.id, t.public_id AS task, t.key AS task_key, i.position AS item, i.role, d.key AS document,
       g.position AS segment, r.key AS rater, j.revision, j.payload, j.submitted_at, j.recorded_at, j.version,
       j.surplus OR i.surplus_from IS NOT NULL AS surplus, {OF_OUTPUT} AS comment, {OF_SCREEN} AS screen_comment,
       v.reason AS void, j.external_id,
       (SELECT s.score FROM scores s WHERE s.judgment_id = j.id AND s.profile_id = :profile) AS score, """
_PAGE = f"""{_SELECT} (
    SELECT array_agg(s.key ORDER BY s.key COLLATE "C") FROM credits c JOIN systems s ON s.id = c.system_id
    WHERE c.campaign_id = j.campaign_id AND c.item_id = i.id) AS systems
{_FROM} {_WHERE} AND j.id = ANY(:ids) ORDER BY j.id"""
_ALL = f"{_SELECT} k.systems {_FROM} LEFT JOIN {CREDITED} k ON k.item_id = i.id {_WHERE} {{meant}} ORDER BY j.id"
_NOT_VOID = "NOT EXISTS (SELECT FROM voids v WHERE v.campaign_id = j.campaign_id AND v.judgment_id = j.id)"
_COUNT = f"SELECT count(*) FROM judgments j {_WHERE} {{meant}} AND {_NOT_VOID}"
VOID = f"""
INSERT INTO voids (campaign_id, judgment_id, reason, actor, version)
SELECT j.campaign_id, j.id, :reason, :actor, :version FROM judgments j {_WHERE} {{meant}} AND {_NOT_VOID}
ON CONFLICT DO NOTHING"""


def load_judgments_page(
    session: Session, campaign_id: int, profile_id: int, *, after: int, limit: int, filters: Mapping[str, object]
) -> tuple[list[Row], int | None]:
    """Return judgments with all their revisions, in the order in which they were stored.

    Also return the id of the last judgment searched if the page is not full although more are left to search.
    """
    wanted = resolve_judgment_filter(session, campaign_id, filters)
    if wanted is None:
        return [], None
    judgment_page = find_filtered_judgment_ids(session, campaign_id, wanted, after=after, limit=limit)
    keys = {"campaign": campaign_id, "profile": profile_id, "ids": judgment_page.ids}
    return list(session.execute(text(_PAGE), keys)), judgment_page.reached


def stream_judgment_rows(
    session: Session, campaign_id: int, profile_id: int, *, filters: Mapping[str, object]
) -> Iterator[Row]:
    """Yield all judgments with all their revisions, as `load_judgments_page` returns them."""
    wanted = resolve_judgment_filter(session, campaign_id, filters)
    if wanted is not None:
        keys = {**wanted.values, "campaign": campaign_id, "profile": profile_id}
        yield from execute_full_scan(session, _ALL.format(meant=wanted.sql_condition), keys, batch=BATCH)


def count_voidable_judgments(session: Session, campaign_id: int, *, filters: Mapping[str, object]) -> int:
    """Count the judgments that match a filter and are not void yet."""
    wanted = resolve_judgment_filter(session, campaign_id, filters)
    if wanted is None:
        return 0
    keys = {**wanted.values, "campaign": campaign_id}
    return int(execute_full_scan(session, _COUNT.format(meant=wanted.sql_condition), keys).scalar_one())


def insert_judgment_voids(
    session: Session, campaign_id: int, *, filters: Mapping[str, object], reason: str, actor: str, version: int
) -> int:
    """Void the judgments that match a filter, and seal the version with the voids; return their number."""
    wanted = resolve_judgment_filter(session, campaign_id, filters)
    if wanted is None:
        seals.seal_empty_version(session, campaign_id, version)
        return 0
    keys = {**wanted.values, "campaign": campaign_id, "reason": reason, "actor": actor, "version": version}
    return int(
        execute_full_scan(
            session, seals.sealed_insert_sql(seals.VOID, VOID.format(meant=wanted.sql_condition)), keys
        ).scalar_one()
    )
