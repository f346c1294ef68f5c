"""The test before the first task, which managers write and raters pass."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field, JsonValue, StringConstraints

from app.api.kit.rater_search import RaterWords
from app.api.models.raters import Language, RaterKey
from app.api.models.tasks import SourceAndTextLayoutOut
from app.api.models.times import Time
from app.services.access.idempotency import IdempotentResponse as Sent
from app.services.campaigns.display_settings import get_display_settings
from app.services.people import qualification
from app.services.people.qualification import GradedQualificationAttempt, QualificationSort, QualificationTest
from app.services.people.qualification_grading import QualificationAnswer, QualificationItem
from app.web.access import Manager, RaterCaller
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep
from app.web.pagination import Limit, Page, SortedCursor, format_sort_cursor, make_page, parse_sort_cursor
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel, json_response

router = APIRouter(prefix="/v1", tags=["raters"])

Words = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Version = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The latest by default.", examples=[1])]
Passed = Annotated[bool | None, Query(description="Only those who passed or were spared the test, or only the others.")]
Sort = Annotated[QualificationSort, Query(description="Sort key; `-` reverses the order.")]
NONE: dict[int | str, dict[str, Any]] = {404: {"description": "There is no test."}}
OVER: dict[int | str, dict[str, Any]] = {
    **NONE,
    409: {"description": "Passed already, no attempt left, or the test is another version now."},
}


class QualificationTestItemIn(BodyModel):
    """An item of the test. Its answer is either a payload or a choice."""

    source: Words | None = None
    text: Words | None = Field(None, description="The output to be judged.")
    question: Words | None = None
    choices: Annotated[list[Name], Field(max_length=50)] = Field([])
    payload: dict[str, JsonValue] | None = Field(
        None, description="The correct judgment, in the form of the campaign's protocol."
    )
    tolerance: Annotated[dict[Name, Annotated[float, Field(ge=0, le=1e9)]], Field(max_length=20)] | None = Field(
        None, description="By measure of the protocol: how far an answer may differ from the correct one."
    )
    choice: Name | None = Field(None, description="The correct choice.")
    reasons: Annotated[dict[Language, Words], Field(max_length=100)] = Field(
        {}, description="Explanation by language, shown after an attempt."
    )


class QualificationTestIn(BodyModel):
    """A test."""

    items: Annotated[list[QualificationTestItemIn], Field(min_length=1, max_length=500)]
    pass_mark: Annotated[float, Field(ge=0, le=1)] = Field(description="Share of the items that must be right.")
    attempts: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        3, description="Number of attempts; null for no limit."
    )


class QualificationTestItemOut(ResponseModel):
    """An item with its answer."""

    source: str | None
    text: str | None
    question: str | None
    choices: list[str]
    payload: dict[str, JsonValue] | None
    tolerance: dict[str, float] | None
    choice: str | None
    reasons: dict[str, str]


class QualificationTestVersionOut(ResponseModel):
    """A version of the test; it never changes."""

    version: int
    items: list[QualificationTestItemOut]
    pass_mark: float
    attempts: int | None
    at: Time


class OwnQualificationItemOut(BaseModel):
    """An item as raters see it."""

    item: int = Field(description="Number, from 1.")
    source: str | None
    text: str | None
    question: str | None
    choices: list[str] = Field(description="Empty if a judgment is asked.")
    markup: SourceAndTextLayoutOut | None = Field(
        None,
        description="Only if the campaign's setting `markup` is on.",
        exclude_if=lambda layout: layout is None,
    )


class OwnQualificationTestOut(BaseModel):
    """The test as raters see it, and where they stand."""

    version: int
    protocol: str
    items: list[OwnQualificationItemOut]
    pass_mark: float
    attempts_left: int | None
    passed: bool


class QualificationAnswerIn(BodyModel):
    """An answer to one item."""

    payload: dict[str, JsonValue] | None = None
    choice: Name | None = None


class QualificationAttemptIn(BodyModel):
    """Answers to every item, in their order."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]
    answers: Annotated[list[QualificationAnswerIn], Field(min_length=1, max_length=500)]


