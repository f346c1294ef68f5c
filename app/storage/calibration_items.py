"""Calibration items of a campaign: the agreed score of each document from a calibration set."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text

from app.storage.db import Session
from app.storage.query_planning import execute_full_scan

ITEMS = """
SELECT key, origin, meta ->> 'stratum' AS stratum,
       CASE WHEN jsonb_typeof(meta -> 'consensus') = 'number' THEN (meta ->> 'consensus')::float8 END AS consensus
FROM documents WHERE campaign_id = :campaign AND kind = 'calibration'"""


@dataclass(frozen=True, slots=True)
class CalibrationItem:
    """A calibration document. consensus: None if none was given. origin: set and version."""

    consensus: float | None
    stratum: str | None
    origin: str | None


def load_calibration_items(session: Session, campaign_id: int) -> dict[str, CalibrationItem]:
    """Return all documents of kind calibration, by key."""
    rows = session.execute(text(ITEMS), {"campaign": campaign_id})
    return {row.key: CalibrationItem(row.consensus, row.stratum, row.origin) for row in rows}


TEXTS = """
SELECT d.key AS document, g.position, y.key AS system, o.text AS output,
       CASE WHEN :reference THEN
         (SELECT f.text FROM reference_texts f WHERE f.campaign_id = g.campaign_id AND f.segment_id = g.id
          ORDER BY f.name COLLATE "C" LIMIT 1)
       ELSE g.source END AS beside
FROM outputs o JOIN segments g ON g.campaign_id = o.campaign_id AND g.id = o.segment_id
JOIN documents d ON d.campaign_id = g.campaign_id AND d.id = g.document_id
JOIN systems y ON y.campaign_id = o.campaign_id AND y.id = o.system_id
WHERE o.campaign_id = :campaign"""


def load_source_and_output_texts(
    session: Session, campaign_id: int, *, reference: bool
) -> dict[tuple[str, int, str], tuple[str, str]]:
    """Return (source, or first reference by name; output), if both exist, by document, position and system."""
    rows = execute_full_scan(session, TEXTS, {"campaign": campaign_id, "reference": reference})
    return {
        (row.document, row.position, row.system): (row.beside, row.output) for row in rows if row.beside and row.output
    }
