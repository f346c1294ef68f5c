"""Segments with known answers: those of an import while they are staged, and all those of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

Row = sa.Row[Any]

# Whole documents, of which the import may name a part; segments that it names have their file and line.
_SEGMENTS = """
SELECT d.kind, d.key AS document, g.position, g.source, g.meta, w.file, w.line,
       EXISTS (SELECT FROM staged_documents x WHERE x.key = d.key AND x.unfit) AS unfit
FROM documents d JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id
LEFT JOIN LATERAL (
    SELECT s.file, s.line FROM staged_segments s WHERE s.document = d.key AND s.position = g.position
    ORDER BY s.meta IS NULL, s.line LIMIT 1) w ON true
WHERE d.campaign_id = :campaign AND d.kind = ANY(:kinds) AND d.key IN (
    SELECT document FROM staged_segments UNION SELECT key FROM staged_documents)
ORDER BY d.key COLLATE "C", g.position"""
_ALL = """
SELECT d.kind, d.key AS document, g.position, g.source, g.meta
FROM documents d JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id
WHERE d.campaign_id = :campaign AND d.kind = ANY(:kinds) ORDER BY d.key COLLATE "C", g.position"""


def load_segments_of_document_kinds(session: Session, campaign_id: int, kinds: list[str]) -> Sequence[Row]:
    """Return the segments of all documents of some kinds, document by document."""
    return session.execute(text(_ALL), {"campaign": campaign_id, "kinds": kinds}).all()


def load_stored_segments_of_staged_documents(session: Session, campaign_id: int, kinds: list[str]) -> Sequence[Row]:
    """Return segments of the import's documents of some kinds, document by document; empty if there are none."""
    any_there = text("SELECT FROM documents WHERE campaign_id = :campaign AND kind = ANY(:kinds) LIMIT 1")
    keys = {"campaign": campaign_id, "kinds": kinds}
    if session.execute(any_there, keys).first() is None:
        return ()
    return session.execute(text(_SEGMENTS), keys).all()
