"""Queries about campaigns that Pearmut's own pages serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.comments import ON_OUTPUT, ON_SCREEN
from app.storage.comments import OF_OUTPUT
from app.storage.tables import pearmut_answers, pearmut_campaigns, pearmut_users, raters, tokens

Row = sa.Row[Any]

# A task that was handed over keeps its number; the task that was withdrawn for it has the same number.
_TASKS = """
SELECT DISTINCT ON (number) (t.meta ->> 'number')::int AS number, t.id, t.public_id, t.key, t.state, t.rater_id, t.queue
FROM tasks t WHERE t.campaign_id = :campaign AND t.plan IS NOT NULL AND t.state IN ('free', 'leased', 'handed_in')
ORDER BY number, t.id DESC"""
_LOCKED = """
SELECT t.id, t.public_id, t.key, t.state, t.rater_id FROM tasks t
WHERE t.campaign_id = :campaign AND t.plan IS NOT NULL AND (t.meta ->> 'number')::int = :number
  AND t.state IN ('free', 'leased', 'handed_in') ORDER BY t.id DESC LIMIT 1 FOR NO KEY UPDATE"""
_ITEMS = """
SELECT i.key, i.position, s.key AS system FROM items i
JOIN credits c ON c.campaign_id = :campaign AND c.item_id = i.id
JOIN systems s ON s.campaign_id = :campaign AND s.id = c.system_id
WHERE i.campaign_id = :campaign AND i.task_id = :task ORDER BY i.position"""
_CLAIM = """UPDATE tasks SET rater_id = :rater, pooled = true WHERE campaign_id = :campaign AND id = :task"""
_ACTIVITY = """
INSERT INTO activity (campaign_id, task_id, session, seq, rater_id, kind, at_ms)
SELECT :campaign, :task, :session, e.seq - 1, :rater, e.kind, e.at_ms
FROM unnest(CAST(:kinds AS text[]), CAST(:at AS bigint[])) WITH ORDINALITY AS e(kind, at_ms, seq)
ON CONFLICT (task_id, session, seq) DO NOTHING"""


def insert_pearmut_campaign(
    session: Session, campaign_id: int, *, loaded: str, token_hash: bytes | None, old_ids: bool
) -> None:
    """Store the loaded campaign as JSON text."""
    values = {"campaign_id": campaign_id, "loaded": loaded, "token_hash": token_hash, "old_ids": old_ids}
    session.execute(sa.insert(pearmut_campaigns).values(**values))


def find_pearmut_campaign(session: Session, campaign_id: int, *, loaded: bool) -> Row | None:
    """Return its token and whether names are credentials. loaded: also the loaded campaign, which may be large."""
    c = pearmut_campaigns.c
    shown = [c.token_hash, c.old_ids, *([c.loaded] if loaded else [])]
    return session.execute(sa.select(*shown).where(c.campaign_id == campaign_id)).one_or_none()


def insert_pearmut_user(session: Session, campaign_id: int, rater_id: int, values: Mapping[str, object]) -> None:
    """Add a user."""
    session.execute(sa.insert(pearmut_users).values(campaign_id=campaign_id, rater_id=rater_id, **values))


def _users(campaign_id: int) -> sa.Select[Any]:
    u = pearmut_users.c
    shown = sa.select(pearmut_users, raters.c.key.label("rater"), tokens.c.prefix)
    joined = pearmut_users.join(raters, raters.c.id == u.rater_id).outerjoin(tokens, tokens.c.id == u.token_id)
    return shown.select_from(joined).where(u.campaign_id == campaign_id)


def load_pearmut_users(session: Session, campaign_id: int) -> Sequence[Row]:
    """Return all users, in order."""
    return session.execute(_users(campaign_id).order_by(pearmut_users.c.position)).all()


def find_user_by_pearmut_id(session: Session, campaign_id: int, user_id: str) -> Row | None:
    """Return the user with this id in Pearmut."""
    return session.execute(_users(campaign_id).where(pearmut_users.c.user_id == user_id)).one_or_none()


def find_user_of_rater(session: Session, campaign_id: int, rater_id: int) -> Row | None:
    """Return the user of a rater."""
    return session.execute(_users(campaign_id).where(pearmut_users.c.rater_id == rater_id)).one_or_none()


def update_user_note(session: Session, rater_id: int, note: str | None) -> None:
    """Store a manager's note on a user, or remove it."""
    session.execute(sa.update(pearmut_users).where(pearmut_users.c.rater_id == rater_id).values(note=note))


def insert_answer(session: Session, campaign_id: int, rater_id: int, values: Mapping[str, object]) -> int | None:
    """Store an answer from a page and return its id; None if the same answer was stored before."""
    made = insert(pearmut_answers).values(campaign_id=campaign_id, rater_id=rater_id, **values)
    return session.execute(made.on_conflict_do_nothing().returning(pearmut_answers.c.id)).scalar()


def load_answers(
    session: Session, campaign_id: int, *, rater_id: int | None = None, place: str | None = None, resets: bool = False
) -> Sequence[Row]:
    """Return answers in order of arrival: of one user or all, for one place or all. resets: include reset ones."""
    a = pearmut_answers.c
    query = sa.select(pearmut_answers).where(a.campaign_id == campaign_id).order_by(a.id)
    for column, value in ((a.rater_id, rater_id), (a.place, place)):
        query = query if value is None else query.where(column == value)
    return session.execute(query if resets else query.where(~a.reset)).all()


