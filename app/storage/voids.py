"""Queries about judgments as managers see them, and the setting aside of some. Nothing is ever deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.credited import CREDITED
from app.storage.walking import walk

Row = sa.Row[Any]
BATCH = 2000

_FROM = """
FROM judgments j JOIN items i ON i.campaign_id = j.campaign_id AND i.id = j.item_id
JOIN tasks t ON t.campaign_id = j.campaign_id AND t.id = i.task_id
JOIN documents d ON d.campaign_id = j.campaign_id AND d.id = i.document_id
JOIN raters r ON r.campaign_id = j.campaign_id AND r.id = j.rater_id
LEFT JOIN segments g ON g.campaign_id = j.campaign_id AND g.id = j.segment_id
LEFT JOIN voids v ON v.campaign_id = j.campaign_id AND v.judgment_id = j.id"""
_WHERE = """
WHERE j.campaign_id = :campaign
  AND (CAST(:rater AS text) IS NULL OR r.key = :rater) AND (CAST(:document AS text) IS NULL OR d.key = :document)
  AND (CAST(:task AS text) IS NULL OR t.public_id = :task OR t.key = :task)
  AND (CAST(:segment AS int) IS NULL OR g.position = :segment)
  AND (CAST(:system AS text) IS NULL OR EXISTS (
      SELECT FROM credits c WHERE c.campaign_id = j.campaign_id AND c.item_id = i.id
        AND c.system_id = (SELECT s.id FROM systems s WHERE s.campaign_id = :campaign AND s.key = :system)))"""
_SELECT = """
SELECT j.id, t.public_id AS task, t.key AS task_key, i.position AS item, i.role, d.key AS document,
       g.position AS segment, r.key AS rater, j.revision, j.payload, j.submitted_at, j.recorded_at, j.version,
       j.surplus OR i.surplus_from IS NOT NULL AS surplus,
       v.reason AS void, j.external_id,
       (SELECT s.score FROM scores s WHERE s.judgment_id = j.id AND s.profile_id = :profile) AS score, """
_PAGE = f"""{_SELECT} (
    SELECT array_agg(s.key ORDER BY s.key COLLATE "C") FROM credits c JOIN systems s ON s.id = c.system_id
    WHERE c.campaign_id = j.campaign_id AND c.item_id = i.id) AS systems
{_FROM} {_WHERE} AND j.id > :after ORDER BY j.id LIMIT :limit"""
_ALL = f"{_SELECT} k.systems {_FROM} LEFT JOIN {CREDITED} k ON k.item_id = i.id {_WHERE} ORDER BY j.id"
_COUNT = f"SELECT count(*) {_FROM} {_WHERE} AND v.judgment_id IS NULL"
VOID = f"""
INSERT INTO voids (campaign_id, judgment_id, reason, actor, version)
SELECT j.campaign_id, j.id, :reason, :actor, :version {_FROM} {_WHERE} AND v.judgment_id IS NULL
ON CONFLICT DO NOTHING"""
FIELDS = ("rater", "document", "task", "segment", "system")


def page(
    session: Session, campaign_id: int, profile_id: int, *, after: int, limit: int, only: Mapping[str, object]
) -> list[Row]:
    """Judgments with all their revisions, in the order in which they were stored."""
    keys = {**dict.fromkeys(FIELDS), **only, "campaign": campaign_id, "profile": profile_id}
    return list(session.execute(text(_PAGE), {**keys, "after": after, "limit": limit}))


def stream(session: Session, campaign_id: int, profile_id: int, *, only: Mapping[str, object]) -> Iterator[Row]:
    """The same, all of them."""
    keys = {**dict.fromkeys(FIELDS), **only, "campaign": campaign_id, "profile": profile_id}
    yield from walk(session, _ALL, keys, batch=BATCH)


def count(session: Session, campaign_id: int, *, only: Mapping[str, object]) -> int:
    """How many judgments, not void yet, a filter names."""
    keys = {**dict.fromkeys(FIELDS), **only, "campaign": campaign_id}
    return int(walk(session, _COUNT, keys).scalar_one())


def void(
    session: Session, campaign_id: int, *, only: Mapping[str, object], reason: str, actor: str, version: int
) -> int:
    """Set aside the judgments that a filter names; how many."""
    keys = {**dict.fromkeys(FIELDS), **only, "campaign": campaign_id}
    done = walk(session, VOID, {**keys, "reason": reason, "actor": actor, "version": version})
    return int(getattr(done, "rowcount", 0))
