"""Word alignments of outputs from an import: checked against the source, and stored once."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.alignment import NO_SOURCE, find_alignment_fault
from app.domain.errors import Place
from app.storage.imports.merge import MOST_PLACES, ImportContradiction
from app.storage.imports.staging import OUTPUTS_OF
from app.storage.query_planning import execute_full_scan

ANY = "SELECT EXISTS (SELECT FROM staged_alignments)"
_OUTPUTS = OUTPUTS_OF.format(table="staged_alignments")
STAGED = f"""
SELECT w.file, w.line, w.system || ' on ' || w.document || ':' || w.position, w.alignment, g.source, x.alignment
FROM {_OUTPUTS} ORDER BY w.file, w.line"""
STORE = f"""
UPDATE outputs o SET alignment = w.alignment FROM {_OUTPUTS}
WHERE o.campaign_id = :campaign AND o.id = x.id AND o.alignment IS NULL"""


def insert_staged_word_alignments(session: Session, campaign_id: int) -> int:
    """Store the staged alignments, once their outputs are stored; return how many are new.

    Raises ImportContradiction, with file and line, if an alignment names a word that the source does not have, or if
    the output already has a different alignment.
    """
    keys = {"campaign": campaign_id}
    if not session.execute(text(ANY)).scalar_one():
        return 0
    places: list[Place] = []
    for file, line, what, alignment, source, stored in execute_full_scan(session, STAGED, keys, batch=500):
        wrong = NO_SOURCE if source is None else find_alignment_fault(alignment, source=source, text=None)
        if wrong is None and stored is not None and stored != alignment:
            wrong = f"the output of {what} has another alignment elsewhere"
        if wrong is not None:
            places.append(Place((file, line, "alignment"), wrong))
    if places:
        raise ImportContradiction(places=tuple(places[:MOST_PLACES]))
    return int(getattr(session.execute(text(STORE), keys), "rowcount", 0))
