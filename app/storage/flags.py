"""Queries about flags: problems that raters report, and the answers of managers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.errors import NotFound
from app.storage.optional_filters import join_optional_conditions
from app.storage.tables import flags
from app.storage.word_search import join_conditions_per_word, make_word_condition_values

Row = sa.Row[Any]


class FlagNotFound(NotFound):
    """There is no such flag in this campaign."""


_FLAGS = """
SELECT f.id, f.public_id, t.public_id AS task, i.position AS item, f.segment, r.key AS rater, f.reason, f.note, f.at,
       f.answer, f.answered_by, f.answered_at, f.assignee, d.key AS document,
       (SELECT array_agg(s.key ORDER BY s.key COLLATE "C") FROM credits c JOIN systems s ON s.id = c.system_id
        WHERE c.campaign_id = f.campaign_id AND c.item_id = i.id) AS systems
FROM flags f JOIN tasks t ON t.id = f.task_id JOIN raters r ON r.id = f.rater_id
LEFT JOIN items i ON i.id = f.item_id LEFT JOIN documents d ON d.id = i.document_id
WHERE f.campaign_id = :campaign"""


LOOKED_AT = 500
"""The most flags that a page searches."""
_SEARCHED = "concat_ws(' ', replace(f.reason, '_', ' '), f.note, r.key, d.key, f.assignee)"
_LOOKED = """
SELECT f.id FROM flags f WHERE f.campaign_id = :campaign AND f.id > :after {only} ORDER BY f.id LIMIT :looked"""


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
    """Store a flag and return its public id."""
    name = f"f_{secrets.token_hex(16)}"
    values = {"campaign_id": campaign_id, "public_id": name, "task_id": task_id, "item_id": item_id}
    said = {"segment": segment, "rater_id": rater_id, "reason": reason, "note": note}
    session.execute(sa.insert(flags).values(**values, **said))
    return name


def load_flags_page(
    session: Session,
    campaign_id: int,
    *,
    after: int,
    limit: int,
    answered: bool | None,
    rater: str | None = None,
    words: Sequence[str] = (),
) -> tuple[list[Row], int | None]:
    """Return flags in order of arrival, by id after `after`; and the id of the last flag searched, if there are more.

    rater: a key. words: each is a part of reason, note, rater, document or assignee, ignoring case. For these, a page
    searches at most LOOKED_AT flags, so it may have fewer than `limit` although there are more.
    """
    only = join_optional_conditions({"answered": "(f.answer IS NOT NULL) = :answered"}, {"answered": answered})
    keys: dict[str, object] = {"campaign": campaign_id, "after": after, "limit": limit, "answered": answered}
    conditions = "" if rater is None else " AND r.key = :rater"
    conditions += join_conditions_per_word(_SEARCHED, words)
    if not conditions:
        query = f"{_FLAGS} AND f.id > :after {only} ORDER BY f.id LIMIT :limit"
        return list(session.execute(text(query), keys)), None
    keys |= {"looked": LOOKED_AT, "rater": rater, **make_word_condition_values(words)}
    looked = _LOOKED.format(only=only)
    count, last = session.execute(text(f"SELECT count(*), max(id) FROM ({looked}) f"), keys).one()
    query = f"{_FLAGS} AND f.id IN ({looked}) {conditions} ORDER BY f.id LIMIT :limit"
    rows = list(session.execute(text(query), keys))
    return rows, int(last) if count == LOOKED_AT and len(rows) < limit else None


def load_flag(session: Session, campaign_id: int, public_id: str) -> Row:
    """Return a flag. Raises FlagNotFound."""
    query = text(f"{_FLAGS} AND f.public_id = :public_id")
    row = session.execute(query, {"campaign": campaign_id, "public_id": public_id}).one_or_none()
    if row is None:
        raise FlagNotFound
    return row


def lock_flags_by_public_id(session: Session, campaign_id: int, public_ids: Sequence[str]) -> dict[str, Row]:
    """Return the flags with these public ids, by public id, locked until the transaction ends."""
    query = text(f"{_FLAGS} AND f.public_id = ANY(:public_ids) ORDER BY f.id FOR UPDATE OF f")
    rows = session.execute(query, {"campaign": campaign_id, "public_ids": list(public_ids)})
    return {row.public_id: row for row in rows}


def store_flag_answer(session: Session, flag_id: int, *, answer: str, actor: str) -> None:
    """Store an answer, replacing an earlier one."""
    update_flags(session, [flag_id], {"answer": answer}, actor=actor)


def update_flags(session: Session, flag_ids: Sequence[int], values: Mapping[str, str | None], *, actor: str) -> None:
    """Store answer, assignee or both for several flags. An answer of None opens the flags again."""
    stored: dict[str, object] = dict(values)
    if "answer" in values:
        answered = values["answer"] is not None
        stored |= {"answered_by": actor if answered else None, "answered_at": sa.func.now() if answered else None}
    session.execute(sa.update(flags).where(flags.c.id.in_(flag_ids)).values(**stored))
