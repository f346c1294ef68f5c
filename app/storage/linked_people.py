"""The people behind the raters of a campaign, for accounts that were linked to a person."""

from __future__ import annotations

from sqlalchemy import text

from app.storage.db import Session

LINKED = """
SELECT r.key, p.key AS person FROM raters r JOIN people p ON p.id = r.person_id WHERE r.campaign_id = :campaign"""


def load_person_keys_by_rater(session: Session, campaign_id: int) -> dict[str, str]:
    """Return the key of the linked person of each rater who has one, by the rater's key."""
    return {row.key: row.person for row in session.execute(text(LINKED), {"campaign": campaign_id})}
