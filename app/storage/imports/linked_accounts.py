"""Work of a person's other accounts, against which judgments that arrive by name must be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.credited_systems import ITS_CREDITS
from app.storage.query_planning import execute_full_scan

_LINKED = """
SELECT r.key AS rater, r.person_id AS person, EXISTS (
    SELECT FROM raters x WHERE x.campaign_id = :campaign AND x.person_id = r.person_id AND x.id <> r.id) AS several
FROM raters r WHERE r.campaign_id = :campaign AND r.key = ANY(:raters) AND r.person_id IS NOT NULL"""

# As in HAS_ANOTHER (`person_clashes`): tasks that are only dealt to another account do not count, and neither do
# ratings that no ranking counts. Calibration items are exempt: every rater judges them under each account.
_HELD = f"""
SELECT me.key AS rater, d.key AS document, coalesce(i.first_segment, 1) AS first,
       coalesce(i.last_segment, 2147483647) AS last, s.key AS system
FROM raters me JOIN raters r ON r.campaign_id = :campaign AND r.person_id = me.person_id AND r.id <> me.id
JOIN tasks t ON t.campaign_id = :campaign AND t.rater_id = r.id AND t.state IN ('leased', 'handed_in')
     AND t.plan IS NOT NULL
JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id AND i.role = 0 AND i.surplus_from IS NULL
JOIN documents d ON d.campaign_id = :campaign AND d.id = i.document_id AND d.key = ANY(:documents)
JOIN credits c ON {ITS_CREDITS} AND c.item_id = i.id JOIN systems s ON s.campaign_id = :campaign AND s.id = c.system_id
WHERE me.campaign_id = :campaign AND me.key = ANY(:raters)"""
_DONE = f"""
SELECT DISTINCT me.key AS rater, d.key AS document, coalesce(g.position, 1) AS first,
       coalesce(g.position, 2147483647) AS last, s.key AS system
FROM raters me JOIN raters r ON r.campaign_id = :campaign AND r.person_id = me.person_id AND r.id <> me.id
JOIN judgments j ON j.campaign_id = :campaign AND j.rater_id = r.id AND NOT j.surplus
JOIN items i ON i.campaign_id = :campaign AND i.id = j.item_id AND i.role = 0 AND i.surplus_from IS NULL
JOIN documents d ON d.campaign_id = :campaign AND d.id = i.document_id AND d.key = ANY(:documents)
JOIN credits c ON {ITS_CREDITS} AND c.item_id = i.id JOIN systems s ON s.campaign_id = :campaign AND s.id = c.system_id
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.id = j.segment_id
WHERE me.campaign_id = :campaign AND me.key = ANY(:raters)"""


@dataclass(frozen=True, slots=True)
class PersonBehindRater:
    """The person behind an account. several: whether the person has other accounts in the campaign."""

    person: int
    several: bool


def load_persons_behind_raters(
    session: Session, campaign_id: int, raters: Sequence[str]
) -> dict[str, PersonBehindRater]:
    """Return the raters, by key, who are linked to a person."""
    rows = session.execute(sa.text(_LINKED), {"campaign": campaign_id, "raters": list(raters)})
    return {row.rater: PersonBehindRater(row.person, row.several) for row in rows}


@dataclass(frozen=True, slots=True)
class OutputSegmentRange:
    """The segments from first to last of one system's output on a document."""

    first: int
    last: int

    def covers_segment(self, segment: int | None) -> bool:
        """Tell whether a segment is in the range; None: the document as a whole."""
        return segment is None or self.first <= segment <= self.last


def load_linked_accounts_segment_ranges(
    session: Session, campaign_id: int, raters: Sequence[str], documents: Sequence[str]
) -> dict[tuple[str, str, str], list[OutputSegmentRange]]:
    """Return the stretches that other accounts of a rater's person hold or judged, by (rater, document, system)."""
    keys = {"campaign": campaign_id, "raters": list(raters), "documents": list(documents)}
    ranges: dict[tuple[str, str, str], list[OutputSegmentRange]] = {}
    for query in (_HELD, _DONE):
        for row in execute_full_scan(session, query, keys):
            ranges.setdefault((row.rater, row.document, row.system), []).append(OutputSegmentRange(row.first, row.last))
    return ranges
