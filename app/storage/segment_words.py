"""Word counts of sources, for counts by segment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.stats.ratings import RatingLabels
from app.storage.db import Session
from app.storage.query_planning import execute_full_scan
from app.storage.word_count_sql import WORDS_OF

WORDS = f"""
SELECT d.key, g.position, {WORDS_OF.format(text="g.source")} AS words
FROM segments g JOIN documents d ON d.campaign_id = g.campaign_id AND d.id = g.document_id
WHERE g.campaign_id = :campaign AND g.source IS NOT NULL"""


def load_source_word_counts(session: Session, campaign_id: int, labels: RatingLabels) -> npt.NDArray[np.float64]:
    """Return the number of source words of each segment code, counted at white space; NaN for an unknown source."""
    rows = execute_full_scan(session, WORDS, {"campaign": campaign_id})
    known = {(row.key, row.position): row.words for row in rows}
    document, position = labels.segment_document.tolist(), labels.segment_position.tolist()
    at = ((labels.documents[d], p) for d, p in zip(document, position, strict=True))
    counts = (known.get(one) for one in at)
    return np.array([np.nan if words is None else words for words in counts], dtype=np.float64)


HASHES = """
SELECT d.key, g.position, md5(btrim(g.source)) AS digest
FROM segments g JOIN documents d ON d.campaign_id = g.campaign_id AND d.id = g.document_id
WHERE g.campaign_id = :campaign AND g.source IS NOT NULL"""


def load_source_digests(session: Session, campaign_id: int) -> dict[tuple[str, int], str]:
    """Return a digest of each known source by document key and position, to compare the texts of two campaigns."""
    rows = execute_full_scan(session, HASHES, {"campaign": campaign_id})
    return {(row.key, row.position): row.digest for row in rows}
