"""Known errors that were inserted into texts: attention checks of imported files, and degraded outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from app.stats.quality.seeded_errors import SeededSegment
from app.stats.ratings import RatingRole
from app.storage.db import Session
from app.storage.query_planning import execute_full_scan

Ids = npt.NDArray[np.int64]
CHECKS = """
SELECT j.id, r.key AS rater, a ->> 'category' AS said
FROM judgments j JOIN raters r ON r.campaign_id = :campaign AND r.id = j.rater_id
CROSS JOIN LATERAL jsonb_array_elements(j.meta -> 'attention') a
WHERE j.campaign_id = :campaign AND jsonb_typeof(j.meta -> 'attention') = 'array' AND a ->> 'category' IS NOT NULL"""
# If several systems gave an output, the first one by id was shown, as in `storage.tasks`.
DEGRADED = f"""
SELECT DISTINCT ON (j.id) j.id, r.key AS rater, v.how -> 'changed' AS changed, j.payload -> :field AS marked
FROM items i JOIN judgments j ON j.campaign_id = :campaign AND j.item_id = i.id AND j.segment_id IS NOT NULL
JOIN raters r ON r.campaign_id = :campaign AND r.id = j.rater_id
JOIN credits c ON c.campaign_id = :campaign AND c.item_id = i.id
JOIN outputs o ON o.campaign_id = :campaign AND o.system_id = c.system_id AND o.segment_id = j.segment_id
JOIN variants v ON v.campaign_id = :campaign AND v.output_id = o.id AND v.name = i.variant AND v.kind = 'degraded'
WHERE i.campaign_id = :campaign AND i.role = {RatingRole.DEGRADED.value} AND i.variant IS NOT NULL
      AND jsonb_typeof(v.how -> 'changed') = 'array' AND jsonb_typeof(j.payload -> :field) = 'array'
ORDER BY j.id, o.id"""


def load_imported_attention_check_results(
    session: Session, campaign_id: int, judgment_ids: Ids
) -> dict[str, list[str]]:
    """Return the results of the attention checks in these judgments, as imported, by rater."""
    rows = execute_full_scan(session, CHECKS, {"campaign": campaign_id}).all()
    counted = np.isin(np.array([row.id for row in rows], dtype=np.int64), judgment_ids)
    checks_by_rater = defaultdict(list)
    for row, counts in zip(rows, counted.tolist(), strict=True):
        if counts:
            checks_by_rater[row.rater].append(row.said)
    return dict(checks_by_rater)


def load_judged_degraded_segments(
    session: Session, campaign_id: int, judgment_ids: Ids, *, field: str
) -> list[SeededSegment]:
    """Return the degraded segments behind these judgments. field: the field of the payload with the errors."""
    rows = execute_full_scan(session, DEGRADED, {"campaign": campaign_id, "field": field}).all()
    counted = np.isin(np.array([row.id for row in rows], dtype=np.int64), judgment_ids)
    return [
        SeededSegment(row.rater, [(first, last) for first, last in row.changed], _spans_with_place(row.marked))
        for row, counts in zip(rows, counted.tolist(), strict=True)
        if counts
    ]


def _spans_with_place(marked: Sequence[Mapping[str, object]]) -> list[tuple[int, int]]:
    """Return the spans of the errors that have a position in the output."""
    ends = [(one.get("start"), one.get("end")) for one in marked if one.get("side", "target") == "target"]
    return [(start, end) for start, end in ends if isinstance(start, int) and isinstance(end, int)]
