"""Queries about judgments that come from elsewhere by name: what they name, and which of them are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import documents, raters, segments, systems


@dataclass(frozen=True, slots=True)
class Known:
    """A stored judgment that somebody named. systems: all that are credited with it."""

    rater: str
    document: str
    segment: int | None
    systems: frozenset[str]
    payload: Mapping[str, object]


# Which judgments have these names; of several revisions under one name any that says the same is the same.
_NAMED = """
SELECT j.external_id, r.key AS rater, d.key AS document, g.position AS segment, j.payload,
       (SELECT array_agg(s.key) FROM credits c JOIN systems s ON s.id = c.system_id WHERE c.item_id = i.id) AS systems
FROM judgments j JOIN items i ON i.id = j.item_id JOIN documents d ON d.id = i.document_id
JOIN raters r ON r.id = j.rater_id LEFT JOIN segments g ON g.campaign_id = j.campaign_id AND g.id = j.segment_id
WHERE j.campaign_id = :campaign AND j.external_id = ANY(:names)"""


def named(session: Session, campaign_id: int, names: Sequence[str]) -> dict[str, list[Known]]:
    """Stored judgments by the name that their sender gave them."""
    found: dict[str, list[Known]] = {}
    for row in session.execute(sa.text(_NAMED), {"campaign": campaign_id, "names": list(names)}):
        known = Known(row.rater, row.document, row.segment, frozenset(row.systems or ()), row.payload)
        found.setdefault(row.external_id, []).append(known)
    return found


def raters_among(session: Session, campaign_id: int, keys: Sequence[str]) -> set[str]:
    """Those of the keys that are raters of the campaign."""
    return _among(session, raters, campaign_id, keys)


def systems_among(session: Session, campaign_id: int, keys: Sequence[str]) -> set[str]:
    """Those of the keys that are systems of the campaign."""
    return _among(session, systems, campaign_id, keys)


def documents_among(session: Session, campaign_id: int, keys: Sequence[str]) -> set[str]:
    """Those of the keys that are documents of the campaign."""
    return _among(session, documents, campaign_id, keys)


def segments_of(session: Session, campaign_id: int, keys: Sequence[str]) -> set[tuple[str, int]]:
    """Document and position of the segments that documents with these keys have."""
    query = (
        sa.select(documents.c.key, segments.c.position)
        .join(documents, (documents.c.id == segments.c.document_id) & (documents.c.campaign_id == campaign_id))
        .where(segments.c.campaign_id == campaign_id, documents.c.key.in_(keys))
    )
    return {(row.key, row.position) for row in session.execute(query)}


def _among(session: Session, table: sa.Table, campaign_id: int, keys: Sequence[str]) -> set[str]:
    query = sa.select(table.c.key).where(table.c.campaign_id == campaign_id, table.c.key.in_(keys))
    return set(session.execute(query).scalars())
