"""Queries about flags: problems that raters report, and what managers answer."""

from __future__ import annotations

import secrets
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.errors import NotFound
from app.storage.optional_filters import join_optional_conditions
from app.storage.tables import flags

Row = sa.Row[Any]


class FlagNotFound(NotFound):
    """There is no such flag in this campaign."""


_FLAGS = """
SELECT f.id, f.public_id, t.public_id AS task, i.position AS item, f.segment, r.key AS rater, f.reason, f.note, f.at,
       f.answer, f.answered_by, f.answered_at, d.key AS document,
       (SELECT array_agg(s.key ORDER BY s.key COLLATE "C") FROM credits c JOIN systems s ON s.id = c.system_id
        WHERE c.campaign_id = f.campaign_id AND c.item_id = i.id) AS systems
FROM flags f JOIN tasks t ON t.id = f.task_id JOIN raters r ON r.id = f.rater_id
LEFT JOIN items i ON i.id = f.item_id LEFT JOIN documents d ON d.id = i.document_id
WHERE f.campaign_id = :campaign"""


def insert_flag(
    session: Session,
    campaign_id: int,
    *,
    task_id: int,
    item_id: int | None,
    segment: int | None,
    rater_id: int,
    reason: str,
    note: str | None,
) -> str:
    """Store a flag; its name in addresses."""
    name = f"f_{secrets.token_hex(16)}"
    values = {"campaign_id": campaign_id, "public_id": name, "task_id": task_id, "item_id": item_id}
    said = {"segment": segment, "rater_id": rater_id, "reason": reason, "note": note}
    session.execute(sa.insert(flags).values(**values, **said))
    return name


def load_flags_page(session: Session, campaign_id: int, *, after: int, limit: int, answered: bool | None) -> list[Row]:
    """Flags in the order in which they came, by id after `after`."""
    only = join_optional_conditions({"answered": "(f.answer IS NOT NULL) = :answered"}, {"answered": answered})
    query = f"{_FLAGS} AND f.id > :after {only} ORDER BY f.id LIMIT :limit"
    keys = {"campaign": campaign_id, "after": after, "limit": limit, "answered": answered}
    return list(session.execute(text(query), keys))


def load_flag(session: Session, campaign_id: int, name: str) -> Row:
    """One flag. Raises FlagNotFound."""
    query = text(f"{_FLAGS} AND f.public_id = :name")
    row = session.execute(query, {"campaign": campaign_id, "name": name}).one_or_none()
    if row is None:
        raise FlagNotFound
    return row


def store_flag_answer(session: Session, flag_id: int, *, said: str, actor: str) -> None:
    """Store an answer in place of an earlier one."""
    values = {"answer": said, "answered_by": actor, "answered_at": sa.func.now()}
    session.execute(sa.update(flags).where(flags.c.id == flag_id).values(**values))
