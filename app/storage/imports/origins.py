"""The origins of prefilled errors and of output texts, as a file states them; stored ones stay."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.imports.staging import OUTPUTS_OF

ANY = "SELECT EXISTS (SELECT FROM staged_origins)"
_OUTPUTS = OUTPUTS_OF.format(table="staged_origins")
# Only for errors that equal those in the file; any others were stored by another source, which takes precedence.
PREFILLS = f"""
UPDATE variants v SET how = w.prefill_origin
FROM {_OUTPUTS} JOIN staged_outputs o ON o.system = w.system AND o.document = w.document AND o.position = w.position
WHERE v.campaign_id = :campaign AND v.output_id = x.id AND v.kind = 'prefill' AND v.name = 'default' AND v.how IS NULL
  AND v.spans = o.prefill AND w.prefill_origin IS NOT NULL"""
WRITTEN = f"""
INSERT INTO variants (campaign_id, output_id, kind, name, text, how)
SELECT :campaign, x.id, 'back_translation', 'by:' || (w.written ->> 'rater'), w.written ->> 'text',
       w.written -> 'origin'
FROM {_OUTPUTS} WHERE w.written IS NOT NULL AND NOT EXISTS (
    SELECT FROM variants v WHERE v.campaign_id = :campaign AND v.output_id = x.id AND v.kind = 'back_translation')
ORDER BY x.id ON CONFLICT DO NOTHING"""


def store_staged_output_origins(session: Session, campaign_id: int) -> None:
    """Store the staged origins, once their outputs are stored."""
    if session.execute(text(ANY)).scalar_one():
        for statement in (PREFILLS, WRITTEN):
            session.execute(text(statement), {"campaign": campaign_id})
