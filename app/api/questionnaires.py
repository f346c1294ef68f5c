"""Questionnaires: questions to raters before their first task and after their last one, and the answers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field, JsonValue

from app.api.models.times import Time
from app.domain.questionnaires import (
    MOST_QUESTIONS,
    Moment,
    Question,
    Questionnaires,
    make_language_biography_questions,
)
from app.services.people import questionnaires
from app.services.people.questionnaires import AnswersSort, OwnQuestionnaire
from app.web.access import AnyRole, Manager, Public, RaterCaller
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.ifmatch import IfMatchDep, quote_etag
from app.web.pagination import Cursor, Limit, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel, json_response

router = APIRouter(prefix="/v1", tags=["raters"])

When = Annotated[Moment, Path(alias="moment", description="When the questions are asked.", examples=["before"])]
Answered = Annotated[
    bool | None, Query(description="true: only raters who answered something; false: only the others.")
]
SearchWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of the rater's key, the team's key or the answers, in any case.",
        examples=["profession"],
    ),
]
Sort = Annotated[AnswersSort, Query(description="By the rater's key; `-` reverses the order.")]
ABSENT: dict[int | str, dict[str, Any]] = {404: {"description": "The campaign asks no questions at that time."}}
ASKED: dict[str, Any] = {
    "before": [
        {
            "name": "translation",
            "kind": "choice",
            "label": {"en": "What experience do you have in translation?", "de": "Welche Erfahrung im Übersetzen?"},
            "required": True,
            "options": [
                {"value": "none", "label": {"en": "None", "de": "Keine"}},
                {"value": "profession", "label": {"en": "My profession", "de": "Mein Beruf"}},
            ],
            "group": True,
        }
    ],
    "after": [{"name": "remarks", "kind": "text", "label": {"en": "Is there anything you want to tell us?"}}],
}


class QuestionnairesIn(BodyModel):
    """What raters are asked, by moment."""

    before: list[Question] = Field(default_factory=list, max_length=MOST_QUESTIONS)
    after: list[Question] = Field(default_factory=list, max_length=MOST_QUESTIONS)


class QuestionnairesOut(BaseModel):
    """What raters are asked, by moment."""

    before: list[Question]
    after: list[Question]


class LanguageBiographyQuestionsOut(BaseModel):
    """Questions that a questionnaire can begin with."""

    questions: list[Question]


class QuestionnaireOwn(ResponseModel):
    """What a rater is asked at a moment, and the latest answers."""

    moment: Moment
    questions: list[Question]
    outstanding: bool = Field(
        description="For the first questionnaire: whether it must be answered before a task is given."
    )
    answers: dict[str, JsonValue] | None
    revision: int = Field(description="Revision of the answers, from 1; 0 if there are none.")
    at: Time | None


class QuestionnairesOwn(BaseModel):
    """What a rater is asked, by moment."""

    items: list[QuestionnaireOwn]


class QuestionnaireAnswersIn(BodyModel):
    """Answers by name of the question: a text, a number, the value of an option, or a list of such values."""

    answers: dict[str, JsonValue] = Field(max_length=MOST_QUESTIONS)


class QuestionnaireAnswersOut(ResponseModel):
    """What a rater answered last; null where there are no answers."""

    rater: str
    team: str | None
    before: dict[str, JsonValue] | None
    after: dict[str, JsonValue] | None


EXAMPLE = QuestionnairesOut.model_validate(ASKED)
GIVEN: dict[str, JsonValue] = {"translation": "profession"}
OWN = QuestionnaireOwn.model_validate(
    {
        "moment": "before",
        "questions": ASKED["before"],
        "outstanding": False,
        "answers": GIVEN,
        "revision": 1,
        "at": "2026-11-20T12:00:00Z",
    }
)
ROW = QuestionnaireAnswersOut(rater="r1", team=None, before=GIVEN, after=None)


@router.get(
    "/campaigns/{campaign}/questionnaires",
    summary="Get the questionnaires for raters",
    responses=example_response(200, EXAMPLE, "Their current state."),
)
def get_questionnaires(
    caller: AnyRole,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    response: Response,
) -> QuestionnairesOut:
    """Return the questions before the first task and after the last one. The ETag is that of the campaign."""
    about, asked = questionnaires.get_campaign_and_questionnaires(session, campaign)
    response.headers["ETag"] = quote_etag(str(about.settings_version))
    return _out(asked)


@router.put(
    "/campaigns/{campaign}/questionnaires",
    summary="Write the questionnaires for raters",
    responses={
        **example_response(200, EXAMPLE, "Their current state."),
        409: {"description": "The campaign is no draft any more."},
    },
)
def put_questionnaires(
    caller: Manager,
    campaign: CampaignKey,
    if_match: IfMatchDep,
    body: Annotated[QuestionnairesIn, read_json_body_as(QuestionnairesIn, experience=ASKED, nothing={})],
    session: SessionDep,
) -> Response:
    """The campaign must be a draft. `group` lets reports compare raters by their answer to a choice."""
    asked = Questionnaires(before=tuple(body.before), after=tuple(body.after))
    about, now = questionnaires.put_questionnaires(
        session, campaign, asked, has_seen_version=lambda version: if_match.has(str(version)), actor=caller.actor
    )
    return json_response(_out(now), etag=str(about.settings_version))


@router.get(
    "/campaigns/{campaign}/questionnaires/answers",
    summary="List answers to the questionnaires",
    responses=example_response(200, Page[QuestionnaireAnswersOut](items=[ROW], next=None)),
)
def list_questionnaire_answers(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    answered: Answered = None,
    q: SearchWords = "",
    sort: Sort = "rater",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[QuestionnaireAnswersOut]:
    """List the latest answers of every enrolled rater who matches all filters, including raters without any."""
    rows = questionnaires.list_questionnaire_answers(
        session, campaign, after=cursor, limit=limit + 1, answered=answered, sort=sort, q=q
    )
    return make_page([QuestionnaireAnswersOut.model_validate(one) for one in rows], limit, lambda one: one.rater)


@router.get(
    "/questionnaires/language-biography",
    summary="Get questions about language biography",
    responses=example_response(
        200, LanguageBiographyQuestionsOut(questions=list(make_language_biography_questions()[:1]))
    ),
)
async def get_language_biography_questions(_: Public) -> LanguageBiographyQuestionsOut:
    """Return the Human Evaluation Datasheet's questions about evaluators. The raters' pages translate them."""
    return LanguageBiographyQuestionsOut(questions=list(make_language_biography_questions()))


@router.get(
    "/me/questionnaires",
    summary="List your questionnaires",
    responses=example_response(200, QuestionnairesOwn(items=[OWN])),
)
def list_own_questionnaires(rater: RaterCaller, session: SessionDep) -> QuestionnairesOwn:
    """Return those before the first task and after the last one, with your latest answers."""
    own = questionnaires.list_own_questionnaires(session, rater)
    return QuestionnairesOwn(items=[_own(one) for one in own])


@router.put(
    "/me/questionnaires/{moment}/answers",
    summary="Answer a questionnaire",
    responses={**example_response(200, OWN, "Their current state."), **ABSENT},
)
def put_own_questionnaire_answers(
    rater: RaterCaller,
    moment: When,
    body: Annotated[QuestionnaireAnswersIn, read_json_body_as(QuestionnaireAnswersIn, experience={"answers": GIVEN})],
    session: SessionDep,
) -> Response:
    """Send all answers at once. Different answers are a new revision; the same ones again change nothing."""
    return json_response(_own(questionnaires.put_own_questionnaire_answers(session, rater, moment, body.answers)))


def _out(asked: Questionnaires) -> QuestionnairesOut:
    return QuestionnairesOut(before=list(asked.before), after=list(asked.after))


def _own(own: OwnQuestionnaire) -> QuestionnaireOwn:
    return QuestionnaireOwn.model_validate(own)