class MarkedQualificationAnswerOut(BaseModel):
    """Result of one answer."""

    item: int
    right: bool
    reasons: dict[str, str]


class QualificationAttemptOut(BaseModel):
    """How an attempt went."""

    attempt: int
    version: int
    share: float
    passed: bool
    attempts_left: int | None
    items: list[MarkedQualificationAnswerOut]


class QualificationWaiverIn(BodyModel):
    """Reason why a rater need not take the test."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class QualificationResultOut(ResponseModel):
    """How a rater did."""

    rater: str
    team: str | None
    attempts: int
    best: float | None
    passed: bool
    version: int | None = Field(description="Version that was passed; raters are judged by it.")
    waived: str | None = Field(description="Reason, if the test was waived.")
    at: Time | None


CHOICE = {
    "source": "The dog barked.",
    "text": "Der Hund bellte nicht.",
    "question": "What is wrong?",
    "choices": ["nothing", "meaning", "grammar"],
    "choice": "meaning",
    "reasons": {"en": "The translation says the opposite."},
}
EXAMPLE = QualificationTestVersionOut.model_validate(
    {
        "version": 1,
        "items": [{**CHOICE, "payload": None, "tolerance": None}],
        "pass_mark": 0.8,
        "attempts": 3,
        "at": "2026-11-20T12:00:00Z",
    }
)
SHOWN = OwnQualificationTestOut(
    version=1,
    protocol="esa",
    items=[
        OwnQualificationItemOut(item=1, **{name: CHOICE[name] for name in ("source", "text", "question", "choices")})
    ],
    pass_mark=0.8,
    attempts_left=3,
    passed=False,
)
TRIED = QualificationAttemptOut(
    attempt=1,
    version=1,
    share=1.0,
    passed=True,
    attempts_left=2,
    items=[MarkedQualificationAnswerOut(item=1, right=True, reasons={"en": "The translation says the opposite."})],
)
RESULT = QualificationResultOut.model_validate(
    {
        "rater": "r1",
        "team": None,
        "attempts": 1,
        "best": 1.0,
        "passed": True,
        "version": 1,
        "waived": None,
        "at": "2026-11-20T12:00:00Z",
    }
)


@router.put(
    "/campaigns/{campaign}/qualification",
    summary="Write the qualification test",
    responses=example_response(200, EXAMPLE, "The current state."),
)
def put_qualification_test(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[
        QualificationTestIn, read_json_body_as(QualificationTestIn, choice={"items": [CHOICE], "pass_mark": 0.8})
    ],
    session: SessionDep,
) -> Response:
    """No rater gets a task before passing. Another test is a new version; passing an earlier one remains valid."""
    items = [QualificationItem(**{**one.model_dump(), "choices": tuple(one.choices)}) for one in body.items]
    test = qualification.put_qualification_test(
        session, campaign, items, pass_mark=body.pass_mark, attempts=body.attempts, actor=caller.actor
    )
    return json_response(QualificationTestVersionOut.model_validate(test))


@router.get(
    "/campaigns/{campaign}/qualification",
    summary="Get the qualification test with its answers",
    responses={**example_response(200, EXAMPLE, "The current state."), **NONE},
)
def get_qualification_test(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    version: Version = None,
) -> QualificationTestVersionOut:
    """Return the latest version, or an earlier one."""
    return QualificationTestVersionOut.model_validate(
        qualification.get_qualification_test(session, campaign, version=version)
    )


@router.get(
    "/campaigns/{campaign}/qualification/results",
    summary="List results of the qualification test",
    responses=example_response(200, Page[QualificationResultOut](items=[RESULT], next=None)),
)
def list_qualification_results(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    passed: Passed = None,
    q: RaterWords = "",
    sort: Sort = "rater",
    limit: Limit = 50,
    cursor: SortedCursor = None,
) -> Page[QualificationResultOut]:
    """List every enrolled rater who matches all filters, including those who have not tried."""
    after = parse_sort_cursor(cursor, by_value=not sort.endswith("rater"))
    results = qualification.list_qualification_results(
        session, campaign, after=after, limit=limit + 1, passed=passed, sort=sort, q=q
    )
    page = make_page(
        results, limit, lambda row: format_sort_cursor(*qualification.make_qualification_result_cursor(row, sort))
    )
    return Page(items=[QualificationResultOut.model_validate(one) for one in page.items], next=page.next)


@router.post(
    "/campaigns/{campaign}/raters/{rater}/qualification/waive",
    status_code=204,
    summary="Waive the qualification test for a rater",
    response_description="They need not take it.",
    responses=OVER,
)
def waive_qualification(
    caller: Manager,
    campaign: CampaignKey,
    rater: RaterKey,
    body: Annotated[
        QualificationWaiverIn,
        read_json_body_as(QualificationWaiverIn, known={"reason": "judged the last three campaigns"}),
    ],
    session: SessionDep,
) -> None:
    """The reason is kept."""
    qualification.waive_qualification(session, campaign, rater, reason=body.reason, by=caller)


@router.get(
    "/me/qualification", summary="Get your qualification test", responses={**example_response(200, SHOWN), **NONE}
)
def get_own_qualification_test(rater: RaterCaller, session: SessionDep) -> OwnQualificationTestOut:
    """Return its items without the answers, and how many attempts are left."""
    test, standing, view = qualification.get_own_qualification_test_and_standing(session, rater)
    markup = get_display_settings(view.settings).markup
    return _make_qualification_out(test, view.protocol, standing.left, passed=standing.passed, markup=markup)


@router.post(
    "/me/qualification/attempts",
    status_code=201,
    summary="Take the qualification test",
    responses={**example_response(201, TRIED, "Judged."), **OVER},
)
def attempt_qualification(
    rater: RaterCaller,
    body: Annotated[
        QualificationAttemptIn,
        read_json_body_as(QualificationAttemptIn, choice={"version": 1, "answers": [{"choice": "meaning"}]}),
    ],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Return which answers were right, and why. An answer that cannot be judged is refused and does not count."""

    def make() -> Sent:
        answers = [QualificationAnswer(payload=one.payload, choice=one.choice) for one in body.answers]
        tried = qualification.attempt_qualification(session, rater, version=body.version, answers=answers)
        return Sent(201, _make_attempt_out(tried).model_dump_json().encode())

    return idempotent_creation(session, rater, make)


def _make_qualification_out(
    test: QualificationTest, protocol: str, left: int | None, *, passed: bool, markup: bool
) -> OwnQualificationTestOut:
    items = [
        OwnQualificationItemOut(
            item=n,
            source=one.source,
            text=one.text,
            question=one.question,
            choices=list(one.choices),
            markup=SourceAndTextLayoutOut.from_texts(one.source, one.text) if markup else None,
        )
        for n, one in enumerate(test.items, 1)
    ]
    return OwnQualificationTestOut(
        version=test.version,
        protocol=protocol,
        items=items,
        pass_mark=test.pass_mark,
        attempts_left=left,
        passed=passed,
    )


def _make_attempt_out(tried: GradedQualificationAttempt) -> QualificationAttemptOut:
    marked = [
        MarkedQualificationAnswerOut(item=n, right=good, reasons=dict(item.reasons))
        for n, (good, item) in enumerate(zip(tried.right, tried.items, strict=True), 1)
    ]
    return QualificationAttemptOut(
        attempt=tried.n,
        version=tried.version,
        share=tried.share,
        passed=tried.passed,
        attempts_left=tried.left,
        items=marked,
    )
