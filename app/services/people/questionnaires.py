"""Questionnaires: questions to raters before their first task and after their last one, and the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.domain.errors import Invalid, NotFound, Place
from app.domain.questionnaires import (
    MOMENTS,
    NAME,
    Moment,
    Question,
    Questionnaires,
    parse_answers,
    read_questionnaires,
)
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.settings import change_campaign_settings
from app.services.people.raters import ActingRater
from app.storage import campaigns, questionnaires
from app.storage.db import Session

AnswersSort = Literal["rater", "-rater"]


class QuestionnaireNotFound(NotFound):
    """The campaign asks no questions at that time."""

    published = "NoQuestions"


@dataclass(frozen=True, slots=True)
class OwnQuestionnaire:
    """The questions to a rater at one moment. answers: the latest, None if there are none.

    revision: from 1; 0 without answers.
    """

    moment: Moment
    questions: tuple[Question, ...]
    outstanding: bool
    answers: Mapping[str, object] | None
    revision: int
    at: datetime | None


@dataclass(frozen=True, slots=True)
class QuestionnaireAnswers:
    """A rater's answers by moment, for the manager."""

    rater: str
    team: str | None
    before: Mapping[str, object] | None
    after: Mapping[str, object] | None


def get_campaign_and_questionnaires(session: Session, campaign: str) -> tuple[CampaignInfo, Questionnaires]:
    """Return the campaign and its questionnaires. Raises NotFound."""
    about = get_campaign(session, campaign)
    return about, read_questionnaires(about.settings)


def put_questionnaires(
    session: Session, campaign: str, asked: Questionnaires, *, has_seen_version: Callable[[int], bool], actor: str
) -> tuple[CampaignInfo, Questionnaires]:
    """Change the questions, while the campaign is a draft.

    has_seen_version: whether the caller saw a given settings version. Raises CampaignEditConflict,
    CampaignChangeTooLate, Invalid, NotFound.
    """
    settings = {one: value for one, value in get_campaign(session, campaign).settings.items() if one != NAME}
    if asked.before or asked.after:
        settings[NAME] = asked.model_dump(mode="json", exclude_defaults=True)
    change_campaign_settings(session, campaign, {"settings": settings}, has_seen_version=has_seen_version, actor=actor)
    return get_campaign_and_questionnaires(session, campaign)


def is_questionnaire_outstanding(
    session: Session, settings: Mapping[str, object], rater: ActingRater, moment: Moment
) -> bool:
    """Return whether a rater still has to answer the questions of a moment."""
    if NAME not in settings or not read_questionnaires(settings).has_questions_at(moment):
        return False
    return not questionnaires.has_answered(session, rater.campaign_id, rater.rater_id, moment)


def list_own_questionnaires(session: Session, rater: ActingRater) -> list[OwnQuestionnaire]:
    """List the questions to a rater by moment, with the latest answers; moments without questions are left out."""
    asked = get_campaign_and_questionnaires(session, rater.campaign)[1]
    given = questionnaires.load_rater_answers(session, rater.campaign_id, rater.rater_id)
    own = []
    for moment in MOMENTS:
        if asked.questions_at(moment):
            row = given.get(moment)
            shown = row is not None and (rater.answers_since is None or row.at >= rater.answers_since)
            own.append(
                OwnQuestionnaire(
                    moment,
                    asked.questions_at(moment),
                    outstanding=row is None and asked.has_questions_at(moment),
                    answers=row.answers if row is not None and shown else None,
                    revision=0 if row is None else row.n,
                    at=None if row is None else row.at,
                )
            )
    return own


def put_own_questionnaire_answers(
    session: Session, rater: ActingRater, moment: Moment, answers: Mapping[str, object]
) -> OwnQuestionnaire:
    """Store a rater's answers. Changed answers are a new revision; the same answers change nothing.

    Raises QuestionnaireNotFound, and Invalid naming each answer that is not valid.
    """
    asked = get_campaign_and_questionnaires(session, rater.campaign)[1]
    if not asked.questions_at(moment):
        raise QuestionnaireNotFound
    parsed, places = parse_answers(asked.questions_at(moment), answers)
    if places:
        where = tuple(Place(("body", "answers", *place.loc), place.msg) for place in places)
        raise Invalid("the answers are not valid", places=where)
    stored = {name: list(value) if isinstance(value, tuple) else value for name, value in parsed.items()}
    questionnaires.insert_answers_if_changed(session, rater.campaign_id, rater.rater_id, moment, stored)
    return next(one for one in list_own_questionnaires(session, rater) if one.moment == moment)


def list_questionnaire_answers(
    session: Session,
    campaign: str,
    *,
    after: str | None,
    limit: int,
    answered: bool | None = None,
    sort: AnswersSort = "rater",
    q: str = "",
) -> list[QuestionnaireAnswers]:
    """List the latest answers of every enrolled rater in a given order, starting after a key. Raises NotFound.

    answered: only raters with answers, or only the others. q: words, each of which must be part of the rater's key, the
    team's key or the answers.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows = questionnaires.load_answers_page_by_rater(
        session,
        campaign_id,
        after=after,
        limit=limit,
        answered=answered,
        descending=sort == "-rater",
        words=q.split(),
    )
    return [
        QuestionnaireAnswers(
            row.rater, row.team, *((row.moments or {}).get(moment, {}).get("answers") for moment in MOMENTS)
        )
        for row in rows
    ]
