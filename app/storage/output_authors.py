"""The authors of those outputs of a campaign that were written in another campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from app.storage.db import Session
from app.storage.query_planning import execute_full_scan
from app.storage.tables import outputs, variants

Row = sa.Row[Any]
KIND = "back_translation"

OUTPUTS = """
SELECT o.id, s.key AS system, d.key AS document, g.position, o.text
FROM outputs o JOIN systems s ON s.campaign_id = :campaign AND s.id = o.system_id
JOIN segments g ON g.campaign_id = :campaign AND g.id = o.segment_id
JOIN documents d ON d.campaign_id = :campaign AND d.id = g.document_id
WHERE o.campaign_id = :campaign"""
SHOWN = """
SELECT DISTINCT s.key AS system, d.key AS document FROM items i
JOIN credits c ON c.campaign_id = :campaign AND c.item_id = i.id
JOIN systems s ON s.campaign_id = :campaign AND s.id = c.system_id
JOIN documents d ON d.campaign_id = :campaign AND d.id = i.document_id
WHERE i.campaign_id = :campaign"""
# The page is chosen among authors alone, so that no output is read that does not stand on it.
LIST = f"""
SELECT o.id, o.system, o.document, o.position, v.how FROM (
    SELECT output_id, how FROM variants
    WHERE campaign_id = :campaign AND kind = '{KIND}' AND output_id > :after ORDER BY output_id LIMIT :limit) v
JOIN ({OUTPUTS}) o ON o.id = v.output_id ORDER BY o.id"""


def load_output_ids_and_texts(session: Session, campaign_id: int) -> dict[tuple[str, str, int], Row]:
    """Return the outputs with id and text, by (system, document, position)."""
    rows = execute_full_scan(session, OUTPUTS, {"campaign": campaign_id})
    return {(row.system, row.document, row.position): row for row in rows}


def load_system_document_pairs_in_tasks(session: Session, campaign_id: int) -> set[tuple[str, str]]:
    """Return the (system, document) pairs of outputs that a task shows."""
    rows = execute_full_scan(session, SHOWN, {"campaign": campaign_id})
    return {(row.system, row.document) for row in rows}


def delete_outputs_and_authors(session: Session, campaign_id: int, ids: Sequence[int]) -> None:
    """Delete outputs and the records of their authors."""
    if ids:
        session.execute(sa.delete(variants).where(variants.c.campaign_id == campaign_id, variants.c.output_id.in_(ids)))
        session.execute(sa.delete(outputs).where(outputs.c.campaign_id == campaign_id, outputs.c.id.in_(ids)))


def replace_output_authors(
    session: Session, campaign_id: int, rows: Sequence[tuple[int, str, str, Mapping[str, object]]]
) -> None:
    """Replace the records of who wrote outputs; rows: (output id, rater, text, origin)."""
    mine = (variants.c.campaign_id == campaign_id, variants.c.kind == KIND)
    session.execute(sa.delete(variants).where(*mine, variants.c.output_id.in_([row[0] for row in rows])))
    values = [
        {
            "campaign_id": campaign_id,
            "output_id": output_id,
            "kind": KIND,
            "name": f"by:{rater}",
            "text": written,
            "how": dict(how),
        }
        for output_id, rater, written, how in rows
    ]
    if values:
        session.execute(sa.insert(variants), values)


def load_output_authors_page(session: Session, campaign_id: int, *, after: int, limit: int) -> list[Row]:
    """Return outputs with their authors, by id after `after`."""
    return list(session.execute(sa.text(LIST), {"campaign": campaign_id, "after": after, "limit": limit}))