def load_answer_metadata(session: Session, campaign_id: int) -> Sequence[Row]:
    """Return who answered what, without the answers: rater, place, check results, and times; in order of arrival."""
    a = pearmut_answers.c
    query = sa.select(a.id, a.rater_id, a.place, a.checks, a.begun, a.ended, a.seconds, a.skipped)
    return list(session.execute(query.where(a.campaign_id == campaign_id, ~a.reset).order_by(a.id)))


def mark_answers_reset(session: Session, campaign_id: int, rater_id: int) -> None:
    """Set aside everything that a user's pages sent."""
    a = pearmut_answers.c
    here = (a.campaign_id == campaign_id) & (a.rater_id == rater_id)
    session.execute(sa.update(pearmut_answers).where(here).values(reset=True))


def erase_user_personal_data(session: Session, campaign_id: int, rater_id: int) -> None:
    """Erase what might identify a user: the name, the note, the answers to forms, and the comments."""
    a, u = pearmut_answers.c, pearmut_users.c
    here = (a.campaign_id == campaign_id) & (a.rater_id == rater_id)
    name = sa.select(raters.c.key).where(raters.c.id == rater_id).scalar_subquery()
    said: dict[str, object] = {"user_id": name, "note": None, "token_id": None}
    session.execute(sa.update(pearmut_users).where(u.campaign_id == campaign_id, u.rater_id == rater_id).values(said))
    session.execute(sa.delete(pearmut_answers).where(here & a.place.op("~")("^(welcome|goodbye)_")))
    for row in session.execute(sa.select(a.id, a.body).where(here)).all():
        session.execute(sa.update(pearmut_answers).where(a.id == row.id).values(body=_without_comments(row.body)))


def _without_comments(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer without the comments on the screen and on the outputs of each item."""
    kept = {name: value for name, value in body.items() if name != ON_SCREEN}
    if isinstance(kept.get("annotation"), list):
        kept["annotation"] = [_without_fields(item) for item in kept["annotation"]]
    return kept


def _without_fields(item: object) -> object:
    """Return the answers to an item, by model, without their text fields."""
    if not isinstance(item, Mapping):
        return item
    return {
        model: {**answer, ON_OUTPUT: None} if isinstance(answer, Mapping) and answer.get(ON_OUTPUT) else answer
        for model, answer in item.items()
    }


def load_pearmut_planned_tasks(session: Session, campaign_id: int) -> Sequence[Row]:
    """Return the tasks of the plan, by number."""
    return session.execute(text(_TASKS), {"campaign": campaign_id}).all()


def lock_planned_task(session: Session, campaign_id: int, number: int) -> Row | None:
    """Return a task of the plan by its number, locked."""
    return session.execute(text(_LOCKED), {"campaign": campaign_id, "number": number}).one_or_none()


def load_task_items(session: Session, campaign_id: int, task_id: int) -> Sequence[Row]:
    """Return the items of a task, each with its system."""
    return session.execute(text(_ITEMS), {"campaign": campaign_id, "task": task_id}).all()


def claim_pooled_task(session: Session, campaign_id: int, task_id: int, rater_id: int) -> None:
    """Give a free task of the pool to a rater."""
    session.execute(text(_CLAIM), {"campaign": campaign_id, "task": task_id, "rater": rater_id})


def insert_user_activity_events(
    session: Session, campaign_id: int, task_id: int, rater_id: int, *, page: str, events: Sequence[tuple[str, int]]
) -> None:
    """Store events of a page, each once. page: names the page's session. events: kind, and time in ms."""
    keys = {"campaign": campaign_id, "task": task_id, "rater": rater_id, "session": page}
    session.execute(text(_ACTIVITY), {**keys, "kinds": [k for k, _ in events], "at": [at for _, at in events]})


_JUDGED = f"""
SELECT DISTINCT ON (i.id, g.position) s.key AS system, g.position, j.payload,
       coalesce(j.meta, '{{}}') || jsonb_strip_nulls(jsonb_build_object('{ON_OUTPUT}', {OF_OUTPUT})) AS meta
FROM items i JOIN credits c ON c.campaign_id = :campaign AND c.item_id = i.id
JOIN systems s ON s.campaign_id = :campaign AND s.id = c.system_id
JOIN judgments j ON j.item_id = i.id AND j.rater_id = :rater
JOIN segments g ON g.campaign_id = :campaign AND g.id = j.segment_id
LEFT JOIN voids v ON v.campaign_id = :campaign AND v.judgment_id = j.id
WHERE i.campaign_id = :campaign AND i.task_id = :task AND v.judgment_id IS NULL
ORDER BY i.id, g.position, j.revision DESC"""


def load_rater_judgments_of_task(session: Session, campaign_id: int, task_id: int, rater_id: int) -> Sequence[Row]:
    """Return a rater's latest judgment of each output of a task, with its metadata."""
    return session.execute(text(_JUDGED), {"campaign": campaign_id, "task": task_id, "rater": rater_id}).all()
