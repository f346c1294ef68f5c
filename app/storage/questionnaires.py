"""Queries about answers to questionnaires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.optional_filters import join_optional_conditions
from app.storage.tables import enrolments, questionnaire_answers
from app.storage.word_search import join_conditions_per_word, make_word_condition_values

Row = sa.Row[Any]
LATEST = """
SELECT DISTINCT ON (q.moment) q.moment, q.n, q.answers, q.at FROM questionnaire_answers q
WHERE q.campaign_id = :campaign AND q.rater_id = :rater ORDER BY q.moment, q.n DESC"""
_OF_ALL = """
SELECT r.key AS rater, t.key AS team, x.moments
FROM enrolments e JOIN raters r ON r.campaign_id = :campaign AND r.id = e.rater_id
LEFT JOIN teams t ON t.campaign_id = :campaign AND t.id = e.team_id
LEFT JOIN LATERAL (
    SELECT jsonb_object_agg(w.moment, jsonb_build_object('n', w.n, 'answers', w.answers, 'at', w.at)) AS moments
    FROM (SELECT DISTINCT ON (q.moment) q.* FROM questionnaire_answers q
          WHERE q.campaign_id = :campaign AND q.rater_id = r.id ORDER BY q.moment, q.n DESC) w) x ON true
WHERE e.campaign_id = :campaign AND e.state <> 'erased' {conditions}
ORDER BY r.key COLLATE "C" {way} LIMIT :limit"""
_SEARCHED = """concat_ws(' ', r.key, t.key,
    (SELECT string_agg(a #>> '{}', ' ') FROM jsonb_path_query(x.moments, '$.*.answers.*[*]') a))"""
_GROUPS = """
SELECT DISTINCT ON (r.key, q.moment) r.key AS rater, q.answers FROM questionnaire_answers q
JOIN raters r ON r.campaign_id = :campaign AND r.id = q.rater_id
WHERE q.campaign_id = :campaign ORDER BY r.key, q.moment, q.n DESC"""


def load_rater_answers(session: Session, campaign_id: int, rater_id: int) -> dict[str, Row]:
    """Return the latest answers of a rater, by moment."""
    rows = session.execute(text(LATEST), {"campaign": campaign_id, "rater": rater_id})
    return {row.moment: row for row in rows}


def has_answered(session: Session, campaign_id: int, rater_id: int, moment: str) -> bool:
    """Tell whether a rater has answered the questionnaire of a moment."""
    q = questionnaire_answers.c
    asked = sa.select(q.n).where(q.campaign_id == campaign_id, q.rater_id == rater_id, q.moment == moment)
    return bool(session.execute(sa.select(asked.exists())).scalar_one())


def insert_answers_if_changed(
    session: Session, campaign_id: int, rater_id: int, moment: str, answers: Mapping[str, object]
) -> None:
    """Store answers as the next revision unless they equal the latest. The rater's other answers wait meanwhile."""
    session.execute(sa.select(enrolments.c.rater_id).where(enrolments.c.rater_id == rater_id).with_for_update())
    latest = load_rater_answers(session, campaign_id, rater_id).get(moment)
    if latest is not None and latest.answers == answers:
        return
    row = {"campaign_id": campaign_id, "rater_id": rater_id, "moment": moment, "answers": dict(answers)}
    session.execute(sa.insert(questionnaire_answers).values(n=1 if latest is None else latest.n + 1, **row))


def load_answers_page_by_rater(
    session: Session,
    campaign_id: int,
    *,
    after: str | None,
    limit: int,
    answered: bool | None = None,
    descending: bool = False,
    words: Sequence[str] = (),
) -> Sequence[Row]:
    """Return the latest answers of every enrolled rater after a key, including raters without answers.

    answered: only raters with answers, or only the others. descending: by key downwards. words: each is a part of the
    rater's key, the team's key or the answers, ignoring case.
    """
    keys: dict[str, object] = {"campaign": campaign_id, "after": after, "limit": limit, "answered": answered}
    only = {"after": f'r.key COLLATE "C" {"<" if descending else ">"} :after'}
    conditions = join_optional_conditions({**only, "answered": "(x.moments IS NOT NULL) = :answered"}, keys)
    conditions += join_conditions_per_word(_SEARCHED, words)
    query = _OF_ALL.format(conditions=conditions, way="DESC" if descending else "ASC")
    return session.execute(text(query), {**keys, **make_word_condition_values(words)}).all()


def load_answers_of_all_raters(session: Session, campaign_id: int) -> dict[str, dict[str, object]]:
    """Return the latest answers of all raters, by the rater's key and the name of the question."""
    answers: dict[str, dict[str, object]] = {}
    for row in session.execute(text(_GROUPS), {"campaign": campaign_id}):
        answers.setdefault(row.rater, {}).update(row.answers)
    return answers


def erase_answers(session: Session, campaign_id: int, rater_id: int) -> None:
    """Delete a rater's answers, because they reveal who the rater is."""
    q = questionnaire_answers.c
    session.execute(sa.delete(questionnaire_answers).where(q.campaign_id == campaign_id, q.rater_id == rater_id))
