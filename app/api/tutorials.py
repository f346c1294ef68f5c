"""The tutorial before the first task: what raters judge, the feedback they get, and their results."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field, JsonValue

from app.api.kit.rater_search import RaterWords
from app.api.models.tasks import TextLayoutOut
from app.api.models.times import Time
from app.domain.markup import parse_markup_if_present
from app.services.people import tutorials
from app.services.people.expected_answer_rule import MOST_COLUMNS
from app.services.people.tutorials import RaterTutorial, TutorialLesson, TutorialSort
from app.web.access import Manager, RaterCaller
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Limit, Page, SortedCursor, format_sort_cursor, make_page, parse_sort_cursor
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1", tags=["raters"])

Number = Annotated[int, Path(alias="item", ge=1, le=2**31 - 1, description="Number of the item, from 1.", examples=[1])]
Answered = Annotated[
    bool | None, Query(description="true: only raters who answered something; false: only the others.")
]
Sort = Annotated[TutorialSort, Query(description="Sort key; `-` reverses the order.")]
UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "The tutorial has no such item."}}


class TutorialLessonLayoutOut(BaseModel):
    """How the texts of a lesson are shown: the source, and each column."""

    source: TextLayoutOut | None
    columns: list[TextLayoutOut | None]


class TutorialLessonOut(BaseModel):
    """A text to be judged."""

    item: int = Field(description="Number, from 1, over all documents.")
    document: int = Field(description="Number, from 1.")
    segment: int = Field(description="Position in its document, from 1.")
    source: str | None
    text: str | None
    columns: list[str] = Field(default=[], description="Several texts side by side, of which `text` is the first.")
    question: str | None
    known: bool = Field(description="Whether the response to an answer says if it is right.")
    answered: bool
    markup: TutorialLessonLayoutOut | None = Field(
        None,
        description="Only if the campaign's setting `markup` is on.",
        exclude_if=lambda layout: layout is None,
    )


class TutorialCourseOut(BaseModel):
    """The tutorial of a rater."""

    outstanding: bool = Field(description="It must be completed before the first task; leases do not wait for it.")
    protocol: str
    items: list[TutorialLessonOut]


class TutorialAnswerIn(BodyModel):
    """A judgment, in the form of the campaign's protocol; for several columns, one for each."""

    payload: dict[str, JsonValue] | None = None
    payloads: Annotated[list[dict[str, JsonValue]], Field(max_length=MOST_COLUMNS)] | None = None


class TutorialAnswerOut(BaseModel):
    """Result of an answer."""

    item: int
    right: bool | None = Field(description="Null if no correct judgment is known.")
    payload: dict[str, JsonValue] | None = Field(description="The correct judgment.")
    reasons: dict[str, str] = Field(description="Explanation by language.")
    warnings: list[dict[str, str]] = Field(
        default=[], description="Rules that the answer does not follow, each by language."
    )
    again: bool = Field(default=False, description="It must be answered again until all is right.")


class TutorialResultOut(ResponseModel):
    """How a rater did."""

    rater: str
    team: str | None
    answered: int
    marked: int = Field(description="Answers to items whose correct judgment is known.")
    right: int = Field(description="Number of these that are right; the first answer to an item counts.")
    at: Time | None = Field(description="Time of the last answer.")


COURSE = TutorialCourseOut(
    outstanding=True,
    protocol="da",
    items=[
        TutorialLessonOut(
            item=1,
            document=1,
            segment=1,
            source="The dog barked.",
            text="Der Hund bellte.",
            question=None,
            known=True,
            answered=False,
        )
    ],
)
MARKED = TutorialAnswerOut(
    item=1, right=True, payload={"protocol": "da", "score": 95}, reasons={"en": "Nothing is missing and nothing wrong."}
)
RESULT = TutorialResultOut.model_validate(
    {"rater": "r1", "team": None, "answered": 3, "marked": 3, "right": 2, "at": "2026-11-20T12:00:00Z"}
)


@router.get("/me/tutorial", summary="Get your tutorial", responses=example_response(200, COURSE))
def get_own_tutorial(rater: RaterCaller, session: SessionDep) -> TutorialCourseOut:
    """Return the texts without their answers; none if the campaign has no tutorial."""
    return _make_course_out(tutorials.get_tutorial(session, rater))


@router.put(
    "/me/tutorial/answers/{item}",
    summary="Answer a tutorial item",
    responses={**example_response(200, MARKED, "Judged."), **UNKNOWN},
)
def put_tutorial_answer(
    rater: RaterCaller,
    item: Number,
    body: Annotated[
        TutorialAnswerIn, read_json_body_as(TutorialAnswerIn, da={"payload": {"protocol": "da", "score": 93}})
    ],
    session: SessionDep,
) -> TutorialAnswerOut:
    """Return whether the answer is right, and why. The manager sees the first answer; no ranking counts any."""
    mark = tutorials.grade_tutorial_answer(session, rater, item, body.payload, body.payloads)
    payload = None if mark.payload is None else dict(mark.payload)
    return TutorialAnswerOut.model_validate(
        {
            "item": mark.n,
            "right": mark.right,
            "payload": payload,
            "reasons": dict(mark.reasons),
            "warnings": [dict(one) for one in mark.warnings],
            "again": mark.again,
        }
    )


@router.get(
    "/campaigns/{campaign}/tutorial/results",
    summary="List results of the tutorial",
    responses=example_response(200, Page[TutorialResultOut](items=[RESULT], next=None)),
)
def list_tutorial_results(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    answered: Answered = None,
    q: RaterWords = "",
    sort: Sort = "rater",
    limit: Limit = 50,
    cursor: SortedCursor = None,
) -> Page[TutorialResultOut]:
    """List every enrolled rater who matches all filters, including those who have not begun."""
    after = parse_sort_cursor(cursor, by_value=not sort.endswith("rater"))
    results = tutorials.list_tutorial_results(
        session, campaign, after=after, limit=limit + 1, answered=answered, sort=sort, q=q
    )
    page = make_page(results, limit, lambda one: format_sort_cursor(*tutorials.make_tutorial_result_cursor(one, sort)))
    return Page(items=[TutorialResultOut.model_validate(one) for one in page.items], next=page.next)


def _make_layout_out(lesson: TutorialLesson) -> TutorialLessonLayoutOut:
    def laid_out(text: str | None) -> TextLayoutOut | None:
        layout = parse_markup_if_present(text)
        return None if layout is None else TextLayoutOut.model_validate(layout)

    return TutorialLessonLayoutOut(
        source=laid_out(lesson.item.source), columns=[laid_out(text) for text in lesson.columns]
    )


def _make_course_out(course: RaterTutorial) -> TutorialCourseOut:
    items = [
        TutorialLessonOut(
            item=one.n,
            document=one.document,
            segment=one.position,
            source=one.item.source,
            text=one.item.text,
            columns=list(one.columns) if len(one.columns) > 1 else [],
            question=one.item.question,
            known=one.is_right_answer_defined,
            answered=one.n in course.answered,
            markup=_make_layout_out(one) if course.markup else None,
        )
        for one in course.lessons
    ]
    return TutorialCourseOut(outstanding=course.outstanding, protocol=course.protocol, items=items)
