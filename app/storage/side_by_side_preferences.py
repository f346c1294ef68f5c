"""Queries about answers to whole screens: the columns that raters prefer, and the systems in these columns."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.attention_checks import ROLE as ATTENTION

Row = sa.Row[Any]

# Columns are numbered in the order in which the screen shows its items. Attention checks compare no systems.
_PREFERENCES = f"""
WITH said AS (
    SELECT DISTINCT ON (task_id, screen, rater_id) task_id, screen, rater_id, payload, surplus FROM screen_judgments
    WHERE campaign_id = :campaign AND version <= :version ORDER BY task_id, screen, rater_id, revision DESC),
shown AS (
    SELECT i.task_id, i.screen, min(d.key) AS document,
           bool_or(i.role <> 0) AS control, bool_or(i.surplus_from <= :version) AS surplus,
           min(coalesce(i.first_segment, 0)) AS first,
           jsonb_agg((SELECT coalesce(jsonb_agg(s.key ORDER BY s.key COLLATE "C"), '[]') FROM credits c
                      JOIN systems s ON s.id = c.system_id WHERE c.campaign_id = :campaign AND c.item_id = i.id)
                     ORDER BY coalesce(i.column_, 1), i.position) AS columns
    FROM items i JOIN documents d ON d.id = i.document_id
    WHERE i.campaign_id = :campaign AND i.task_id IN (SELECT task_id FROM said) AND i.screen IS NOT NULL
    GROUP BY i.task_id, i.screen HAVING bool_and(i.role <> {ATTENTION}))
SELECT t.key AS task, a.screen, r.key AS rater, w.document, w.control,
       a.surplus OR coalesce(w.surplus, false) AS surplus, w.columns, a.payload -> 'preference' AS preference
FROM said a JOIN shown w USING (task_id, screen) JOIN tasks t ON t.id = a.task_id JOIN raters r ON r.id = a.rater_id
ORDER BY w.document COLLATE "C", w.first, t.key COLLATE "C", a.screen, r.key COLLATE "C" """


def load_side_by_side_preferences(session: Session, campaign_id: int, version: int) -> list[Row]:
    """Return the latest answer of each rater about each screen, as of a data version.

    columns: the systems of each column, in order. preference: ranks of the columns from 1, best first. control: the
    screen has an item that is not a plain rating. surplus: rankings do not count it.
    """
    return list(session.execute(text(_PREFERENCES), {"campaign": campaign_id, "version": version}))
