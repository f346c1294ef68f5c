"""Data with which post-edits are compared: the answers themselves, sources, and reference translations."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text

from app.storage.db import Session
from app.storage.query_planning import execute_full_scan
from app.storage.rating_metadata import Ids

Address = tuple[str, int]

PAYLOADS = """
SELECT id, payload FROM judgments WHERE campaign_id = :campaign AND id = ANY(:ids)"""
SOURCES = """
SELECT d.key, g.position, g.source FROM segments g
JOIN documents d ON d.campaign_id = g.campaign_id AND d.id = g.document_id
WHERE g.campaign_id = :campaign AND g.source IS NOT NULL"""
REFERENCES = """
SELECT r.name, d.key, g.position, r.text FROM reference_texts r
JOIN segments g ON g.campaign_id = r.campaign_id AND g.id = r.segment_id
JOIN documents d ON d.campaign_id = g.campaign_id AND d.id = g.document_id
WHERE r.campaign_id = :campaign"""
LABS = "SELECT key, lab FROM systems WHERE campaign_id = :campaign"


def load_post_edit_payloads(session: Session, campaign_id: int, ids: Ids) -> dict[int, dict[str, Any]]:
    """Return answers by the id of their judgment."""
    rows = session.execute(text(PAYLOADS), {"campaign": campaign_id, "ids": ids.tolist()})
    return {row.id: row.payload for row in rows}


def load_source_texts(session: Session, campaign_id: int) -> dict[Address, str]:
    """Return the known sources by document key and position."""
    rows = execute_full_scan(session, SOURCES, {"campaign": campaign_id})
    return {(row.key, row.position): row.source for row in rows}


def load_reference_texts(session: Session, campaign_id: int) -> dict[str, dict[Address, str]]:
    """Return reference translations by name, then by document key and position."""
    by_name: dict[str, dict[Address, str]] = {}
    for row in execute_full_scan(session, REFERENCES, {"campaign": campaign_id}):
        by_name.setdefault(row.name, {})[row.key, row.position] = row.text
    return by_name


def load_system_labs(session: Session, campaign_id: int) -> dict[str, str | None]:
    """Return the lab of each system by key, None if unknown."""
    return {row.key: row.lab for row in session.execute(text(LABS), {"campaign": campaign_id})}
