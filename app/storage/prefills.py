"""Prefilled errors: which exist, which ones a plan shows, and how raters answered them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from app.storage.db import Session
from app.storage.query_planning import execute_full_scan
from app.storage.tables import items, tasks, variants
from app.storage.test_sets import PREFILL

RATING = 0  # `role` of an item that is judged for its own sake


def has_prefill_with_name(session: Session, campaign_id: int, name: str) -> bool:
    """Tell whether any output has prefilled errors with this name."""
    query = sa.select(variants.c.output_id).where(
        variants.c.campaign_id == campaign_id, variants.c.kind == PREFILL, variants.c.name == name
    )
    return session.execute(query.limit(1)).first() is not None


def find_planned_prefill_name(session: Session, campaign_id: int) -> tuple[str | None] | None:
    """Return the name of the errors that the plan's items show, (None,) if they show none; None if there is no plan."""
    row = session.execute(_select_planned_outputs(campaign_id).limit(1)).first()
    return None if row is None else (row.prefill,)


def is_prefill_in_plan(session: Session, campaign_id: int, name: str) -> bool:
    """Tell whether any item of a plan shows errors with this name."""
    return (
        session.execute(_select_planned_outputs(campaign_id).where(items.c.prefill == name).limit(1)).first()
        is not None
    )


def _select_planned_outputs(campaign_id: int) -> sa.Select[tuple[str | None]]:
    joined = items.join(tasks, (tasks.c.campaign_id == items.c.campaign_id) & (tasks.c.id == items.c.task_id))
    return (
        sa.select(items.c.prefill)
        .select_from(joined)
        .where(tasks.c.campaign_id == campaign_id, tasks.c.plan.is_not(None), items.c.role == RATING)
    )


ANY_SHOWN = "SELECT EXISTS (SELECT FROM items WHERE campaign_id = :campaign AND prefill IS NOT NULL)"
# As tasks show them: the errors of the first credited output. Control items show only errors that fit their text, and
# are omitted here.
ANSWERED = """
SELECT DISTINCT ON (j.id) j.id, j.payload, coalesce(p.spans, '[]'::jsonb) AS spans
FROM items i
JOIN judgments j ON j.campaign_id = :campaign AND j.item_id = i.id AND j.version <= :version
JOIN credits c ON c.campaign_id = :campaign AND c.item_id = i.id
JOIN outputs o ON o.campaign_id = :campaign AND o.system_id = c.system_id AND o.segment_id = j.segment_id
LEFT JOIN variants p ON p.campaign_id = :campaign AND p.output_id = o.id AND p.name = i.prefill AND p.kind = 'prefill'
WHERE i.campaign_id = :campaign AND i.prefill IS NOT NULL AND i.role = 0
ORDER BY j.id, o.id"""


def stream_answers_with_prefills(session: Session, campaign_id: int, version: int) -> Iterator[sa.Row[Any]]:
    """Yield answers about items judged for their own sake with prefilled errors, together with these errors.

    All revisions up to a data version, by id; spans are empty if an output had no errors.
    """
    if session.execute(sa.text(ANY_SHOWN), {"campaign": campaign_id}).scalar_one():
        yield from execute_full_scan(session, ANSWERED, {"campaign": campaign_id, "version": version}, batch=500)
